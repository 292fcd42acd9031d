// The only use of itty-durable: it carries operators' questions (small, JSON) to a KeyShard, all of them as one call, `ask`. Its limits
// stay in this file. It is untyped. It treats every request to `/do/…` as one of its calls, so only requests from its own stub may reach
// its `fetch`. It wraps every binding that it is given, so it gets none. Its own persistence stays off.

import { createDurable, proxyDurable } from "itty-durable";
import type { JsonCall } from "../call.ts";

/** What a KeyShard gets from the base class, whose constructor returns a proxy; private members belong to that proxy. */
export interface IttyDurable {
  fetch(request: Request): Promise<Response>;
}

type IttyDurableClass = new (state: DurableObjectState, env: Readonly<Record<string, never>>) => IttyDurable;

/** The base class of KeyShard. Give it the object's state, and an empty environment. */
export function ittyDurable(): IttyDurableClass {
  return createDurable({ autoPersist: false, autoReturn: false });
}

/** What its stub calls for `ask`. The base class has other methods (`destroy` …) that must not be called remotely. */
export const ITTY_URL = "https://itty-durable/do/call/ask";

interface Asked {
  ask(name: string, question: string): Promise<unknown>;
}

/** The calls of a table as functions. */
export type CallsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends JsonCall<infer In, infer Out>
    ? (question: In) => Promise<Out>
    : never;
};

/** The questions of a table to one object. */
export function callsOf<Table extends Readonly<Record<string, JsonCall>>>(
  table: Table,
  stub: DurableObjectStub,
): CallsOf<Table> {
  // The library requires a namespace, and asks it for one name.
  const namespace = { idFromName: (name: string) => name, get: () => stub };
  const remote = proxyDurable(namespace, { parse: true }).get("shard") as Asked;
  return Object.fromEntries(
    Object.entries(table).map(([member, { name }]) => [
      member,
      (question: unknown) => remote.ask(name, asciiJson(question)),
    ]),
  ) as CallsOf<Table>;
}

/** A question travels in a header. */
function asciiJson(value: unknown): string {
  const json = value === undefined ? "" : JSON.stringify(value);
  return json.replaceAll(/[\u007F-\uFFFF]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
