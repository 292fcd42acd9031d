// The Worker's side of accepted requests: what it sends to shards, and what it makes of their answers.

import { env } from "cloudflare:test"; // feature: previous-shards
import { describe, expect, it } from "vitest";
import { createApp } from "../../../../src/worker/app.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { workerFunctions } from "../../../../src/features/worker.ts";
import { preflightEndpoint, readableAnswer } from "../../../../src/features/pages/cors.ts"; // feature: pages
import type { MonitorQuestion } from "../../../../src/features/accepted/monitor-question.ts";
import { MONITOR_CALL, NO_MONITOR_STATUS } from "../../../../src/features/accepted/monitor-question.ts"; // feature: previous-shards
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import type { AskMonitor } from "../../../../src/features/accepted/monitor.ts";
import { readingFeatures } from "../../../../src/kernel/request-feature.ts";
import { monitorFeature } from "../../../../src/features/accepted/worker.ts";
import { monitorAsker } from "../../../../src/features/accepted/worker.ts"; // feature: previous-shards
import type { ProtectPorts } from "../../../../src/kernel/request/protect.ts";
import { objectFinder } from "../../../../src/features/previous-shards/walk.ts"; // feature: previous-shards
import { elsewhereResponse, LOCATE_CALL } from "../../../../src/kernel/elsewhere.ts"; // feature: previous-shards
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { withoutInstance } from "../../../support/instance.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const PAGE = "https://shop.example.com"; // feature: pages
const FINGERPRINT_PREFIX = "0123456789abcdef".repeat(2);
const NOT_HERE = { status: NO_MONITOR_STATUS, headers: { "Idempotency-Status": "monitor-not-found" } }; // feature: previous-shards

type Rules = Readonly<Record<string, unknown>>;

const NOBODY = (): boolean => false;

/** A Worker whose shards answer like this. The origin proves only the credential `Bearer a`. */
function workerWith(
  askMonitor: AskMonitor,
  rules: Rules = {},
  others: Rules = {},
  isTheirs: (headers: Headers) => boolean = NOBODY,
) {
  const heads: ExchangeHead[] = [];
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://api.example" },
    ROUTES: [{ path: "/jobs/:id", methods: ["POST", "PUT"], async: "prefer", ...rules }],
    ...others,
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const whoAmI = {
    fetch: (url: string, init?: RequestInit) => {
      const isKnown = new Request(url, init).headers.get("authorization") === "Bearer a";
      return Promise.resolve(isKnown ? Response.json({ id: "a" }) : new Response(null, { status: 401 }));
    },
  };
  const reading = { network: whoAmI, target: () => whoAmI, waitUntil: () => undefined };
  const { proveCaller } = readingFeatures(workerFunctions, reading);
  const ports: ProtectPorts = {
    callShard: (_, { head }) => {
      heads.push(head);
      return Promise.resolve(new Response("done"));
    },
    target: () => null,
    proveCaller,
    encryptions: new EncryptionDeriver([]),
    reporter: new ExchangeReporter("worker", new TrafficCounters()),
  };
  const features = [
    { endpoint: preflightEndpoint(read.config), finish: readableAnswer }, // feature: pages
    monitorFeature(read.config, { proveCaller, askMonitor }),
  ];
  const operators = { operate: () => new Response("operators"), isTheirs };
  const handle = createApp(read.config, ports, { operators, features });
  const send = async (target: string, headers: Rules = {}): Promise<Response> => {
    const [method = "", path = ""] = target.split(" ");
    const all = { Host: "gateway.example", Authorization: "Bearer a", ...headers };
    return handle(new Request(`https://gateway.example${path}`, { method, headers: all }));
  };
  /** The head of the message that this request becomes. */
  const headOf = async (target: string, headers: Rules): Promise<ExchangeHead> => {
    await send(target, headers);
    const head = heads.at(-1);
    if (head === undefined) throw new Error("no message");
    return head;
  };
  return { send, headOf };
}

/** Shards that answer all questions, which it keeps. */
function answering(answer: () => Response): { readonly ask: AskMonitor; readonly questions: MonitorQuestion[] } {
  const questions: MonitorQuestion[] = [];
  const ask: AskMonitor = async (_placing, { own }, questionIn) => {
    questions.push(await questionIn(own, undefined));
    return answer();
  };
  return { ask, questions };
}

