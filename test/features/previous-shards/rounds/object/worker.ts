// The gateway's own Worker, whose objects can be stopped at a named point (points.ts). What an object is given is wrapped: its storage, and
// the fetch that calls the origin.

import gateway from "../../../../../src/index.ts";
import { KeyShard as RealKeyShard } from "../../../../../src/worker/key-shard.ts";
import { CLOSE_CALL } from "../../../../../src/features/previous-shards/object/closed-object.ts";
import { EXCHANGE_CALL, decodeExchange } from "../../../../../src/kernel/request/message.ts";
import { ELSEWHERE_HEADER } from "../../../../../src/kernel/request/headers.ts";
import { Striker } from "./striker.ts";

export { Operators } from "../../../../../src/index.ts";

export default gateway;

/** One for all objects of the isolate, so that "the third close" means the third of the process. */
let striker: Striker | null = null;

const callOrigin = globalThis.fetch;
globalThis.fetch = async (...call: Parameters<typeof fetch>) => {
  await striker?.pass("claim-durable");
  const response = await callOrigin(...call);
  await striker?.pass("origin-answered");
  return response;
};

export class KeyShard extends RealKeyShard {
  readonly #sync: () => Promise<void>;

  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    striker ??= new Striker(env);
    super(watchState(state), env);
    this.#sync = () => state.storage.sync();
  }

  override async ask(name: string, question: string): Promise<unknown> {
    if (name !== CLOSE_CALL.name) return super.ask(name, question);
    await striker?.pass("close-arrived");
    const answer = await super.ask(name, question);
    await this.#sync();
    await striker?.pass("close-durable");
    return answer;
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url === EXCHANGE_CALL.url && (await saysClosed(request))) await striker?.pass("told-of-closed");
    const response = await super.fetch(request);
    if (response.headers.has(ELSEWHERE_HEADER)) await striker?.pass("sent-elsewhere");
    return response;
  }
}

function watchState(state: DurableObjectState): DurableObjectState {
  const { storage } = state;
  const sql = watchSql(storage);
  const watched = wrap(storage, (name) => (name === "sql" ? sql : null));
  return wrap(state, (name) => (name === "storage" ? watched : null));
}

function watchSql(storage: DurableObjectStorage): SqlStorage {
  const exec: SqlStorage["exec"] = (query, ...values) => {
    const cursor = storage.sql.exec<never>(query, ...values);
    if (/^INSERT OR \w+ INTO records/.test(query)) striker?.passWithin("claim-written");
    if (/^UPDATE OR \w+ records/.test(query)) striker?.passWithin("end-written");
    if (query.startsWith("INSERT INTO closed ")) striker?.passWithin("close-written");
    return cursor;
  };
  return wrap(storage.sql, (name) => (name === "exec" ? exec : null));
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

async function saysClosed(request: Request): Promise<boolean> {
  return decodeExchange(await request.clone().bytes()).head.previous !== undefined;
}
