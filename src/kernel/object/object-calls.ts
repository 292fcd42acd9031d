// What an object asks of itself, and of others.

import { type JsonCall, jsonCall } from "../call.ts";
import { bindingIn } from "./bindings.ts";
import { askObject, shardStub } from "./call-shard.ts";
import type { ShardAddress } from "./shard-address.ts";

/** An object calls itself, to stay in memory. */
export const ALIVE_CALL = jsonCall<void, void>("alive");

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
export async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  const own = bindingIn(env, "KEY_SHARD");
  // Its answer is read: a body that nobody reads would keep the object in memory for ever.
  if (own !== null) await askObject(own.get(id), ALIVE_CALL, undefined);
}

/** A question to another object. Only of an object that keeps no records, because this one would wait for that one. */
export async function askAnother<In, Out>(
  env: Readonly<Record<string, unknown>>,
  address: ShardAddress,
  call: JsonCall<In, Out>,
  question: In,
): Promise<Out> {
  const namespace = bindingIn(env, "KEY_SHARD");
  if (namespace === null) throw new TypeError("there is no Durable Object binding KEY_SHARD");
  return askObject(shardStub(namespace, address), call, question);
}