const nowhere: AskMonitor = () => Promise.resolve("not-found");

describe("a request to a route that accepts requests", () => {
  it.each([
    ["prefer", {}, { accepts: false, waitMs: 0, isPreferred: false }],
    ["prefer", { Prefer: "respond-async" }, { accepts: true, waitMs: 0, isPreferred: true }],
    ["prefer", { Prefer: "respond-async, wait=3" }, { accepts: true, waitMs: 3000, isPreferred: true }],
    // The route's `wait` bounds it.
    ["always", { Prefer: "wait=300" }, { accepts: true, waitMs: 10_000, isPreferred: false }],
  ])("with async = %j and %j is accepted like this: %j", async (async, headers, expected) => {
    const { headOf } = workerWith(nowhere, { async });
    const head = await headOf("PUT /jobs/7%2F8;v=1?x=1", { "Idempotency-Key": '"a,b"', ...headers });
    const monitor = "/.well-known/idempotency/requests/jobs/7%2F8;v=1?key=a%2Cb&method=PUT";
    expect(head.async).toEqual({ ...expected, monitor });
  });

  it("reaches the origin without the preferences that the gateway applies, as does the question about it", async () => {
    const rules = { unknown: "verify", verify: "/by-key/{key}" };
    const { headOf } = workerWith(nowhere, rules);
    const headers = { "Idempotency-Key": "k1", Prefer: "respond-async, return=minimal, wait=3" };
    const { call, verification } = await headOf("POST /jobs/7", headers);
    const preferred = (pairs: typeof call.headers = []) => pairs.filter(([name]) => name === "prefer");
    expect(preferred(call.headers)).toEqual([["prefer", "return=minimal"]]);
    expect(preferred(verification?.headers)).toEqual([["prefer", "return=minimal"]]);
    const bare = await headOf("POST /jobs/7", { ...headers, Prefer: "wait=3" });
    expect(preferred(bare.call.headers)).toEqual([]);
    const other = await workerWith(nowhere, { async: "never" }).headOf("POST /jobs/7", headers);
    expect(preferred(other.call.headers)).toEqual([["prefer", headers.Prefer]]);
    expect(other).not.toHaveProperty("async");
  });
});

describe("the published policy", () => {
  const published = async (rules: Rules): Promise<unknown> => {
    const { routes } = await (
      await workerWith(nowhere, rules).send("GET /.well-known/idempotency")
    ).json<{
      readonly routes: readonly { readonly async?: unknown }[];
    }>();
    return routes[0]?.async;
  };

  it("says which requests are accepted, where their outcome is read, and when they are given up", async () => {
    expect(await published({ async: "always", wait: "5s", give_up: { attempts: 3, after: "1h" } })).toEqual({
      when: "always",
      preference: "respond-async",
      waitUpToSeconds: 5,
      monitor: "/.well-known/idempotency/requests",
      giveUp: { attempts: 3, afterSeconds: 3600 },
    });
    expect(await published({ async: "never" })).toBeUndefined();
  });
});

/** The record's name, without what is noted of the request. */
function nameIn({ record }: ExchangeHead): Omit<ExchangeHead["record"], "note"> {
  const { note: _, ...name } = record;
  return name;
}

