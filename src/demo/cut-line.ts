// A line between a client and a server that can be cut: to the client it looks as if the network had broken, and the server may go on.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface CutLine {
  readonly url: string;
  /** Breaks what is connected now. What connects later is not affected. */
  cut(): void;
  close(): Promise<void>;
}

export async function startCutLine(target: string): Promise<CutLine> {
  const { hostname, port } = new URL(target);
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    clients.add(client);
    client.pipe(upstream).pipe(client);
    const end = (): void => {
      clients.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.once("close", end).once("error", end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const cut = (): void => {
    for (const client of clients) client.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${address === null || typeof address === "string" ? 0 : address.port}`,
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
