// The action that tries a queue (features/queues/trial.ts), audited, and what came of it.

import { epochMs } from "../../../kernel/record/units.ts";
import { MAX_MESSAGE_BYTES, type QueueTrialOutcome, type TryQueue } from "../trial.ts";
import { type AuditedAction, auditedAction, type AuditLog } from "../../../operator/audited.ts";
import type { AskedOf } from "../../../operator/operator-action.ts";
import type { Operator } from "../../../operator/operator.ts";
import type { TrialView } from "./queue-schema.ts";
import { queueTrial } from "./trial-request-schema.ts";
import { viewDetail } from "../../../operator/views.ts";

/** Tries a queue for an operator: see features/queues/trial.ts. */
export function queueTrialAction(
  trials: TryQueue,
  operator: Pick<Operator, "inspect">,
  audit: AuditLog,
): AuditedAction<AskedOf<typeof queueTrial>, TrialView> {
  return auditedAction(queueTrial, audit, async ({ queue, message }, by) => {
    const trial = await trials(queue, message, by.name);
    return trial.kind === "tried"
      ? { kind: "done", view: await view(queue, trial, operator), gist: trial.recordId }
      : { kind: "refused", why: trial.kind, reason: whyNotTried(queue, trial) };
  });
}

async function view(
  queue: string,
  { messageId, recordId, deliveries }: Extract<QueueTrialOutcome, { readonly kind: "tried" }>,
  operator: Pick<Operator, "inspect">,
): Promise<TrialView> {
  // An error would look as if nothing had been done.
  const record = await operator.inspect(recordId).catch(() => null);
  return {
    queue,
    messageId,
    recordId,
    deliveries,
    attempts: record?.attempt ?? null,
    record: record === null ? null : viewDetail(record, epochMs(Date.now())),
  };
}

function whyNotTried(queue: string, trial: Exclude<QueueTrialOutcome, { readonly kind: "tried" }>): string {
  if (trial.kind === "unusable") return UNUSABLE[trial.why];
  return trial.queues.length === 0
    ? "This gateway consumes no queue: its configuration has no QUEUES. (One that hosts itself cannot have any.)"
    : `QUEUES has no queue "${queue.slice(0, 100)}", only ${trial.queues.join(", ")}.`;
}

const UNUSABLE: Readonly<Record<Extract<QueueTrialOutcome, { readonly kind: "unusable" }>["why"], string>> = {
  "too-large": `A message has at most ${MAX_MESSAGE_BYTES} bytes.`,
  "key-missing":
    "The message has no key: none of the places that the queue's key setting names has a value. From the queue it would become a dead letter.",
  "message-invalid":
    "The message has a key or a scope that is no text and no number, or that has not the right form. From the queue it would become a dead letter.",
};
