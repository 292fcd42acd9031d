// What an object asks of other objects, and of itself.

import { call } from "../call.ts";
import { firstOf } from "../request/first-of.ts";
import { answerIn, type ElderAnswer, type ElderQuestion } from "../previous-shards/hops.ts";
import { ASK_CALL } from "../request/message.ts";
import { bindingIn } from "./bindings.ts";
import { askObject, shardStub } from "./call-shard.ts";
import type { ShardPlace } from "./shard-place.ts";

/** An object calls itself, to stay in memory. */
export const ALIVE_CALL = call<void, void>("alive");

/** Even a busy object answers within a fraction of this. */
const ELDER_MS = 5000;

export async function askElder(
  namespace: DurableObjectNamespace | null,
  place: ShardPlace,
  question: ElderQuestion,
): Promise<ElderAnswer> {
  if (namespace === null) throw new Error("the binding KEY_SHARD does not exist");
  const reply = await firstOf(askObject(shardStub(namespace, place), ASK_CALL, question), ELDER_MS);
  if (reply === null) throw new Error(`no answer within ${ELDER_MS} ms`);
  return answerIn(reply);
}

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
export async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  const own = bindingIn(env, "KEY_SHARD");
  // Its answer is read: a body that nobody reads would keep the object in memory for ever.
  if (own !== null) await askObject(own.get(id), ALIVE_CALL, undefined);
}