describe("a question for a monitor", () => {
  it("names the record that a retry of the same caller would have, in older scopes too", async () => {
    const { ask, questions } = answering(() => new Response("the result"));
    const rules = { scope: ["header:authorization", "host"], previous_scope: [["header:authorization"]] };
    const { send, headOf } = workerWith(ask, rules);
    const head = await headOf("PUT /jobs/7?x=1", { "Idempotency-Key": "k1", Prefer: "respond-async" });
    const address = `${head.async?.monitor}&print=${FINGERPRINT_PREFIX}`;
    expect(await (await send(`GET ${address}`)).text()).toBe("the result");
    await send(`GET ${address}`, { Authorization: "Bearer b" });
    const [own, strange] = questions;
    expect(own).toEqual({
      record: nameIn(head),
      rules: head.rules,
      echo: "k1",
      fingerprintPrefix: FINGERPRINT_PREFIX,
      monitor: address,
      waitMs: 0,
      cancel: false,
    });
    expect(strange?.record).not.toMatchObject({ id: head.record.id });
    expect(strange?.record.olderIds).not.toEqual(head.record.olderIds);
  });

  it("may wait, as long as the route allows and for ten seconds at most", async () => {
    const { ask, questions } = answering(() => new Response());
    const address = `/.well-known/idempotency/requests/jobs/7?key=k1&print=${FINGERPRINT_PREFIX}`;
    const long = workerWith(ask, { wait: "5m" });
    for (const wait of ["wait=4", "wait=60", "respond-async"]) await long.send(`GET ${address}`, { Prefer: wait });
    await workerWith(ask, { wait: "2s" }).send(`GET ${address}`, { Prefer: "wait=4" });
    expect(questions.map(({ waitMs }) => waitMs)).toEqual([4000, 10_000, 0, 2000]);
  });

  it("has no body with HEAD, and asks for the end with DELETE", async () => {
    const headers = { "Content-Type": "text/plain", "Idempotency-Status": "replayed" };
    const { ask, questions } = answering(() => new Response("the result", { status: 201, headers }));
    const { send } = workerWith(ask);
    const address = `/.well-known/idempotency/requests/jobs/7?key=k1&print=${FINGERPRINT_PREFIX}`;
    const head = await send(`HEAD ${address}`);
    expect([head.status, head.body, head.headers.get("Content-Type")]).toEqual([201, null, "text/plain"]);
    await send(`DELETE ${address}`);
    expect(questions.map(({ cancel }) => cancel)).toEqual([false, true]);
  });

  it("without a record, of another caller and with a wrong prefix of the fingerprint get the same bytes", async () => {
    const { send } = workerWith(nowhere);
    const address = "/.well-known/idempotency/requests/jobs/7?key=k1";
    const { send: unasked } = workerWith(() => Promise.reject(new Error("asked without a fingerprint")));
    const answers = await Promise.all([
      send(`GET ${address}&print=${FINGERPRINT_PREFIX}`),
      send(`GET ${address}&print=${FINGERPRINT_PREFIX}`, { Authorization: "Bearer b" }),
      unasked(`GET ${address}`),
      unasked(`GET ${address}&print=${FINGERPRINT_PREFIX.toUpperCase()}`),
      unasked(`GET ${address}&print=${FINGERPRINT_PREFIX}0`),
      unasked(`GET ${address}&print=`),
    ]);
    const texts = await Promise.all(
      answers.map(async (answer) =>
        JSON.stringify([answer.status, [...answer.headers], withoutInstance(await answer.text())]),
      ),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain("monitor-not-found");
    expect(answers[0].status).toBe(404);
    expect(answers[0].headers.get("Idempotency-Key")).toBe("k1");
  });

  it("is refused with a key that the route does not take, and in every other method", async () => {
    const { send } = workerWith(nowhere, { key_format: { min: 4 } });
    const codeOf = async (response: Response) => JSON.parse(await response.text()).code;
    const address = (query: string) => `/.well-known/idempotency/requests/jobs/7?${query}&print=${FINGERPRINT_PREFIX}`;
    for (const query of ["key=k1", "key=", "method=PUT", "key=four%20words", "key=f%C3%B6ur"]) {
      const response = await send(`GET ${address(query)}`);
      expect([response.status, await codeOf(response)]).toEqual([400, "key-invalid"]);
    }
    for (const method of ["POST", "PUT", "PATCH", "OPTIONS"]) {
      const response = await send(`${method} ${address("key=four")}`);
      expect([response.status, await codeOf(response)]).toEqual([405, "request-invalid"]);
      expect(response.headers.get("Allow")).toBe("GET, HEAD, DELETE");
    }
  });

  // feature: identities begins
  it("proves its caller as a retry does", async () => {
    const { ask, questions } = answering(() => new Response());
    const IDENTITIES = { customer: { ask: { path: "/me", pointer: "/id" } } };
    const { send, headOf } = workerWith(ask, { scope: ["identity:customer"] }, { IDENTITIES });
    const head = await headOf("POST /jobs/7", { "Idempotency-Key": "k1", Prefer: "respond-async" });
    const address = `${head.async?.monitor}&print=${FINGERPRINT_PREFIX}`;
    expect((await send(`GET ${address}`, { Authorization: "Bearer b" })).status).toBe(401);
    expect(questions).toEqual([]);
    expect((await send(`GET ${address}`)).status).toBe(200);
    expect(questions[0]?.record).toEqual(nameIn(head));
  });
  // feature: identities ends

  it("gets 503 if a shard that may have the record does not answer", async () => {
    const { send } = workerWith(() => Promise.resolve(null));
    const response = await send(`GET /.well-known/idempotency/requests/jobs/7?key=k1&print=${FINGERPRINT_PREFIX}`);
    expect([response.status, response.headers.get("Idempotency-Status")]).toEqual([503, "store-unavailable"]);
  });

  it("is no page for a browser and kept by no cache, whichever way the answer was made", async () => {
    const result = (): Response => new Response("<p>", { headers: { "Content-Type": "text/html", Expires: "0" } });
    const failing: AskMonitor = () => Promise.reject(new Error("a bug"));
    const theirs = `Bearer ${"o".repeat(32)}`;
    const address = `/.well-known/idempotency/requests/jobs/7?key=k1&print=${FINGERPRINT_PREFIX}`;
    const cases: readonly (readonly [target: string, status: number, headers: Rules, ask: AskMonitor])[] = [
      [`GET ${address}`, 200, {}, answering(result).ask],
      [`HEAD ${address}`, 200, {}, answering(result).ask],
      [`GET ${address}`, 404, {}, nowhere],
      [`GET ${address}`, 503, {}, () => Promise.resolve(null)],
      [`GET ${address}`, 503, {}, failing],
      [`GET ${address}`, 400, { "Sec-Fetch-Dest": "script" }, nowhere],
      [`GET ${address.replace("k1", "%20")}`, 400, {}, nowhere],
      [`GET ${address.replace("jobs", "others")}`, 404, {}, nowhere],
      [`POST ${address}`, 405, {}, nowhere],
      [`OPTIONS ${address}`, 204, { Origin: PAGE, "Access-Control-Request-Method": "DELETE" }, nowhere], // feature: pages
      [`GET ${address}`, 401, { Authorization: "Bearer b" }, nowhere], // feature: identities
      [`GET ${address}`, 404, { Authorization: theirs }, nowhere],
    ];
    for (const [target, status, headers, ask] of cases) {
      const rules = {
        cors: { origins: [PAGE] }, // feature: pages
        scope: ["identity:customer"], // feature: identities
      };
      const others = {
        IDENTITIES: { customer: { ask: { path: "/me", pointer: "/id" } } }, // feature: identities
      };
      const isTheirs = (all: Headers): boolean => all.get("authorization") === theirs;
      const { send } = workerWith(ask, rules, others, isTheirs);
      const response = await send(target, headers);
      expect([target, response.status]).toEqual([target, status]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
      });
      expect(response.headers.has("expires")).toBe(false);
    }
  });

  // feature: pages begins
  it("is readable for the pages of the route, whatever is answered", async () => {
    const address = "/.well-known/idempotency/requests/jobs/7?key=k1";
    const cors = { origins: [PAGE], preflight: "pass" };
    const failing: AskMonitor = () => Promise.reject(new Error("a bug"));
    for (const [ask, status] of [
      [nowhere, 404],
      [failing, 503],
    ] as const) {
      const { send } = workerWith(ask, { cors });
      const response = await send(`GET ${address}&print=${FINGERPRINT_PREFIX}`, { Origin: PAGE });
      expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([status, PAGE]);
      const asks = { Origin: PAGE, "Access-Control-Request-Method": "DELETE" };
      const preflight = await send(`OPTIONS ${address}`, asks);
      expect([preflight.status, preflight.headers.get("Access-Control-Allow-Methods")]).toEqual([
        204,
        "GET, HEAD, DELETE",
      ]);
    }
  });
  // feature: pages ends
});

