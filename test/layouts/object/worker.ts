// The gateway's own Worker, whose objects can be stopped at a named point (points.ts), and whose clock can be set. What an object
// is given is wrapped: its storage, its namespace, and the fetch that calls the origin.

import gateway from "../../../src/index.ts";
import { KeyShard as RealKeyShard } from "../../../src/worker/key-shard.ts";
import { fromMachine, ofMachine, setClock } from "./clock.ts";
import { ASK_CALL, EXCHANGE_CALL, decodeExchange } from "../../../src/kernel/request/message.ts";
import { MOVED_HEADER } from "../../../src/kernel/request/headers.ts";
import { ASKED_PATH, CLOCK_PATH } from "../points.ts";
import { Striker } from "./striker.ts";

export { Operators } from "../../../src/index.ts";

/** How many questions the objects have sent since the process began. */
let asked = 0;

export default {
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case CLOCK_PATH:
        setClock(Number(searchParams.get("ahead")));
        return new Response(null, { status: 204 });
      case ASKED_PATH:
        return Response.json({ asked });
      default:
        return gateway.fetch(request, env, ctx);
    }
  },
} satisfies ExportedHandler;

/** One for all objects of the isolate, so that "the third seal" means the third of the process. */
let striker: Striker | null = null;

const callOrigin = globalThis.fetch;
globalThis.fetch = async (...call: Parameters<typeof fetch>) => {
  await striker?.pass("claim-durable");
  const response = await callOrigin(...call);
  await striker?.pass("origin-answered");
  return response;
};

export class KeyShard extends RealKeyShard {
  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    striker ??= new Striker(env);
    super(watchState(state), { ...env, KEY_SHARD: watchNamespace(env["KEY_SHARD"]) });
  }

  override alarm(info?: AlarmInvocationInfo): void {
    super.alarm(info === undefined ? info : { ...info, scheduledTime: fromMachine(info.scheduledTime) });
  }

  override async fetch(request: Request): Promise<Response> {
    const { url } = request;
    if (url === ASK_CALL.url) await striker?.pass("question-arrived");
    if (url === EXCHANGE_CALL.url && (await hasElders(request))) await striker?.pass("told-of-elders");
    const response = await super.fetch(request);
    if (url === ASK_CALL.url) await striker?.pass("seal-durable");
    if (response.headers.has(MOVED_HEADER)) await striker?.pass("sent-away");
    return response;
  }
}

function watchState(state: DurableObjectState): DurableObjectState {
  const { storage } = state;
  const members: Readonly<Record<PropertyKey, unknown>> = {
    sql: watchSql(storage),
    setAlarm: (time: number | Date) => storage.setAlarm(ofMachine(time)),
    getAlarm: async () => {
      const time = await storage.getAlarm();
      return time === null ? null : fromMachine(time);
    },
  };
  const watched = wrap(storage, (name) => members[name] ?? null);
  return wrap(state, (name) => (name === "storage" ? watched : null));
}

function watchSql(storage: DurableObjectStorage): SqlStorage {
  const exec: SqlStorage["exec"] = (query, ...values) => {
    const cursor = storage.sql.exec<never>(query, ...values);
    if (/^INSERT OR \w+ INTO records/.test(query)) striker?.passWithin("claim-written");
    if (/^UPDATE OR \w+ records/.test(query)) striker?.passWithin("end-written");
    if (query.startsWith("INSERT INTO seal")) striker?.passWithin("seal-written");
    return cursor;
  };
  return wrap(storage.sql, (name) => (name === "exec" ? exec : null));
}

function watchNamespace(namespace: unknown): unknown {
  if (!isNamespace(namespace)) return namespace;
  const get: DurableObjectNamespace["get"] = (...args) => watchStub(namespace.get(...args));
  return wrap(namespace, (name) => (name === "get" ? get : null));
}

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return typeof value === "object" && value !== null && "idFromName" in value;
}

function watchStub<T extends Rpc.DurableObjectBranded | undefined>(stub: DurableObjectStub<T>): DurableObjectStub<T> {
  const ask = async (...call: Parameters<typeof fetch>): Promise<Response> => {
    if (call[0] !== ASK_CALL.url) return stub.fetch(...call);
    asked += 1;
    await striker?.pass("before-question");
    const response = await stub.fetch(...call);
    await striker?.pass("answer-arrived");
    return response;
  };
  return wrap(stub, (name) => (name === "fetch" ? ask : null));
}

/** The platform's own object, with some members replaced. Its methods need the object itself as `this`. */
function wrap<T extends object>(target: T, replace: (name: PropertyKey) => unknown): T {
  return new Proxy(target, {
    get(_target, name) {
      const replaced = replace(name);
      if (replaced !== null) return replaced;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

async function hasElders(request: Request): Promise<boolean> {
  return decodeExchange(await request.clone().bytes()).head.elders !== undefined;
}
