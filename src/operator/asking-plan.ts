// Which objects one request of an operator asks. Cloudflare lets a request make 10,000 calls (Workers Paid), and 1,000 to its own services on the
// Free plan (Workers documentation, "Limits", Subrequests). So each request keeps below the smaller of the two: a few objects are asked alone, and of
// large layouts as many as are left, in turn.

import type { GatheringObject, LayoutShardAddress, ShardDirectory } from "./shards.ts";

/** The most calls of one request, with those that gathering objects make for it. */
export const MAX_CALLS = 900;
/** What a page needs besides: its session, warnings, totals, the lists of the oldest records and of the latest unknown ones, the audit log. */
const OTHER_CALLS = 150;
export const MOST_ALONE = 375;
/** Objects that are left out take turns of this length. */
const TURN_MS = 1000;

/** What a request can spend on its questions to all objects. */
export interface CallBudget {
  readonly calls: number;
  /** How often it asks: each question asks all small layouts' objects, and the gathering objects. */
  readonly questions: number;
}

/** A page asks for what is open, and for the last day. */
export const WHOLE_BUDGET: CallBudget = { calls: MAX_CALLS - OTHER_CALLS, questions: 2 };

/** Of a request that asks for counts first and then, with the other half, the objects that have some. */
export const HALF_BUDGET: CallBudget = { calls: 400, questions: 1 };
export const OTHER_HALF = MAX_CALLS - OTHER_CALLS - HALF_BUDGET.calls;

export interface AskingPlan {
  readonly alone: readonly LayoutShardAddress[];
  readonly gatherings: readonly PlannedGathering[];
  /** How many objects nobody asks, because there are more layouts than one request can ask. Another request asks others. */
  readonly missing: number;
}

export interface PlannedGathering {
  readonly gathering: GatheringObject;
  /** How many of its objects it asks. */
  readonly ask: number;
}

export function planAsking(
  { askedAlone, gatherings }: Pick<ShardDirectory, "askedAlone" | "gatherings">,
  now: number,
  { calls, questions }: CallBudget = WHOLE_BUDGET,
): AskingPlan {
  const most = Math.floor(calls / questions);
  const alone = inTurn(askedAlone, Math.min(most, MOST_ALONE), now);
  const asked = inTurn(gatherings, most - alone.length, now);
  const left = calls - questions * (alone.length + asked.length);
  const missing = askedAlone.length - alone.length + objectsOf(gatherings) - objectsOf(asked);
  // Those that ask one more change with the time.
  const turn = Math.floor(now / TURN_MS);
  const planned = asked.map((gathering, at) => {
    const share = Math.floor(left / asked.length);
    const isFirst = (at + turn) % asked.length < left % asked.length;
    return { gathering, ask: share + (isFirst ? 1 : 0) };
  });
  return { alone, gatherings: planned, missing };
}

function objectsOf(gatherings: readonly GatheringObject[]): number {
  return gatherings.reduce((sum, { count, only }) => sum + (only?.length ?? count), 0);
}

function inTurn<T>(all: readonly T[], most: number, now: number): readonly T[] {
  if (all.length <= most) return all;
  const begin = (Math.floor(now / TURN_MS) * most) % all.length;
  return [...all.slice(begin), ...all.slice(0, begin)].slice(0, most);
}