// feature: previous-shards begins
type Shards = `1${string}`;

/** Objects by their layouts, as far as they answer. */
function objects(answers: Readonly<Record<Shards, () => Response>>, settings: object = {}) {
  const asked: string[] = [];
  const names = new Map<string, string>();
  const namespace: DurableObjectNamespace = new Proxy(env.KEY_SHARD, {
    get: (real, property) => {
      if (property === "idFromName")
        return (name: string) => {
          const id = real.idFromName(name);
          names.set(id.toString(), name.replace("shard-0-of-", ""));
          return id;
        };
      if (property === "jurisdiction") return () => namespace;
      return (id: DurableObjectId) => ({
        fetch: (url: string) => {
          const layout = names.get(id.toString()) ?? "";
          asked.push(url === MONITOR_CALL.url ? layout : url);
          const answer = Object.entries(answers).find(([shards]) => shards === layout)?.[1];
          return answer === undefined ? Promise.reject(new Error("unreachable")) : Promise.resolve(answer());
        },
      });
    },
  });
  const { send } = workerWith(monitorAsker(namespace, objectFinder()), {
    shards: "1c",
    previous_shards: ["1a", "1b"],
    ...settings,
  });
  return { ask: () => send(`GET /.well-known/idempotency/requests/jobs/7?key=k1&print=${FINGERPRINT_PREFIX}`), asked };
}

