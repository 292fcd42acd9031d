// The operation of the operator API that decides about records, each as it is.

import type { Hono } from "hono";
import { epochMs } from "../../../kernel/record/units.ts";
import { parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import { previewOf } from "../../../operator/given-response.ts";
import type { Operator } from "../../../operator/operator.ts";
import { isoTime } from "../../../operator/shard-pages.ts";
import type { DecideRecords, DecideRequest, DecideResult } from "./decide-all.ts";
import type { DecidedView } from "./decisions-schema.ts";
import { DECIDE } from "./decision-schema.ts";
import { parseDecide } from "./decide-request.ts";

/** What both the API and the console need for it. */
export interface DecideAccess {
  readonly operator: Pick<Operator, "omittedHeaders">;
  readonly decide: DecideRecords;
}

export function addDecide(app: Hono<RequestVariables>, access: DecideAccess): void {
  const parsed = parseBody((json) => parseDecide(json, epochMs(Date.now())));
  app.post(DECIDE.path, parsed, async (context) => {
    const request = { ...context.get("parsed"), by: context.get("actor") };
    return context.json<DecidedView>(viewDecided(request, await access.decide(request), access));
  });
}

export function viewDecided(
  { decisions, until, isPreview }: DecideRequest,
  { results, unreachable }: DecideResult,
  { operator }: Pick<DecideAccess, "operator">,
): DecidedView {
  return {
    until: isoTime(until),
    results: results.map(({ outcome, record, ids }, at) => {
      const { id = null, key = null, route = null, state = null } = record ?? {};
      const response = decisions[at]?.response ?? null;
      const isShown = isPreview && response !== null && route !== null;
      const warnings = isShown ? previewOf(response, operator.omittedHeaders(route)).warnings : [];
      return { outcome, id, key, route, state, ids, warnings };
    }),
    unreachable,
  };
}
