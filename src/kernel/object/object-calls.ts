// What an object asks of other objects, and of itself.

import { firstOf } from "../request/first-of.ts";
import { answerIn, type ElderAnswer, type ElderQuestion, type ElderReply } from "../previous-shards/hops.ts";
import { ASK_URL } from "../request/message.ts";
import { bindingIn } from "./bindings.ts";
import { shardStub } from "./call-shard.ts";
import type { ShardPlace } from "./shard-place.ts";

/** The URL at which an object calls itself, to stay in memory. */
export const ALIVE_URL = "https://key-shard/alive";

/** Even a busy object answers within a fraction of this. */
const ELDER_MS = 5000;

export async function askElder(
  namespace: DurableObjectNamespace | null,
  place: ShardPlace,
  question: ElderQuestion,
): Promise<ElderAnswer> {
  if (namespace === null) throw new Error("the binding KEY_SHARD does not exist");
  const call = shardStub(namespace, place).fetch(ASK_URL, { method: "POST", body: JSON.stringify(question) });
  const reply = await firstOf<ElderReply>(
    call.then((response) => response.json()),
    ELDER_MS,
  );
  if (reply === null) throw new Error(`no answer within ${ELDER_MS} ms`);
  return answerIn(reply);
}

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
export async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  await bindingIn(env, "KEY_SHARD")?.get(id).fetch(ALIVE_URL);
}
