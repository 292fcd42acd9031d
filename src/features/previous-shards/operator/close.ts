// Closes all objects of a layout, for the one that follows it in the configuration. There is no way back, so it is refused where it could leave keys without an
// object in which they begin.

import { layoutName, layoutTitle } from "../../../kernel/config/layout.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { askShards, askWhichAreOpen } from "../../../operator/ask-shards.ts";
import { type CallBudget, MAX_CALLS, MOST_ALONE } from "../../../operator/asking-plan.ts";
import type { LayoutSummary } from "../../../operator/layouts.ts";
import { CLOSE_CALL } from "../object/closed-object.ts";

/** A request counts, closes and counts again. */
const FEWEST_COUNTING = 270;

export type CloseResult =
  | { readonly kind: "closed"; readonly layout: LayoutSummary }
  | { readonly kind: "refused"; readonly why: WhyNotClosed };

/** `per-key`: its objects cannot be listed. `next-closed`: keys could begin nowhere. `before-open`: keys begin in an older layout still. */
export type WhyNotClosed = "unknown" | "in-force" | "per-key" | "next-closed" | "before-open";

/** Closes a layout by its title. Rejects when an object does not answer that has to, or none does. */
export type CloseLayout = (title: string, by: Actor) => Promise<CloseResult>;

export function layoutCloser({ namespace, directory, operator, audit }: WorkerKernel): CloseLayout {
  const close = async (title: string, by: Actor): Promise<CloseResult> => {
    const { layouts, listed } = directory;
    const layout = layouts.find((one) => one.title === title);
    if (layout === undefined) return { kind: "refused", why: "unknown" };
    const { next } = layout;
    if (next === null) return { kind: "refused", why: "in-force" };
    const calls = Math.max(FEWEST_COUNTING, Math.min(MOST_ALONE, directory.askedAlone.length));
    const budget: CallBudget = { calls, questions: 1 };
    if (listed.every((address) => address.layout !== title)) return { kind: "refused", why: "per-key" };
    const summaries = (await operator.counts({ budget })).layouts;
    const nextSummary = summaries.find((one) => one.layout === layoutTitle(next));
    if ((nextSummary?.closedFor.length ?? 0) > 0) return { kind: "refused", why: "next-closed" };
    const before = layouts.filter((one) => one.next !== null && layoutName(one.next) === layoutName(layout.layout));
    const summariesBefore = summaries.filter((one) => before.some((other) => other.title === one.layout));
    if (summariesBefore.some(({ open }) => open > 0)) return { kind: "refused", why: "before-open" };
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
    return { kind: "closed", layout: summary };
  };
  return (title, by) =>
    audit.record(
      by,
      "close-layout",
      { target: title },
      () => close(title, by),
      (result) => (result.kind === "refused" ? `refused: ${result.why}` : "done"),
    );
}
