// Parses a request to decide about records.

import * as v from "valibot";

import { type EpochMs, epochMs } from "../../../kernel/record/units.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";
import { type RecordDecision, namedTwice, parseDecision } from "./decision.ts";
import { decideSchema } from "./decision-schema.ts";

export interface AskedDecisions {
  readonly decisions: readonly RecordDecision[];
  /** When they were previewed: what has begun, ended or been decided since is left. */
  readonly until: EpochMs;
  readonly isPreview: boolean;
}

/** How much another Worker's clock may differ. */
const CLOCKS_MS = 60_000;

export async function parseDecide(json: unknown, now: EpochMs): Promise<ParsedRequest<AskedDecisions>> {
  const read = v.safeParse(decideSchema, json);
  if (!read.success) return refuse(read.issues[0].message);
  const { decisions: written, reason, preview: isPreview = false, confirm = false, until: time } = read.output;
  if (isPreview === confirm) {
    return refuse(
      "Each record would be changed as its decision says. Write preview: true to see what would become of each, then confirm: true and until from its answer to do it.",
    );
  }
  if (time === undefined && confirm) {
    return refuse("until is missing: give the time in the answer of the preview, so that nothing newer is changed.");
  }
  const until = time === undefined ? now : epochMs(Date.parse(time));
  // The schema lets offsets through that nothing can read: "+05".
  if (Number.isNaN(until)) return refuse("until must be the time in the answer of the preview.");
  if (until > now + CLOCKS_MS) {
    return refuse("until must not be in the future: give the time in the answer of the preview.");
  }
  const decisions: RecordDecision[] = [];
  for (const [at, one] of written.entries()) {
    // oxlint-disable-next-line no-await-in-loop -- digests of keys
    const parsed = await parseDecision(one, reason);
    if (!parsed.ok) return refuse(`decisions[${at}]: ${parsed.reason}`);
    decisions.push(parsed.value);
  }
  const [first, again] = namedTwice(decisions.map(({ begin }) => begin)) ?? [];
  if (first !== undefined && again !== undefined) {
    return refuse(`decisions[${again}]: It may name the same record as decisions[${first}]: write one of them.`);
  }
  return { ok: true, value: { decisions, until, isPreview } };
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