const IN_EU = { shards: "1c", jurisdiction: "eu", locationHint: null } as const;
const notHere = () => new Response(null, NOT_HERE);
const closedFor = (shards: Shards) => () =>
  elsewhereResponse({ kind: "closed", next: { shards, jurisdiction: null, locationHint: null }, isEmpty: false });
const here = () => new Response("the result", { headers: { "Idempotency-Status": "replayed" } });

describe("the objects that may have the record", () => {
  it("are asked one after the other, the oldest layout first, until one has it or is open", async () => {
    const { ask, asked } = objects({ "1a": closedFor("1b"), "1b": here, "1c": notHere });
    expect(await (await ask()).text()).toBe("the result");
    expect(asked).toEqual(["1a", "1b"]);
  });

  it("in another jurisdiction are first asked with the record's names alone whether they have it", async () => {
    const previous_shards = [{ shards: "1a", jurisdiction: "none" }];
    const located = () => Response.json({ kind: "closed", next: IN_EU, isEmpty: false });
    const { ask, asked } = objects({ "1a": located, "1c": here }, { jurisdiction: "eu", previous_shards });
    expect(await (await ask()).text()).toBe("the result");
    expect(asked).toEqual([LOCATE_CALL.url, "1c"]);
  });

  it("may be of a layout that this deployment does not know yet", async () => {
    const { ask, asked } = objects({ "1a": closedFor("1d"), "1d": closedFor("1e"), "1e": here });
    expect(await (await ask()).text()).toBe("the result");
    expect(asked).toEqual(["1a", "1d", "1e"]);
  });

  it("do not have it if the one that is open says so", async () => {
    const { ask, asked } = objects({ "1a": closedFor("1b"), "1b": notHere, "1c": here });
    expect((await ask()).status).toBe(404);
    expect(asked).toEqual(["1a", "1b"]);
  });

  it("may have it all the same if they send the question round in a circle", async () => {
    const { ask, asked } = objects({ "1a": closedFor("1b"), "1b": closedFor("1a") });
    const response = await ask();
    expect([response.status, response.headers.get("Idempotency-Status")]).toEqual([503, "store-unavailable"]);
    expect(asked).toHaveLength(8);
  });

  it("are not left unknown: one that does not answer may have it", async () => {
    const { ask, asked } = objects({ "1a": closedFor("1b"), "1c": notHere });
    const response = await ask();
    expect([response.status, response.headers.get("Idempotency-Status")]).toEqual([503, "store-unavailable"]);
    expect(asked).toEqual(["1a", "1b", "1b", "1b"]);
  });

  it("do not include one that answers as its origin did", async () => {
    const { ask, asked } = objects({
      "1a": () => new Response("none", { status: 404, headers: { "Idempotency-Status": "replayed" } }),
    });
    expect(await (await ask()).text()).toBe("none");
    expect(asked).toEqual(["1a"]);
  });
});
// feature: previous-shards ends
