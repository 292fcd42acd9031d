// The HTTP side of the test origin: reads a request, records it, counts its effect and answers as scripted. The effect is
// counted once the whole request is read, before any delay or hold.

import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { answer } from "./origin-answer.ts";
import type { Behaviour, Holds, Scripts } from "./origin-behaviour.ts";
import type { Journal, RecordedRequest } from "./origin-journal.ts";
import { stallSometimes } from "./stalls.ts";
import { echoWebSocket } from "./websocket-echo.ts";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export interface OriginParts {
  readonly journal: Journal;
  readonly scripts: Scripts;
  readonly holds: Holds;
}

export interface OriginServer {
  readonly url: string;
  /** Connections accepted since the start, also those without any request. */
  accepted(): number;
  /** Refuses new connections and closes the open ones. */
  stopListening(): Promise<void>;
  /** Listens again, on the same port. */
  startListening(): Promise<void>;
}

export async function startOriginServer(parts: OriginParts): Promise<OriginServer> {
  let accepted = 0;
  /** Also those that are no longer HTTP, which `closeAllConnections` leaves open. */
  const sockets = new Set<Socket>();
  // No time limits, because an idle connection that the origin closed by itself would look like a scripted fault.
  const limits = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, maxHeaderSize: 256 * 1024 };
  const server = createServer(limits, (request, response) => {
    handle(parts, request, response).catch((error: unknown) => {
      process.stderr.write(`test origin: ${String(error)}\n`);
      request.socket.destroy();
    });
  });
  server.on("connection", (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request, socket, firstBytes) => {
    parts.journal.settle(parts.journal.arrive(request), null);
    echoWebSocket(request, socket, firstBytes);
  });
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    accepted: () => accepted,
    stopListening: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
    async startListening() {
      if (!server.listening) await listen(server, port);
    },
  };
}

/** On the loopback interface; port 0 takes a free one. */
export async function listen(server: Server, port: number): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address;
}

async function handle(parts: OriginParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { journal, holds } = parts;
  const entry = journal.arrive(request);
  response.on("finish", () => (entry.answeredAtMs = Date.now()));
  response.on("close", () => (entry.cutOff = !response.writableFinished));
  const behaviour = chooseBehaviour(parts, entry, request);
  if (behaviour?.drop === "before-read") {
    if (behaviour.effect === true) journal.countEffect(entry);
    journal.settle(entry, null);
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBody(request);
  // Null: the sender left. A request that was not read whole has no effect and does not count as arrived.
  if (body === null) return;

  const hold = behaviour?.hold === true || isHeld(behaviour?.holdBody) ? holds.add(entry.key) : null;
  const effect = isEffect(behaviour, entry.method) ? journal.countEffect(entry) : null;
  journal.settle(entry, body);
  await stallSometimes();
  await answer(behaviour ?? unscripted(entry, effect), response, request.socket, hold);
}

/** An invalid script is an error of the test: the origin answers 599 and has no effect. */
function chooseBehaviour({ scripts }: OriginParts, entry: RecordedRequest, request: IncomingMessage): Behaviour | null {
  const behaveHeader = request.headers["x-behave"];
  try {
    const text = Array.isArray(behaveHeader) ? behaveHeader[0] : behaveHeader;
    return scripts.choose({ path: entry.path, key: entry.key, behaveHeader: text });
  } catch (error) {
    return { status: 599, effect: false, body: `x-behave: ${String(error)}` };
  }
}

function isHeld(holdBody: boolean | number | undefined): boolean {
  return holdBody === true || typeof holdBody === "number";
}

/** An unscripted GET, HEAD or OPTIONS has no effect. */
function isEffect(behaviour: Behaviour | null, method: string): boolean {
  return behaviour === null ? !SAFE_METHODS.has(method) : (behaviour.effect ?? true);
}

/** The default answer. Its body contains the effect's number, so that a test can tell a replay from a second run. */
function unscripted(entry: RecordedRequest, effect: number | null): Behaviour {
  const headers: [string, string][] = [["Content-Type", "application/json"]];
  const body = JSON.stringify({ path: entry.path, key: entry.key, seq: entry.seq, effect });
  return { status: effect === null ? 200 : 201, headers, body };
}

/** Null: the connection ended before the body did. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  return new Promise((resolve) => {
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => resolve(Buffer.concat(pieces)));
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
  });
}
