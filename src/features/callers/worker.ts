// The data of one caller erased, in the Worker: an operation of the operator API, and a page of the console.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { scopeForgetter } from "./operator/forgetting.ts";
import { forgetScopeRoutes } from "./operator/callers-page.tsx";

export function callersWorker(kernel: WorkerKernel): WorkerFeature {
  const forget = scopeForgetter(kernel);
  return {
    name: "callers",
    operator: {
      addApi: forget.addApi,
      console: { link: null, addPages: (app, paths) => forgetScopeRoutes(app, paths, forget) },
    },
  };
}
