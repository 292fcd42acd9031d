// The gateway, but before each exchange its object asks another one, which answers at once and knows nothing: what the question of a
// transition costs at least.

import { env } from "cloudflare:workers";
import gateway, { KeyShard as GatewayShard } from "../../../src/index.ts";
import { EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";

export { Operators } from "../../../src/index.ts";

const QUESTION_URL = "https://shard.invalid/empty-question";
/** As many as a transition from 64 shards has older objects. */
const ASKED = 64;

let asked = 0;

export class KeyShard extends GatewayShard {
  override async fetch(request: Request): Promise<Response> {
    if (request.url === QUESTION_URL) return new Response("absent");
    if (request.url === EXCHANGE_CALL.url) {
      asked = (asked + 1) % ASKED;
      const other = env.KEY_SHARD.get(env.KEY_SHARD.idFromName(`asked-${asked}`));
      await (await other.fetch(QUESTION_URL)).text();
    }
    return super.fetch(request);
  }
}

export default gateway;
