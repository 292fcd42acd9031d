// `onceway/worker`, the Worker of a project that is nothing but a gateway: the entry points that the platform calls, and the object class. The
// configuration is read once, when the Worker starts, so that its problems are in the log before the first request.

import { WorkerEntrypoint } from "cloudflare:workers";
import { createOnceway } from "./worker/create-onceway.ts";

export { KeyShard } from "./worker/key-shard.ts";

const onceway = createOnceway();

/** The entry point of the operators' own listener, if there is one. No client request comes here. */
export class Operators extends WorkerEntrypoint {
  override fetch(request: Request): Promise<Response> {
    return onceway.operate(request);
  }
}

export default onceway satisfies ExportedHandler;
