// Pages in the Worker: preflights, and answers that pages may read.

import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { preflightEndpoint, readableAnswer } from "./cors.ts";

export function pagesWorker({ config }: WorkerKernel): WorkerFeature {
  const hasPages = config.routes.some(({ cors }) => cors !== null);
  return { name: "pages", ...(hasPages ? { endpoint: preflightEndpoint(config), finish: readableAnswer } : null) };
}
