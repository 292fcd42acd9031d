// The operation of the operator API that tries a queue (features/queues/trial.ts): parses its request, and says what came of it.

import type { Hono } from "hono";
import * as v from "valibot";
import { epochMs } from "../../../kernel/record/units.ts";
import { MAX_MESSAGE_BYTES, type QueueTrialOutcome, type TryQueue } from "../trial.ts";
import { invalidRequest, parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import type { AuditLog } from "../../../operator/audited.ts";
import { decodeBase64 } from "../../../operator/given-response.ts";
import type { Operator } from "../../../operator/operator.ts";
import type { TrialView } from "./queue-schema.ts";
import { viewDetail } from "../../../operator/views.ts";
import type { ParsedRequest } from "../../../operator/request-schema.ts";

const TRIAL = 'The body must be JSON: write {"body":…} with any JSON value, or {"bodyBase64":"…"} for bytes.';

/** Any JSON value is a message; a member that is missing is no value. */
const queueTrialSchema = v.union(
  [v.strictObject({ body: v.unknown() }), v.strictObject({ bodyBase64: v.string(TRIAL) })],
  TRIAL,
);

/** Tries a queue for an operator: see features/queues/trial.ts. */
export type OperatorTryQueue = (queue: string, body: unknown, by: Actor) => Promise<QueueTrialOutcome>;

/** Every trial is audited. */
export function auditedTrial(tryQueue: TryQueue, audit: AuditLog): OperatorTryQueue {
  return (queue, body, by) =>
    audit.record(
      by,
      "try-queue",
      { target: queue },
      () => tryQueue(queue, body, by.name),
      (trial) => (trial.kind === "tried" ? `done: ${trial.recordId}` : `refused: ${trial.kind}`),
    );
}

export function addQueueTrial(
  app: Hono<RequestVariables>,
  operator: Pick<Operator, "inspect">,
  tryQueue: OperatorTryQueue,
): void {
  app.post("/queues/:queue/try", parseBody(parseTrial), async (context) => {
    const queue = context.req.param("queue");
    const trial = await tryQueue(queue, context.get("parsed"), context.get("actor"));
    return trial.kind === "tried"
      ? context.json<TrialView>(await view(queue, trial, operator))
      : invalidRequest(whyNotTried(queue, trial));
  });
}

function parseTrial(json: unknown): ParsedRequest<unknown> {
  const read = v.safeParse(queueTrialSchema, json);
  if (!read.success) return { ok: false, reason: read.issues[0].message };
  if ("body" in read.output) return { ok: true, value: read.output.body };
  const body = decodeBase64(read.output.bodyBase64);
  return body === null ? { ok: false, reason: "bodyBase64 is not base64." } : { ok: true, value: body };
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
