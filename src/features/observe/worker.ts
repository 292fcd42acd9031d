// Routes on trial in the Worker: their requests pass and are looked at from the side; operators read what was seen.

import { singleHeaders } from "../../kernel/config/key-source.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import type { DivertRequest } from "../../kernel/request-feature.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import { parseKey } from "../../kernel/request/key.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { shareOf } from "./key-share.ts";
import { observeMetrics } from "./operator/observe-metrics.ts";
import { addReport } from "./operator/report-api.ts";
import { reportRoutes } from "./operator/report-page.tsx";
import { reportReader } from "./operator/report.ts";
import { RequestLook } from "./request-look.ts";
import { Sighter } from "./sighter.ts";

/** What all copies of an isolate may hold. The other halves of their streams hold as much at most. */
const COPIES_BYTES = 12 << 20;
const COPIES_MS = 60_000;

export function observeWorker(kernel: WorkerKernel): WorkerFeature {
  const { routes } = kernel.config;
  const isOnTrial = routes.some(({ trial }) => trial !== null);
  const report = reportReader(kernel);
  return {
    name: "observe",
    ...(isOnTrial ? { divert: diverter(kernel) } : null),
    operator: {
      addApi: (app) => addReport(app, report),
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
  const sighter = new Sighter(kernel);
  const budget = new ByteBudget(COPIES_BYTES, COPIES_MS);
  const ports = { budget, waitUntil, report: (seen: Parameters<Sighter["report"]>[0]) => sighter.report(seen) };
  return (request, url, route) => {
    const decided = decide(request, route);
    if (decided === "protect") return null;
    return { tap: decided === "look" ? new RequestLook(request, url, route, ports) : null };
  };
}

/** What becomes of a request, as far as its headers tell: a key elsewhere is read later, from the copy. */
export function decide(request: Request, { trial, keyFrom, keyFormat }: Route): "protect" | "look" | "pass" {
  if (trial === null) return "protect";
  if (trial.protectedShare === 0 && trial.sample === 1) return "look";
  const names = singleHeaders(keyFrom);
  const key = names === null ? null : parseKey(request.headers, names, keyFormat);
  if (key?.kind !== "key") return "look";
  if (shareOf("enforce", key.key) < trial.protectedShare) return "protect";
  return shareOf("sample", key.key) < trial.sample ? "look" : "pass";
}
