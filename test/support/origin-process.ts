// Test origins in a process of their own: `npx node test/support/origin-process.ts` starts one and prints its two URLs as a JSON line. Started
// by `startOrigin`, the process starts one for each message over IPC, sends its URLs back, and exits with its parent, however that
// ends. The control API of an origin is JSON over HTTP on a separate port, so that tests inside workerd can use it as well as tests in
// Node. It changes scripts, reads the journal, and ends the origin.

import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import * as v from "valibot";
import { createHolds, createScripts, parsePlacement } from "./origin-behaviour.ts";
import { createJournal, type Filter } from "./origin-journal.ts";
import { listen, startOriginServer } from "./origin-server.ts";
import type { OriginParts, OriginServer } from "./origin-server.ts";

const DEFAULT_WAIT_MS = 10_000;

const releaseBody = v.object({ key: v.optional(v.nullable(v.string())) });

/** Starts the control API and returns its URL. */
async function startControl(parts: OriginParts, origin: OriginServer): Promise<string> {
  // A test that waits for longer than Node's five seconds would else send its next call on a connection that is being closed.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    route(parts, origin, request).then(
      (body) => (body === null ? send(404, { error: "no such control call" }) : send(200, body)),
      (error: unknown) => send(400, { error: String(error) }),
    );
  });
  server.on("request", ({ method, url }, response) => {
    // What still waits for an answer, of the origin or of this API, is gone with its connection.
    if (method === "POST" && url === "/close") response.once("finish", () => server.close().closeAllConnections());
  });
  const { port } = await listen(server, 0);
  return `http://127.0.0.1:${port}`;
}

/** Null: unknown call. */
async function route(parts: OriginParts, origin: OriginServer, request: IncomingMessage): Promise<object | null> {
  const url = new URL(request.url ?? "/", "http://control");
  const filter: Filter = { key: url.searchParams.get("key"), path: url.searchParams.get("path") };
  switch (`${request.method} ${url.pathname}`) {
    case "GET /requests":
      return { requests: parts.journal.requests(filter) };
    case "POST /take":
      return { requests: parts.journal.take() };
    case "GET /effects": {
      const effects = parts.journal.effects(filter);
      return { count: effects.length, effects };
    }
    case "GET /arrived": {
      const n = Number(url.searchParams.get("n") ?? 1);
      const timeoutMs = Number(url.searchParams.get("timeoutMs") ?? DEFAULT_WAIT_MS);
      return { arrived: await parts.journal.arrived(filter, n, timeoutMs) };
    }
    case "GET /connections":
      return { accepted: origin.accepted() };
    case "POST /behave":
      parts.scripts.place(parsePlacement(await readJson(request)));
      return {};
    case "POST /release": {
      const { key } = v.parse(releaseBody, await readJson(request));
      return { released: parts.holds.release(key ?? null) };
    }
    case "POST /reset":
      parts.scripts.clear();
      parts.journal.clear();
      parts.holds.release(null);
      return {};
    case "POST /stop-listening":
    case "POST /close":
      await origin.stopListening();
      return {};
    case "POST /start-listening":
      await origin.startListening();
      return {};
    default:
      return null;
  }
}

/** An empty body is an empty object. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await text(request);
  return body === "" ? {} : JSON.parse(body);
}

interface StartedOrigin {
  readonly url: string;
  readonly controlUrl: string;
}

async function start(): Promise<StartedOrigin> {
  const parts = { journal: createJournal(), scripts: createScripts(), holds: createHolds() };
  const origin = await startOriginServer(parts);
  return { url: origin.url, controlUrl: await startControl(parts, origin) };
}

if (process.send === undefined) {
  process.stdout.write(`${JSON.stringify(await start())}\n`);
} else {
  process.on("disconnect", () => process.exit(0));
  process.on("message", () => void start().then((started) => process.send?.(started)));
}
