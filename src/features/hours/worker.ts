// The last day in the Worker: an operation of the operator API, and a page of the console.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { dayRoutes } from "./operator/day.tsx";

export function hoursWorker({ reader }: WorkerKernel): WorkerFeature {
  const hours = () => reader.hours(true);
  return {
    name: "hours",
    operator: {
      // Any operator may read it.
      addApi: (app) => app.get("/hours", async (context) => context.json(await hours())),
      console: { link: null, addPages: (app, paths) => dayRoutes(app, paths, hours) },
    },
  };
}
