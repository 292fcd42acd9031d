// Loopback ports: finds a free one, waits until a server answers on it, or until nothing listens there.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { rawRequest } from "./http.ts";

const POLL_MS = 25;

/**
 * Below what systems give out by themselves (Linux from 32768 on, macOS from 49152), so that nothing takes a port between two starts. A
 * client that connects while nobody listens could even be given the same port, connect to itself, and keep the gateway from listening there.
 */
const FIRST_PORT = 10_000;
const PORTS = 20_000;

/** Processes that run side by side begin far from each other. */
let next = (process.pid * 1009) % PORTS;

/**
 * A file for each port that a process has been given, with that process's id: from then until a gateway listens on it, the port looks free to all others.
 */
const TAKEN = join(tmpdir(), `onceway-ports-${userInfo().uid}`);

const taken: string[] = [];
process.on("exit", () => {
  for (const file of taken) rmSync(file, { force: true });
});

/** False if another process that still runs has it. */
function take(port: number): boolean {
  mkdirSync(TAKEN, { recursive: true });
  const file = join(TAKEN, String(port));
  try {
    if (!isRunning(Number(readFileSync(file, "utf8")))) rmSync(file, { force: true });
  } catch {
    // Nobody has it.
  }
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    return false;
  }
  taken.push(file);
  return true;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A port on which nothing listens, another one each time. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (take(port) && (await isFree(port))) return port;
  }
  throw new Error("no free port");
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
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
