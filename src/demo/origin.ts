// The demo's origin: a small payments API without idempotency. Every request that reaches it takes effect and is counted. It
// reads the key only to count effects by key, and to let `/v1/flaky` fail once per key.

import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { originPage } from "./page.ts";

/** A payment takes a moment, so that parallel duplicates overlap. */
const PAYMENT_MS = 200;
const SLOW_MS = 3_000;

export interface DemoOrigin {
  readonly url: string;
  close(): Promise<void>;
}

export interface DemoOriginOptions {
  readonly port: number;
  /** The commands to try, shown on the page. */
  readonly examples?: string;
}

interface Counter {
  readonly byRoute: Map<string, number>;
  readonly byKey: Map<string, number>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether to break the connection instead of answering. */
  readonly isLost?: boolean;
}

interface Demo {
  /** What arrived. */
  readonly requests: Counter;
  /** What took effect. */
  readonly effects: Counter;
  readonly payments: object[];
  readonly failedOnce: Set<string>;
}

interface Call {
  readonly path: string;
  readonly key: string;
  readonly body: unknown;
}

export async function startDemoOrigin({ port, examples = "" }: DemoOriginOptions): Promise<DemoOrigin> {
  const demo: Demo = { requests: newCounter(), effects: newCounter(), payments: [], failedOnce: new Set() };
  const server = createServer((request, response) => {
    if (request.method === "GET" && request.url === "/") return sendPage(response, examples);
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
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(demo: Demo, request: IncomingMessage): Promise<Answer> {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "http://demo");
  if (request.method === "GET" && path === "/v1/payments") return { status: 200, body: demo.payments };
  if (request.method === "GET" && path === "/v1/counters") {
    return { status: 200, body: shownCounters(demo, searchParams.get("key")) };
  }
  const act = request.method === "POST" ? ACTIONS.get(path) : undefined;
  if (act === undefined) return { status: 404, body: { error: "no such route" } };

  const key = String(request.headers["idempotency-key"] ?? "").replace(/^"(.*)"$/, "$1");
  count(demo.requests, path, key);
  const body = parseJson(await text(request));
  if (body === undefined) return { status: 400, body: { error: "the body is not JSON" } };
  return act(demo, { path, key, body });
}

type Action = (demo: Demo, call: Call) => Answer | Promise<Answer>;

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["/v1/payments", pay],
  ["/v1/orders", (demo, call) => create(demo, call)],
  ["/v1/slow", answerSlowly],
  ["/v1/flaky", failFirst],
  ["/v1/lost", (demo, call) => ({ ...create(demo, call), isLost: true })],
]);

async function pay(demo: Demo, call: Call): Promise<Answer> {
  const created = create(demo, call);
  demo.payments.push(created.body);
  await pause(PAYMENT_MS);
  return created;
}

async function answerSlowly(demo: Demo, call: Call): Promise<Answer> {
  const created = create(demo, call);
  await pause(SLOW_MS);
  return created;
}

/** 503 means that nothing happened, so the gateway allows another attempt with the same key. */
function failFirst(demo: Demo, call: Call): Answer {
  if (demo.failedOnce.has(call.key)) return create(demo, call);
  demo.failedOnce.add(call.key);
  return { status: 503, body: { error: "try again" }, headers: { "Retry-After": "1" } };
}

/** Takes effect: counts it and creates what the request describes. */
function create(demo: Demo, { path, key, body }: Call): Answer & { readonly body: object } {
  const number = count(demo.effects, path, key);
  const kind = path.slice("/v1/".length).replace(/s$/, "");
  const id = `${kind}_${number}`;
  const created = { id, ...(typeof body === "object" ? body : { value: body }), createdAt: new Date().toISOString() };
  return { status: 201, body: created, headers: { Location: `${path}/${id}` } };
}

function newCounter(): Counter {
  return { byRoute: new Map(), byKey: new Map() };
}

/** Returns the route's new count. */
function count({ byRoute, byKey }: Counter, path: string, key: string): number {
  const next = (byRoute.get(path) ?? 0) + 1;
  byRoute.set(path, next);
  if (key !== "") byKey.set(key, (byKey.get(key) ?? 0) + 1);
  return next;
}

function shownCounters({ requests, effects }: Demo, key: string | null): object {
  if (key !== null) return { key, requests: requests.byKey.get(key) ?? 0, effects: effects.byKey.get(key) ?? 0 };
  return { requests: plain(requests), effects: plain(effects) };
}

function plain({ byRoute, byKey }: Counter): object {
  return { byRoute: Object.fromEntries(byRoute), byKey: Object.fromEntries(byKey) };
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

function sendPage(response: ServerResponse, examples: string): void {
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
  response.end(originPage(examples));
}
