// Closes all objects of a layout, for the one that follows it in the configuration. There is no way back, so it is refused where it could leave keys without an
// object in which they begin.

import { layoutName, layoutTitle } from "../../../kernel/config/layout.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { askShards, askWhichAreOpen } from "../../../operator/ask-shards.ts";
import { type CallBudget, MAX_CALLS, MOST_ALONE } from "../../../operator/asking-plan.ts";
import { type AuditedAction, auditedAction } from "../../../operator/audited.ts";
import type { LayoutView } from "../../../operator/gateway-schema.ts";
import type { AskedOf } from "../../../operator/operator-action.ts";
import { viewLayout } from "../../../operator/views.ts";
import { CLOSE_CALL } from "../object/closed-object.ts";
import { closeLayout, notClosed } from "./close-request-schema.ts";

/** A request counts, closes and counts again. */
const FEWEST_COUNTING = 270;

/** Rejects when an object does not answer that has to, or none does. */
export type CloseLayout = AuditedAction<AskedOf<typeof closeLayout>, LayoutView>;

export function layoutCloser({ namespace, directory, operator, audit }: WorkerKernel): CloseLayout {
  return auditedAction(closeLayout, audit, async ({ layout: title }, by) => {
    const { layouts, listed } = directory;
    const layout = layouts.find((one) => one.title === title);
    if (layout === undefined) return notClosed("unknown");
    const { next } = layout;
    if (next === null) return notClosed("in-force");
    const calls = Math.max(FEWEST_COUNTING, Math.min(MOST_ALONE, directory.askedAlone.length));
    const budget: CallBudget = { calls, questions: 1 };
    if (listed.every((address) => address.layout !== title)) return notClosed("per-key");
    const summaries = (await operator.counts({ budget })).layouts;
    const nextSummary = summaries.find((one) => one.layout === layoutTitle(next));
    if ((nextSummary?.closedFor.length ?? 0) > 0) return notClosed("next-closed");
    const before = layouts.filter((one) => one.next !== null && layoutName(one.next) === layoutName(layout.layout));
    const summariesBefore = summaries.filter((one) => before.some((other) => other.title === one.layout));
    if (summariesBefore.some(({ open }) => open > 0)) return notClosed("before-open");
    const needed = [...summariesBefore, ...(nextSummary === undefined ? [] : [nextSummary])];
    const silent = needed.flatMap(({ unreachable }) => unreachable);
    if (silent.length > 0) throw new Error(`unreachable: ${silent.join(", ")}`);
    const notAsked = needed.reduce(
      (sum, one) => sum + (one.objects ?? 0) - one.unused - one.open - one.closed - one.empty,
      0,
    );
    if (notAsked > 0)
      throw new Error(`not asked yet: ${notAsked} objects of ${needed.map((one) => one.layout).join()}`);
    const most = MAX_CALLS - 2 * calls - directory.gatherings.length;
    const open = await askWhichAreOpen(namespace, directory, title, budget, most);
    const objects = open.map(({ address }) => address);
    const closed = await askShards(namespace, objects, (shard) => shard({ close: CLOSE_CALL }).close(next));
    if (objects.length > 0 && closed.every(({ answer }) => answer === null))
      throw new Error(`unreachable: every object of ${title}`);
    console.warn({ message: "layout closed", layout: title, next: layoutTitle(next), by: by.name });
    const first = new Map([[title, open.map(({ number }) => number)]]);
    const summary = (await operator.counts({ budget, first })).layouts.find((one) => one.layout === title);
    if (summary === undefined) throw new Error(`no summary of ${title}`);
    return { kind: "done", view: viewLayout(summary) };
  });
}
