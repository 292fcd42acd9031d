// Previous layouts in the Worker: how the object of a key is found, and the operation of the operator API that closes a layout.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { layoutCloser } from "./operator/close.ts";

export { objectFinder } from "./walk.ts";

export function previousShardsWorker(kernel: WorkerKernel): WorkerFeature {
  return { name: "previous-shards", operator: { addApi: layoutCloser(kernel).addApi } };
}
