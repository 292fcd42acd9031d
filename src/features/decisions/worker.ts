// Decisions about many records, each as it is, in the Worker: an operation of the operator API, and a page of the console.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { decider } from "./operator/decide-all.ts";
import { addDecide } from "./operator/decisions-api.ts";
import { decisionsRoutes } from "./operator/decisions-page.tsx";

export function decisionsWorker(kernel: WorkerKernel): WorkerFeature {
  const access = { operator: kernel.operator, decide: decider(kernel) };
  return {
    name: "decisions",
    operator: {
      addApi: (app) => addDecide(app, access),
      console: { link: null, addPages: (app, paths) => decisionsRoutes(app, paths, access) },
    },
  };
}
