// The data of one caller erased, in the Worker: an operation of the operator API, and a page of the console.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { addForgetScope } from "./operator/callers-api.ts";
import { auditedForgetter, scopeForgetter } from "./operator/forgetting.ts";
import { forgetScopeRoutes } from "./operator/callers-page.tsx";

export function callersWorker(kernel: WorkerKernel): WorkerFeature {
  const forget = auditedForgetter(scopeForgetter(kernel), kernel.audit);
  return {
    name: "callers",
    operator: {
      addApi: (app) => addForgetScope(app, forget),
      console: { link: null, addPages: (app, paths) => forgetScopeRoutes(app, paths, forget) },
    },
  };
}
