// Verification by state: the origin is asked about a resource, or a list, instead of a key. What it has done shows in its reads after a time of up to
// `settle`, a cache or a part of a list does not show it at all, and what was done may be undone: then its state says neither.

import { durationMs } from "../../src/kernel/record/units.ts";
import type { StoredState } from "../../src/kernel/verify/judge-state.ts";
import { SETTLE_MS } from "./times.ts";

/** What the origin is asked about: a resource of the record's own, or a list with the records of all. */
export type StateKind = "resource" | "list";

export function stateFor(record: string, kind: StateKind): StoredState {
  const terms = { missing: "open", settleMs: durationMs(SETTLE_MS) } as const;
  return kind === "list"
    ? {
        ...terms,
        test: {
          kind: "list",
          list: "/all",
          match: [{ at: "/of", oneOf: [{ text: record }] }],
          complete: [{ at: "/more", oneOf: [false] }],
        },
        answer: { body: "item", status: 200, location: null },
      }
    : {
        ...terms,
        test: {
          kind: "resource",
          happened: [{ at: "/is", oneOf: ["done"] }],
          notHappened: [{ at: "/is", oneOf: ["open"] }],
        },
        answer: { body: "resource", status: 200, location: null },
      };
}

/** How a question is read: at once, nearly as late as `settle` allows, from a cache of before, in part, or after it was undone. */
export const READS = ["at once", "late", "from a cache", "in part", "undone"] as const;
export type StateRead = (typeof READS)[number];

/** How old an effect is at least that shows. */
export const LAGS_MS: Readonly<Record<StateRead, number>> = {
  "at once": 0,
  late: SETTLE_MS - 1,
  "from a cache": Number.POSITIVE_INFINITY,
  "in part": Number.POSITIVE_INFINITY,
  undone: 0,
};

export interface StateText {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What retries get if this says that it happened; otherwise `null`. */
  readonly given: string | null;
  /** Whether this says, to whom it may, that nothing happened. */
  readonly saysNo: boolean;
}

/** `by`: the attempt whose effect shows; `null`: none does. */
export function stateText(kind: StateKind, record: string, by: string | null, read: StateRead): StateText {
  const headers = read === "from a cache" ? { age: "7" } : {};
  const isPart = read === "in part";
  if (kind === "list") {
    const own = JSON.stringify({ by, of: record });
    const others = JSON.stringify({ by: "x", of: "another" });
    // What was undone is still listed: one that is taken out of its list would be repeated, as README.md of verify says.
    const shows = by !== null;
    const body = `{"all":[${shows ? `${others},${own}` : others}],"more":${isPart}}`;
    return {
      body,
      headers,
      given: shows ? own : null,
      saysNo: !shows && !isPart && read !== "from a cache",
    };
  }
  const is = read === "undone" || isPart ? "canceled" : by === null ? "open" : "done";
  const body = JSON.stringify({ is, by });
  return { body, headers, given: is === "done" ? body : null, saysNo: is === "open" && read !== "from a cache" };
}
