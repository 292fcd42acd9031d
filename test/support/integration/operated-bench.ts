// A shard under a test's control, with an operator's calls to it.

import { env } from "cloudflare:test";
import type { OperatorEvent } from "../../../src/kernel/record/events.ts";
import type { RecordId } from "../../../src/kernel/record/units.ts";
import { encodeMessage } from "../../../src/kernel/request/message.ts";
import { type CallsOf, callsOf } from "../../../src/kernel/object/itty.ts";
import { CHANGE_CALL, type ChangeAnswer, OPERATOR_CALLS } from "../../../src/kernel/object/operator-calls.ts";
import { TRAFFIC_CALLS } from "../../../src/kernel/object/shard-traffic.ts";
import { ShardBench } from "./shard-bench.ts";

const CALLS = {
  ...OPERATOR_CALLS,
  ...TRAFFIC_CALLS,
};

/** All that operators ask an object. */
export function operatorCalls(stub: DurableObjectStub): CallsOf<typeof CALLS> {
  return callsOf(CALLS, stub);
}

export class OperatedBench extends ShardBench {
  readonly #name: string;

  constructor(name: string = crypto.randomUUID()) {
    super(name);
    this.#name = name;
  }

  get operator(): CallsOf<typeof CALLS> {
    return operatorCalls(env.KEY_SHARD.get(env.KEY_SHARD.idFromName(this.#name)));
  }

  async change(id: RecordId, event: OperatorEvent, body = new Uint8Array(), isPreview = false): Promise<ChangeAnswer> {
    const message = encodeMessage({ head: { id, event, headers: [["x-by", "hand"]], isPreview }, body });
    return (await this.stub.fetch(CHANGE_CALL.url, { method: "POST", body: message })).json();
  }
}
