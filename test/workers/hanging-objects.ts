// The gateway with objects that never answer.

import { DurableObject } from "cloudflare:workers";
import onceway, { Operators } from "../../src/index.ts";

export { Operators };

export class KeyShard extends DurableObject {
  override fetch(): Promise<Response> {
    return new Promise(() => undefined);
  }
}

export default onceway;
