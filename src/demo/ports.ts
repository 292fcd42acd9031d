// Which loopback port to take: the wanted one, or the next one that is free.

import { connect, createServer } from "node:net";

/** Skips the ports that are spoken for although nobody listens on them yet. */
export async function nextFreePort(wanted: number, spokenFor: readonly number[]): Promise<number> {
  for (let port = wanted; port <= 65_535; port += 1) {
    if (!spokenFor.includes(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${wanted} on`);
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Whether somebody accepts a connection. Sends nothing. */
export function isReachable(host: string, port: number, timeoutMs: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: timeoutMs });
  return new Promise((resolve) => {
    const end = (reachable: boolean): void => {
      socket.destroy();
      resolve(reachable);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}
