// The gateway with objects that fail every call.

import { DurableObject } from "cloudflare:workers";
import onceway, { Operators } from "../../src/index.ts";

export { Operators };

export class KeyShard extends DurableObject {
  override fetch(): Response {
    throw new Error("dead");
  }
}

export default onceway;
