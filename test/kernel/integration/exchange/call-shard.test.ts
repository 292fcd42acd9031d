// The Worker's calls to a shard. The platform's own errors cannot be caused locally, so a stand-in namespace has stubs that
// fail as the documentation says. The object that is lost during a call is a real one.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Layout, layoutName } from "../../../../src/kernel/config/layout.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Route } from "../../../../src/kernel/config/resolved.ts";
import { elsewhereResponse, type FindObject } from "../../../../src/kernel/elsewhere.ts";
import { SMALL_BYTES } from "../../../../src/kernel/request/body.ts";
import { freeBytes } from "../../../../src/kernel/request/byte-budget.ts";
import {
  decodeMessage,
  EXCHANGE_CALL,
  type ExchangeRequest,
  OFFER_CALL,
  UPLOAD_CALL,
} from "../../../../src/kernel/request/message.ts";
import type { CallShard } from "../../../../src/kernel/request/protect.ts";
import { callItself, shardCaller } from "../../../../src/kernel/object/call-shard.ts";
import { type BodyReader, lentPiece, WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import { nameRecord } from "../../../../src/kernel/request/record-name.ts";
import { shardName } from "../../../../src/kernel/object/shard-address.ts";
import { again, headOf, messageOf, saidBy, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

function routeOf(settings: object = {}): Route {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example", ...settings }, ROUTES: [{ path: "/*" }] });
  const route = read.ok ? read.config.routes[0] : undefined;
  if (route === undefined) throw new Error(JSON.stringify(read));
  return route;
}

interface Call {
  /** The number of the called stub. */
  readonly stub: number;
  readonly url: string;
  readonly init: RequestInit;
  readonly bytes: Uint8Array;
  /** How many bytes of a stream the object has read. */
  streamed: number;
}

interface StandIn {
  readonly namespace: DurableObjectNamespace;
  readonly calls: Call[];
  /** What each stub was asked for. */
  readonly stubs: { readonly name: string; readonly options: unknown }[];
}

/** A namespace whose stubs behave as given, one call after the other. An answer that is promised comes after the body. */
function standIn(...does: readonly (Error | Response | Promise<Response>)[]): StandIn {
  const calls: Call[] = [];
  const stubs: StandIn["stubs"] = [];
  const namespace = {
    idFromName: (name: string) => ({ name }),
    // Local workerd has no jurisdictions; on Cloudflare the jurisdiction is part of an object's id.
    jurisdiction: (jurisdiction: string) => ({
      ...namespace,
      idFromName: (name: string) => ({ name: `${jurisdiction}/${name}` }),
    }),
    get({ name }: { readonly name: string }, options: unknown) {
      const stub = stubs.push({ name, options });
      return {
        async fetch(url: string, init: RequestInit) {
          const { body } = init;
          const bytes = body instanceof Uint8Array ? body.slice() : new Uint8Array();
          const made: Call = { stub, url, init, bytes, streamed: 0 };
          const answer = does[calls.push(made) - 1] ?? new Error("one call too many");
          if (body instanceof ReadableStream && answer instanceof Error) await body.cancel();
          if (answer instanceof Error) throw answer;
          if (body instanceof ReadableStream) made.streamed = (await new Response(body).arrayBuffer()).byteLength;
          return await answer;
        },
      };
    },
  };
  if (!isNamespace(namespace)) throw new TypeError("no namespace");
  return { namespace, calls, stubs };
}

/** The part that the Worker uses. */
function isNamespace(value: object): value is DurableObjectNamespace {
  return "idFromName" in value && "get" in value;
}

/** The flags with which the platform marks its errors. */
function failure(marks: {
  readonly overloaded?: boolean;
  readonly retryable?: boolean;
  readonly remote?: boolean;
}): Error {
  return Object.assign(new Error("the platform's word for it"), marks);
}

const lost = (): Error => failure({ retryable: true, remote: false });
const answer = (): Response => new Response("answered", { status: 201 });
const exchange = (): ExchangeRequest => ({
  head: headOf(),
  body: new Uint8Array([1, 2, 3]),
  rest: null,
  namesIn: async (layout) => [await nameRecord("key", [], layoutName(layout))],
  free: () => undefined,
});

function threePieces(): BodyReader {
  let reads = 0;
  return {
    next: () => Promise.resolve(reads++ < 3 ? lentPiece(new Uint8Array(10)) : WHOLE),
    cancel: () => undefined,
  };
}

async function call(namespace: DurableObjectNamespace, ...sent: Parameters<CallShard>): Promise<Response | null> {
  const response = await shardCaller(namespace)(...sent);
  if (response === "nowhere") throw new Error("no object keeps the key");
  return response;
}

describe("a call to a shard that fails", () => {
  it.each([1, 2])(
    "%i times and then works gives one answer, with a new stub and the same message each time",
    async (times) => {
      const { namespace, calls, stubs } = standIn(...Array.from({ length: times }, lost), answer());
      const sent = exchange();
      const route = routeOf({ location_hint: "weur" });
      const response = await call(namespace, route, sent);
      expect([response?.status, await response?.text()]).toEqual([201, "answered"]);
      expect(calls.map(({ stub }) => stub)).toEqual(Array.from({ length: times + 1 }, (_, index) => index + 1));
      const name = shardName(sent.head.record.id, route.layouts.own.shards);
      expect(stubs).toEqual(stubs.map(() => ({ name, options: { locationHint: "weur" } })));
      for (const { url, init, bytes } of calls) {
        expect(url).toBe(EXCHANGE_CALL.url);
        expect(init).toMatchObject({ method: "POST", redirect: "manual" });
        expect(decodeMessage(bytes)).toEqual({ head: sent.head, body: sent.body });
      }
    },
  );

  it("three times gives no answer, and is not tried a fourth time", async () => {
    const { namespace, calls } = standIn(lost(), lost(), failure({ remote: true }));
    expect(await call(namespace, routeOf(), exchange())).toBeNull();
    expect(calls.map(({ stub }) => stub)).toEqual([1, 2, 3]);
  });

  it("because the object is overloaded is not repeated: more calls would make it worse", async () => {
    const overloaded = failure({ overloaded: true, retryable: true });
    for (const before of [[], [lost()], [lost(), lost()]]) {
      const { namespace, calls } = standIn(...before, overloaded, answer());
      expect(await call(namespace, routeOf(), exchange())).toBeNull();
      expect(calls).toHaveLength(before.length + 1);
    }
    const { namespace, calls } = standIn(failure({ overloaded: false }), answer());
    expect((await call(namespace, routeOf(), exchange()))?.status).toBe(201);
    expect(calls).toHaveLength(2);
  });

  it.each([409, 500, 503])("is not repeated for an answer of %i", async (status) => {
    const { namespace, calls } = standIn(new Response("told", { status }));
    expect((await call(namespace, routeOf(), exchange()))?.status).toBe(status);
    expect(calls).toHaveLength(1);
  });

  it("before its body was read is repeated with the body", async () => {
    const body = new Uint8Array(SMALL_BYTES + 1);
    const { namespace, calls } = standIn(lost(), answer());
    const response = await call(namespace, routeOf(), { ...exchange(), body, free: () => freeBytes(body) });
    expect(response?.status).toBe(201);
    expect(calls.map(({ streamed }) => streamed > SMALL_BYTES)).toEqual([false, true]);
  });

  it("is not repeated if it carried a stream, which can be read only once", async () => {
    for (const error of [lost(), failure({ overloaded: true })]) {
      const { namespace, calls } = standIn(error, answer());
      expect(await call(namespace, routeOf(), { ...exchange(), rest: threePieces() })).toBeNull();
      expect(calls.map(({ url }) => url)).toEqual([UPLOAD_CALL.url]);
    }
  });
});

it("a message goes by the call that its body needs", async () => {
  const large = new Uint8Array(SMALL_BYTES + 1);
  const asked = [{}, { body: large }, { rest: threePieces() }].map(async (parts) => {
    const { namespace, calls } = standIn(answer());
    await call(namespace, routeOf(), { ...exchange(), ...parts });
    return calls.map(({ url }) => url);
  });
  expect(await Promise.all(asked)).toEqual([[EXCHANGE_CALL.url], [OFFER_CALL.url], [UPLOAD_CALL.url]]);
});

describe("a key that begins elsewhere", () => {
  const [before, next] = [16, 32].map((shards): Layout => ({ shards, jurisdiction: null, locationHint: null }));
  /** As a Worker does that lists both. */
  const findObject: FindObject = async (_placing, _layouts, ask) => {
    for (const at of [before, next]) {
      const said = at === undefined ? null : await ask(at, undefined);
      if (said?.kind === "given") return said.given;
    }
    return null;
  };

  it.each([
    ["at once, goes to the next object with its body", 0, [OFFER_CALL.url, OFFER_CALL.url], 201],
    // Its memory is free by then, as after the start of an attempt. An attempt without it would be another request.
    ["long after its body was taken, goes to no other object", 300, [OFFER_CALL.url], null],
  ])("and whose object says so %s", async (_when, afterMs, urls, status) => {
    if (next === undefined) throw new Error("there are two layouts");
    const closed = elsewhereResponse({ kind: "closed", next, isEmpty: false });
    const { namespace, calls } = standIn(
      scheduler.wait(afterMs).then(() => closed),
      answer(),
    );
    const body = new Uint8Array(SMALL_BYTES + 1);
    const sent: ExchangeRequest = { ...exchange(), body, free: () => freeBytes(body) };
    const response = await shardCaller(namespace, findObject)(routeOf(), sent);
    expect(response === "nowhere" ? response : (response?.status ?? null)).toBe(status);
    expect(calls.map(({ url }) => url)).toEqual(urls);
  });
});

it.each([null, "eu", "fedramp-high"] as const)(
  "a call goes to an object of the route's jurisdiction: %s",
  async (jurisdiction) => {
    const { namespace, stubs } = standIn(answer());
    const route = routeOf(jurisdiction === null ? {} : { jurisdiction });
    const sent = exchange();
    expect((await call(namespace, route, sent))?.status).toBe(201);
    const name = shardName(sent.head.record.id, route.layouts.own.shards);
    expect(stubs.map((stub) => stub.name)).toEqual([jurisdiction === null ? name : `${jurisdiction}/${name}`]);
  },
);

it("a client whose object is lost during the call is told that the attempt may still run, and the origin is called once", async () => {
  const route = routeOf({ shards: "per-key" });
  const head = headOf({ record: { id: await nameRecord(crypto.randomUUID(), [], "") } });
  const bench = new ShardBench(shardName(head.record.id, "per-key"));
  bench.origin = () => new Promise(() => undefined);
  const response = call(env.KEY_SHARD, route, {
    head,
    body: new Uint8Array(),
    rest: null,
    namesIn: () => Promise.resolve([head.record.id]),
    free: () => undefined,
  });
  await bench.called(1);
  await bench.lose();
  const reported = await response;
  expect(reported === null ? null : await saidBy(reported)).toMatchObject({ status: 409, code: "in-flight" });
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "in-flight" });
  expect(bench.calls).toEqual(["POST /act 1"]);
});

it("a call of an object to itself reads the answer, since one that nobody reads would keep it in memory", async () => {
  const isRead = await runInDurableObject(new ShardBench().stub, async (_object, state) => {
    const own = Response.json(null);
    const stub = { fetch: () => Promise.resolve(own) };
    await callItself(state, { KEY_SHARD: { get: () => stub } });
    return own.bodyUsed;
  });
  expect(isRead).toBe(true);
});
