// What an object asks of itself.

import { jsonCall } from "../call.ts";
import { bindingIn } from "./bindings.ts";
import { askObject } from "./call-shard.ts";

/** An object calls itself, to stay in memory. */
export const ALIVE_CALL = jsonCall<void, void>("alive");

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
export async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  const own = bindingIn(env, "KEY_SHARD");
  // Its answer is read: a body that nobody reads would keep the object in memory for ever.
  if (own !== null) await askObject(own.get(id), ALIVE_CALL, undefined);
}
