// Routes on trial in the Worker: their requests pass and are looked at from the side; operators read what was seen.

import type { DivertRequest } from "../../kernel/request-feature.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { BodyCopier } from "./body-copy.ts";
import { decideTrial } from "./key-share.ts";
import { observeMetrics } from "./operator/observe-metrics.ts";
import { reportRoutes } from "./operator/report-page.tsx";
import { addTrialReport, reportReader } from "./operator/read-report.ts";
import { RequestLook } from "./request-look.ts";
import { SightingReporter } from "./sighter.ts";

/** What all copies of an isolate may hold. The other halves of their streams hold as much, and up to 64 KiB for each client that does not read its answer. */
const COPIES_BYTES = 12 << 20;
/** A request may wait for its API for as long, and its copy is held until then. Each ends by itself: with its answer, or when its client leaves. */
const COPIES_MS = 3_600_000;

export function observeWorker(kernel: WorkerKernel): WorkerFeature {
  const { routes } = kernel.config;
  const isOnTrial = routes.some(({ trial }) => trial !== null);
  const report = reportReader(kernel);
  return {
    name: "observe",
    ...(isOnTrial ? { divert: diverter(kernel) } : null),
    operator: {
      addApi: (app) => addTrialReport(app, report),
      console: {
        link: isOnTrial ? { path: "report", title: "Observed", after: "records" } : null,
        addPages: (app, paths) => reportRoutes(app, paths, report),
      },
      metrics: observeMetrics(routes),
    },
  };
}

function diverter(kernel: WorkerKernel): DivertRequest {
  const { waitUntil } = kernel;
  const sighter = new SightingReporter(kernel);
  const copier = new BodyCopier(new ByteBudget(COPIES_BYTES, COPIES_MS));
  const ports = {
    copier,
    waitUntil,
    report: (seen: Parameters<SightingReporter["report"]>[0]) => sighter.report(seen),
  };
  return (request, url, route) => {
    const decided = decideTrial(request, route);
    if (decided === "protect") return null;
    return { tap: decided === "look" ? new RequestLook(request, url, route, ports) : null };
  };
}
