// Changes of all records that match, in the Worker: an operation of the operator API, and a page of the console.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { allChanger, auditedAllChanger } from "./operator/all-change.ts";
import { addChangeAll } from "./operator/bulk-api.ts";
import { changeAllRoutes } from "./operator/forms.tsx";

export function bulkWorker(kernel: WorkerKernel): WorkerFeature {
  const { operator, audit } = kernel;
  const access = { operator, changeAll: auditedAllChanger(allChanger(kernel), audit) };
  return {
    name: "bulk",
    operator: {
      addApi: (app) => addChangeAll(app, access),
      console: { link: null, addPages: (app, paths) => changeAllRoutes(app, paths, access) },
    },
  };
}
