// Decides in an object whether a key without a record may begin there. Whoever asks has looked for an unexpired record in the same turn, and asks again after
// each `await`.

import { answerCall } from "../../../kernel/call.ts";
import type { Layout } from "../../../kernel/config/layout.ts";
import type { BeginsElsewhere, PlacedRecord } from "../../../kernel/elsewhere.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import type { StepParticipation, StepChange } from "../../../kernel/step-hook.ts";
import { logFailure } from "../../../kernel/traffic/bookkeep.ts";
import { ClosedBefore } from "./closed-before.ts";
import { CLOSE_CALL, ClosedObject } from "./closed-object.ts";

export function previousShardsObject({ ledger, attempts, reporter }: ObjectKernel): ObjectFeature {
  const object = new ClosedObject(ledger.tables);
  const before = new ClosedBefore(ledger.tables);

  const count = (placed: PlacedRecord, answer: BeginsElsewhere): BeginsElsewhere => {
    logFailure("counting a key that begins elsewhere", () =>
      reporter.traffic.elsewhere(placed.record.route, answer.kind),
    );
    return answer;
  };
  const closedFor = (next: Layout): BeginsElsewhere => {
    const { isEmpty } = object;
    // Nobody asks an empty object again, so no later request would cut off an attempt whose record has expired before its answer has ended.
    if (isEmpty) attempts.cutOffAll(epochMs(Date.now()));
    return { kind: "closed", next, isEmpty };
  };
  const elsewhere = (placed: PlacedRecord): (() => BeginsElsewhere) | null => {
    const first = before.lackedBy(placed);
    // Also when this object is closed: it may have been closed for a layout that would then begin the key.
    if (first !== null) return () => count(placed, { kind: "first", layout: first });
    const { closing } = object;
    if (closing !== null) return () => count(placed, closedFor(closing.next));
    const next = placed.previous?.closesFor;
    if (next === undefined) return null;
    return () => count(placed, closedFor(object.close(next, epochMs(Date.now())).next));
  };
  const join = ({ event, after, attachments: { placed } }: StepChange): StepParticipation | null =>
    placed === undefined || after === null || (event.type !== "request" && event.type !== "claim")
      ? null
      : before.noting(placed);

  return {
    name: "previous-shards",
    hooks: [{ name: "previous-shards", join }],
    actions: { elsewhere, closing: () => object.closing },
    calls: [answerCall(CLOSE_CALL, (next) => object.close(next, epochMs(Date.now())).next)],
  };
}
