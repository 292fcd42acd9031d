// A shard under a test's control, with an operator's calls to it.

import { env } from "cloudflare:test";
import type { OperatorEvent } from "../../../src/kernel/record/events.ts";
import type { RecordId } from "../../../src/kernel/record/units.ts";
import { encodeMessage } from "../../../src/kernel/request/message.ts";
import { operatorCalls } from "../../../src/kernel/object/itty.ts";
import type { KeyShard } from "../../../src/kernel/object/key-shard.ts";
import { CHANGE_URL, type ChangeAnswer } from "../../../src/kernel/object/operator-calls.ts";
import { ShardBench } from "./shard-bench.ts";

export class OperatedBench extends ShardBench {
  readonly #name: string;

  constructor(name: string = crypto.randomUUID()) {
    super(name);
    this.#name = name;
  }

  get operator(): ReturnType<typeof operatorCalls<KeyShard>> {
    return operatorCalls<KeyShard>(env.KEY_SHARD.get(env.KEY_SHARD.idFromName(this.#name)));
  }

  async change(id: RecordId, event: OperatorEvent, body = new Uint8Array()): Promise<ChangeAnswer> {
    const message = encodeMessage({ head: { id, event, headers: [["x-by", "hand"]] }, body });
    return (await this.stub.fetch(CHANGE_URL, { method: "POST", body: message })).json();
  }
}
