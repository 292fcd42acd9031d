// The demo's API: payments and the like, without idempotency. Every request that reaches it takes effect and is counted. It reads
// the key only to count by key, to let `/v1/flaky` fail once per key, and to answer what became of a transfer.

import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { OriginDatabase } from "./origin-database.ts";

/** A payment takes a moment, so that parallel duplicates overlap. */
const PAYMENT_MS = 200;
const SLOW_MS = 3_000;

/** Where the gateway asks what became of a transfer (`unknown = "verify"`). */
const TRANSFER_BY_KEY = "/v1/transfers/by-key/";

export interface DemoOrigin {
  readonly url: string;
  close(): Promise<void>;
}

export interface DemoOriginOptions {
  readonly port: number;
  /** The database's file; in memory by default. */
  readonly database?: string;
  /** Called when a request with this key has taken effect and is not yet answered. The answer waits for the promise. */
  readonly onEffect?: (key: string) => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether to break the connection instead of answering. */
  readonly isLost?: boolean;
}

interface Demo {
  readonly database: OriginDatabase;
  readonly onEffect: (key: string) => Promise<void>;
}

interface Call {
  readonly number: number;
  readonly path: string;
  readonly key: string;
  readonly body: unknown;
}

export async function startDemoOrigin({
  port,
  database = ":memory:",
  onEffect = () => Promise.resolve(),
}: DemoOriginOptions): Promise<DemoOrigin> {
  const demo: Demo = { database: new OriginDatabase(database), onEffect };
  const server = createServer((request, response) => {
    answer(demo, request).then(
      (result) => send(response, result),
      (error: unknown) => send(response, { status: 500, body: { error: String(error) } }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          demo.database.close();
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function answer(demo: Demo, request: IncomingMessage): Promise<Answer> {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "http://demo");
  if (request.method === "GET") return read(demo, path, searchParams.get("key"));
  const act = request.method === "POST" ? ACTIONS.get(path) : undefined;
  if (act === undefined) return NO_ROUTE;

  const key = String(request.headers["idempotency-key"] ?? "").replace(/^"(.*)"$/, "$1");
  const number = demo.database.arrived(path, key);
  const body = parseJson(await text(request));
  if (body === undefined) return { status: 400, body: { error: "the body is not JSON" } };
  return act(demo, { number, path, key, body });
}

const NO_ROUTE: Answer = { status: 404, body: { error: "no such route" } };

function read({ database }: Demo, path: string, key: string | null): Answer {
  if (path === "/v1/payments") return { status: 200, body: database.created(path) };
  if (path.startsWith(TRANSFER_BY_KEY)) {
    const created = database.createdBy("/v1/transfers", decodeURIComponent(path.slice(TRANSFER_BY_KEY.length)));
    return created === undefined
      ? { status: 404, body: { error: "no such transfer" } }
      : { status: 200, body: created };
  }
  if (path !== "/v1/counters") return NO_ROUTE;
  const { requests, effects } = database;
  const ofKey = { key, requests: requests.byKey[key ?? ""] ?? 0, effects: effects.byKey[key ?? ""] ?? 0 };
  return { status: 200, body: key === null ? { requests, effects } : ofKey };
}

type Action = (demo: Demo, call: Call) => Answer | Promise<Answer>;

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["/v1/payments", pay],
  ["/v1/transfers", pay],
  ["/v1/orders", (demo, call) => create(demo, call)],
  ["/v1/slow", answerSlowly],
  ["/v1/flaky", failFirst],
  ["/v1/lost", (demo, call) => ({ ...create(demo, call), isLost: true })],
]);

async function pay(demo: Demo, call: Call): Promise<Answer> {
  const created = create(demo, call);
  await Promise.all([demo.onEffect(call.key), pause(PAYMENT_MS)]);
  return created;
}

async function answerSlowly(demo: Demo, call: Call): Promise<Answer> {
  const created = create(demo, call);
  await pause(SLOW_MS);
  return created;
}

/** 503 means that nothing happened, so the gateway allows another attempt with the same key. */
function failFirst(demo: Demo, call: Call): Answer {
  if (demo.database.isRepeated(call.number, call.path, call.key)) return create(demo, call);
  return { status: 503, body: { error: "try again" }, headers: { "Retry-After": "1" } };
}

/** Takes effect: counts it and creates what the request describes. */
function create({ database }: Demo, { number, path, body }: Call): Answer {
  const kind = path.slice("/v1/".length).replace(/s$/, "");
  let id = "";
  const created = database.act(number, path, (effect) => {
    id = `${kind}_${effect}`;
    const described = typeof body === "object" ? body : { value: body };
    return { id, ...described, createdAt: new Date().toISOString() };
  });
  return { status: 201, body: created, headers: { Location: `${path}/${id}` } };
}

/** `undefined` if the text is not JSON; no JSON text has that value. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status, body, headers, isLost = false }: Answer): void {
  if (isLost) return void response.destroy();
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}
