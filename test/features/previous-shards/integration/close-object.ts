// Closes one object, as an operator's command does with each of a layout.

import { CLOSE_CALL } from "../../../../src/features/previous-shards/object/closed-object.ts";
import type { Layout } from "../../../../src/kernel/config/layout.ts";
import { askObject } from "../../../../src/kernel/object/call-shard.ts";

/** Returns the layout for which it is closed. */
export function closeObject(stub: DurableObjectStub, next: Layout): Promise<Layout> {
  return askObject(stub, CLOSE_CALL, next);
}
