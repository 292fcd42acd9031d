// The operation of the operator API that changes all records that a filter matches.

import type { Hono } from "hono";
import { epochMs } from "../../../kernel/record/units.ts";
import { invalidRequest, parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import { CHANGE_ALL } from "./all-request-schema.ts";
import { parseChangeAll } from "./request.ts";
import type { AllChangedView } from "./bulk-schema.ts";
import { previewOf } from "../../../operator/given-response.ts";
import { NO_PAGE, whyNotListed } from "../../../operator/list-request.ts";
import type { Operator } from "../../../operator/operator.ts";
import type { AllChange, ChangeAllRecords } from "./all-change.ts";
import type { PreviewView } from "../../../operator/change-schema.ts";
import { isoTime } from "../../../operator/shard-pages.ts";
import { viewSummary } from "../../../operator/views.ts";

/** What both the API and the console need for it. */
export interface ChangeAllAccess {
  readonly operator: Pick<Operator, "isPerKey" | "omittedHeaders">;
  readonly changeAll: ChangeAllRecords;
}

export function addChangeAll(app: Hono<RequestVariables>, { operator, changeAll }: ChangeAllAccess): void {
  const parsed = parseBody((json) => parseChangeAll(json, epochMs(Date.now())));
  app.post(CHANGE_ALL.path, parsed, async (context) => {
    const change = { ...context.get("parsed"), by: context.get("actor") };
    const why = whyNotListed(operator.isPerKey, change.filter);
    if (why !== null) return invalidRequest(why);
    const result = await changeAll(change);
    if (result.kind === "no-cursor") {
      return invalidRequest(`${NO_PAGE} Begin again with the same until and without a cursor.`);
    }
    const { kind: _, records, ...counts } = result;
    return context.json<AllChangedView>({
      until: isoTime(change.until),
      ...counts,
      records: records.map(viewSummary),
      preview: responsePreview(change, counts.routes, operator),
    });
  });
}

/** What retries would get; `null` unless it is a preview of `resolve`. */
export function responsePreview(
  { isPreview, response }: Pick<AllChange, "isPreview" | "response">,
  routes: readonly string[],
  operator: Pick<Operator, "omittedHeaders">,
): PreviewView["preview"] | null {
  if (!isPreview || response === null) return null;
  return previewOf(
    response,
    routes.flatMap((route) => operator.omittedHeaders(route)),
  );
}
