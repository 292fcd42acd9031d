// Serves the demo's page: its files, what has happened so far as a stream of events, and the runs that its buttons start. Only for a
// browser of this machine: other sites can neither read it nor press its buttons.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { DemoLogLine } from "./clients.ts";
import type { ConsoleAccess } from "./console-link.ts";
import type { DemoCounters, KeyCounters } from "./origin-database.ts";

/** What the page shows. */
export interface DemoSnapshot {
  readonly gateway: string;
  readonly console: string;
  /** The process of the API, or null while it does not run; and how often it was killed. */
  readonly origin: { readonly pid: number | null; readonly kills: number };
  /** Requests of the page, calls of the API that they made, and what those did. */
  readonly sent: number;
  readonly calls: KeyCounters;
  readonly steps: readonly DemoLogLine[];
  readonly running: string | null;
  readonly canRepeat: boolean;
  /** Of all calls, those of the printed commands too. */
  readonly requests: DemoCounters;
  readonly effects: DemoCounters;
}

export interface PageOptions {
  readonly port: number;
  /** The commands to try. */
  readonly examples: string;
  readonly snapshot: () => DemoSnapshot;
  /** `false`: it cannot be started now. */
  readonly start: (run: string) => boolean;
  readonly gateway: string;
  /** Begins a session of the console; `key`: at the page of its record. */
  readonly signIn: (key: string | null) => Promise<ConsoleAccess>;
}

export interface DemoPage {
  readonly url: string;
  /** Sends what has changed to every open page. */
  changed(): void;
  close(): Promise<void>;
}

/** Printed commands call the API without the page's knowledge. */
const LOOK_MS = 1_000;

const FOLDER = join(import.meta.dirname, "page");

const FILES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ["/", ["index.html", "text/html"]],
  ["/page.css", ["page.css", "text/css"]],
  ["/page.js", ["page.js", "text/javascript"]],
]);

const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
} as const;

const ONCE = "Open the console from the demo's page: each of its links works once.\n";

export async function startPage({ port, examples, snapshot, start, gateway, signIn }: PageOptions): Promise<DemoPage> {
  const listeners = new Set<ServerResponse>();
  let last = "";
  let ticket = newTicket();
  const shown = (): string => JSON.stringify({ ...snapshot(), ticket });
  const changed = (): void => {
    const text = shown();
    if (text === last) return;
    last = text;
    for (const listener of listeners) listener.write(`data: ${text}\n\n`);
  };
  const openConsole = async (
    { headers }: IncomingMessage,
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> => {
    if (headers["sec-fetch-site"] !== "same-origin" || query.get("ticket") !== ticket) {
      return send(response, 403, "text/plain", ONCE);
    }
    const key = query.get("key");
    try {
      ticket = newTicket();
      changed();
      const { path, cookie } = await signIn(key);
      // Under the name that the browser knows this machine by, because the cookie is of that name.
      const { hostname } = new URL(`http://${headers.host}`);
      response.setHeader("Set-Cookie", cookie);
      response.writeHead(303, { ...HEADERS, Location: `http://${hostname}:${new URL(gateway).port}${path}` }).end();
    } catch (error) {
      send(response, 502, "text/plain", `The console cannot be opened: ${String(error)}\n`);
    }
  };
  const server = createServer((request, response) => {
    if (!isOwn(request, port)) {
      return send(response, 403, "text/plain", "Open this page on the machine that runs it.\n");
    }
    const target = URL.parse(request.url ?? "/", "http://demo");
    if (target === null) return send(response, 400, "text/plain", "that is no path\n");
    const { pathname: path, searchParams: query } = target;
    if (request.method === "POST" && path.startsWith("/runs/")) {
      const isStarted = start(path.slice("/runs/".length));
      return send(response, isStarted ? 202 : 409, "text/plain", isStarted ? "started\n" : "not now\n");
    }
    if (request.method !== "GET") return send(response, 405, "text/plain", "GET, or POST to /runs/\n");
    if (path === "/console") {
      void openConsole(request, query, response);
      return;
    }
    if (path === "/commands") return send(response, 200, "text/plain", examples);
    if (path === "/events") {
      response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream" });
      response.write(`data: ${shown()}\n\n`);
      listeners.add(response);
      response.once("close", () => listeners.delete(response));
      return;
    }
    const [file, type] = FILES.get(path) ?? [];
    if (file === undefined || type === undefined) return send(response, 404, "text/plain", "no such page\n");
    return send(response, 200, type, readFileSync(join(FOLDER, file), "utf8"));
  });
  await listening(server, port);
  const timer = setInterval(changed, LOOK_MS);
  const close = (): Promise<void> => {
    clearInterval(timer);
    return closed(server);
  };
  return { url: `http://127.0.0.1:${port}`, changed, close };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** A page of another program on this machine may claim to be of this one; only a page of this server has read it. */
function newTicket(): string {
  return randomBytes(16).toString("hex");
}

/** Against other sites: a name that is made to lead here (DNS rebinding), and requests that their pages send. */
function isOwn({ headers }: IncomingMessage, port: number): boolean {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const { host = "", origin } = headers;
  return hosts.includes(host) && (origin === undefined || origin === `http://${host}`);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { ...HEADERS, "Content-Type": `${type}; charset=utf-8` });
  response.end(body);
}
