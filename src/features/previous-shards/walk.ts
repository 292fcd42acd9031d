// Asks the objects of one key, oldest layout first, until one answers: the one that has its record, or the one that is open. A closed object names the
// layout that follows it, so what objects have stored decides, and not this Worker's configuration.

import type { Layout, Layouts } from "../../kernel/config/layout.ts";
import { layoutName } from "../../kernel/config/layout.ts";
import {
  type ClosedLayout,
  type BeginsElsewhere,
  type FindObject,
  isSameLayout,
  type PreviousLayouts,
} from "../../kernel/elsewhere.ts";
import { shardAddressOf, shardTitle } from "../../kernel/object/shard-address.ts";

type Closed = Extract<BeginsElsewhere, { readonly kind: "closed" }>;

/** The most calls for one request. More layouts than that are never listed, and objects that send a request round in a circle were closed by operators who had contradicted each other. */
export const MAX_STEPS = 8;

/** Closed and empty objects that an isolate remembers. One that it forgets is asked again. */
const MAX_REMEMBERED = 1024;

/** For one isolate. */
export function objectFinder(): FindObject {
  /** By their titles. Only these are skipped: a closed object with records may have one of this key. */
  const empty = new Map<string, Closed>();
  return async (placing, layouts, ask) => {
    const closed = new Map<string, ClosedLayout>();
    let at = layouts.previous[0] ?? layouts.own;
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const known = empty.size === 0 ? undefined : empty.get(titleOf(placing, at));
      const answer = known ?? (await ask(at, previousOf(at, layouts, closed)));
      switch (answer.kind) {
        case "given":
          return answer.given;
        case "first":
          at = answer.layout;
          break;
        case "closed":
          closed.set(layoutName(at), { layout: at, isEmpty: answer.isEmpty });
          // An object for each key is asked about no other key, and would take the place of one that is.
          if (answer.isEmpty && at.shards !== "per-key" && empty.size < MAX_REMEMBERED)
            empty.set(titleOf(placing, at), answer);
          at = answer.next;
      }
    }
    return null;
  };
}

function titleOf(placing: string, at: Layout): string {
  return shardTitle(shardAddressOf(placing, at));
}

/** `undefined`, if nothing has been asked: a route with one layout sends nothing more than its request. */
function previousOf(
  at: Layout,
  layouts: Layouts,
  closed: ReadonlyMap<string, ClosedLayout>,
): PreviousLayouts | undefined {
  const closesFor = at.shards === "per-key" ? nextOf(at, layouts) : null;
  if (closed.size === 0 && closesFor === null) return undefined;
  return { closed: [...closed.values()], ...(closesFor === null ? null : { closesFor }) };
}

/** The layout that follows this one in the configuration; `null`: it is in force, or not listed. */
export function nextOf(at: Layout, { own, previous }: Layouts): Layout | null {
  const index = previous.findIndex((one) => isSameLayout(one, at));
  return index === -1 ? null : (previous[index + 1] ?? own);
}
