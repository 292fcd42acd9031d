// Loopback ports: finds a free one, waits until a server answers on it, or until nothing listens there.

import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { rawRequest } from "./http.ts";

const POLL_MS = 25;

/** A port that is free at this moment. Use it soon. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

export interface ReadyCheck {
  readonly port: number;
  readonly path: string;
  readonly timeoutMs: number;
  /** The reason why waiting has become pointless; null if it has not. */
  readonly failure: () => string | null;
}

/** Resolves with the first HTTP response, whatever its status. */
export async function untilAnswers({ port, path, timeoutMs, failure }: ReadyCheck): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    const reason = failure() ?? (Date.now() > giveUpAt ? `no answer within ${timeoutMs} ms` : null);
    if (reason !== null) throw new Error(reason);
    try {
      await rawRequest({ host: "127.0.0.1", port, method: "GET", target: path, timeoutMs: 2_000 });
      return;
    } catch {
      await pause(POLL_MS);
    }
  }
}

export async function untilRefused(port: number): Promise<void> {
  while (await accepts(port)) await pause(POLL_MS);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
