// Parses a request to decide about records.

import * as v from "valibot";

import type { EpochMs } from "../../../kernel/record/units.ts";
import { type ParsedRequest, parsePreviewStep, type PreviewStep } from "../../../operator/request-schema.ts";
import { type RecordDecision, namedTwice, parseDecision } from "./decision.ts";
import { decideSchema } from "./decision-schema.ts";

/** What has begun, ended or been decided since `until` is left. */
export interface AskedDecisions extends PreviewStep {
  readonly decisions: readonly RecordDecision[];
}

const NO_STEP =
  "Each record would be changed as its decision says. Write preview: true to see what would become of each, then confirm: true and until from its answer to do it.";

export async function parseDecide(json: unknown, now: EpochMs): Promise<ParsedRequest<AskedDecisions>> {
  const read = v.safeParse(decideSchema, json);
  if (!read.success) return refuse(read.issues[0].message);
  const { decisions: written, reason, ...steps } = read.output;
  const step = parsePreviewStep(steps, now, NO_STEP);
  if (!step.ok) return step;
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
  return { ok: true, value: { decisions, ...step.value } };
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
