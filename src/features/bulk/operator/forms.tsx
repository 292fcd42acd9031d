// The page on which an administrator changes all records that a filter matches: a preview, a form, the result. The preview's time is in
// the form, so that nothing is changed that has begun since.

import type { Hono } from "hono";
import { epochMs } from "../../../kernel/record/units.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import type { AllChange } from "./all-change.ts";
import { type ChangeAllAccess, responsePreview } from "./bulk-api.ts";
import { parseChangeAll } from "./request.ts";
import { NO_PAGE, whyNotListed } from "../../../operator/list-request.ts";
import { ACTION_NAMES, actionNamed, type RecordActionName } from "../../../operator/record-actions/record-actions.ts";
import { ChangeAllPage, ReadOnly, type ShownResult } from "./bulk-page.tsx";
import { responseOf } from "../../../operator/console/change.tsx";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { showPage } from "../../../operator/console/page.tsx";
import { readFilter } from "../../../operator/console/records.tsx";
import type { ConsolePaths } from "../../../operator/console/view.ts";

type Fields = Readonly<Record<string, string>>;
/** A preview of `resolve` counts before anybody has typed a response. */
const ANY_RESPONSE = { status: "200" };
const NOTHING: ShownResult = { problem: null, found: null, isPreview: true, until: 0, response: null };
/** Before anything is chosen, records are counted as those that a note would be added to. */
const COUNTED = "note";
/** A preview writes no reason. */
const NO_REASON = "preview";

export function changeAllRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, access: ChangeAllAccess): void {
  app.get(paths.changeAll, async (c) => {
    const { view } = c.var;
    const { query, change } = readAddress(c.req.url);
    if (view.viewer.actor.role !== "admin") return showPage(<ReadOnly view={view} />);
    const shown = await run(access, view.viewer.actor, query, change ?? COUNTED, {}, true);
    const page = <ChangeAllPage view={view} query={query} change={change} fields={{}} shown={shown} />;
    return showPage(page, shown.problem === null ? 200 : 400);
  });

  app.post(paths.changeAll, async (c) => {
    const { view, fields } = c.var;
    const { query, change } = readAddress(c.req.url);
    if (change === null) return c.notFound();
    const { actor } = view.viewer;
    const { step, confirmed } = fields;
    const isUnconfirmed = step === "change" && actionNamed(change).confirmAll !== null && confirmed !== "yes";
    const isPreview = step !== "change" || isUnconfirmed;
    const done = await run(access, actor, query, change, fields, isPreview);
    const problem = isUnconfirmed ? "Confirm it: tick the box above the button." : done.problem;
    // The form is shown again below its problem, with the same records.
    const shown = problem === null ? done : await run(access, actor, query, change, untilOf(fields), true);
    const page = (
      <ChangeAllPage view={view} query={query} change={change} fields={fields} shown={{ ...shown, problem }} />
    );
    return showPage(page, problem === null ? 200 : 400);
  });
}

function untilOf({ until }: Fields): Fields {
  return until === undefined ? {} : { until };
}

function readAddress(url: string): { readonly query: Fields; readonly change: RecordActionName | null } {
  const search = new URL(url).searchParams;
  const word = search.get("change");
  return { query: readFilter(search).query, change: ACTION_NAMES.find((one) => one === word) ?? null };
}

/** Without a step in the fields, only counts. One call is bounded (change-all.ts): what it leaves is said on the page. */
async function run(
  { operator, changeAll }: ChangeAllAccess,
  by: Actor,
  filter: Fields,
  change: RecordActionName,
  fields: Fields,
  isPreview: boolean,
): Promise<ShownResult> {
  const { reason, until, cursor, step } = fields;
  const isTyped = step !== undefined;
  const parsed = parseChangeAll(
    {
      change,
      filter,
      reason: isTyped ? (reason ?? "") : NO_REASON,
      ...(actionNamed(change).takesResponse ? { response: responseOf(isTyped ? fields : ANY_RESPONSE) } : {}),
      ...(isPreview ? { preview: true } : { confirm: true }),
      ...(until === undefined ? {} : { until }),
      ...(cursor === undefined || isPreview ? {} : { cursor }),
    },
    epochMs(Date.now()),
  );
  if (!parsed.ok) return { ...NOTHING, problem: parsed.reason };
  const why = whyNotListed(operator.isPerKey, parsed.value.filter);
  if (why !== null) return { ...NOTHING, problem: why };
  const asked: AllChange = { ...parsed.value, by };
  const found = await changeAll(asked);
  if (found.kind === "no-cursor") return { ...NOTHING, problem: `${NO_PAGE} Count again.` };
  const response = isTyped ? responsePreview(asked, found.routes, operator) : null;
  return { problem: null, found, isPreview, until: asked.until, response };
}
