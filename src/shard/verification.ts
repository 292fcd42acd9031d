// Whether a lost attempt took effect, asked of the origin itself (`unknown = "verify"`), with the credential that the attempt
// was claimed with: what an answer means is decided in core/question.ts, and when to ask in questions.ts.

import type { Origin } from "../config/resolved.ts";
import type { LifeCycleEvent, Step } from "../core/events.ts";
import { type Asker, findingOf, hasSecondChance } from "../core/question.ts";
import type { Policy } from "../core/record.ts";
import { epochMs, type RecordId } from "../core/units.ts";
import type { Verification } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import type { Attachments, Entry, Ledger } from "./store/ledger.ts";
import { callOrigin, readUpTo } from "./origin-call.ts";
import type { Reachability } from "./reachability.ts";
import type { StoredResponse } from "./store/response-rows.ts";
import type { Timers } from "./timers.ts";

export interface VerificationPorts {
  readonly ledger: Ledger;
  readonly reachability: Reachability;
  readonly timers: Timers;
  readonly target: (origin: Origin) => Fetcher | null;
  readonly step: (
    id: RecordId,
    event: LifeCycleEvent,
    policy: Policy,
    attachments?: Attachments,
  ) => Step & { readonly entry: Entry | null };
}

/** What is kept of an answer; one that is larger settles the record without it. */
const MOST_BYTES = 1 << 20;

/** How long a question may take in all, its second chance and its answer's last byte included; a route may give it less. */
export const QUESTION_MS = 30_000;

/**
 * Asks what became of the record's last attempt, and settles the record if the origin knows. `own` is the question as another
 * caller would put it, with his own credential: a second chance where the claim's is not taken any more. Rejects when the
 * store fails.
 */
export async function verify(
  id: RecordId,
  policy: Policy,
  own: Verification | null,
  ports: VerificationPorts,
): Promise<void> {
  const { ledger, step } = ports;
  const askedAt = epochMs(Date.now());
  const { reply } = step(id, { type: "verify" }, policy);
  if (reply.type !== "ask") return;
  const attemptId = reply.record.attempt.id;
  // As it lies now: a lock's end that has just been noticed moves a record.
  const text = ledger.verification(id, ledger.find(id));
  // Who says the very same as the claim has no other credential.
  const others = JSON.stringify(own) === text ? null : own;
  const answer = await askInTurn(parse(text), others, ports);
  switch (answer.kind) {
    case "done": {
      const { status, response } = answer;
      const event = { type: "result", attemptId, status, kept: response !== null, verified: true } as const;
      step(id, event, policy, { response });
      return;
    }
    case "absent":
      step(id, { type: "absent", attemptId, askedAt }, policy);
      return;
    case "rejected":
    case "open":
  }
}

type Answer =
  | { readonly kind: "done"; readonly status: number; readonly response: StoredResponse | null }
  | { readonly kind: "absent" | "rejected" | "open" };

/** With the claim's own credential; where that finds nothing out, with that of whoever asks. */
async function askInTurn(
  claims: Verification | null,
  own: Verification | null,
  ports: VerificationPorts,
): Promise<Answer> {
  const endsAt = performance.now() + QUESTION_MS;
  const first = claims === null ? null : await ask(claims, "claim", QUESTION_MS, ports);
  const leftMs = endsAt - performance.now();
  if (own === null || leftMs <= 0 || !hasSecondChance(first?.kind ?? null)) return first ?? OPEN;
  return ask(own, "another", leftMs, ports);
}

async function ask(
  verification: Verification,
  asker: Asker,
  leftMs: number,
  ports: VerificationPorts,
): Promise<Answer> {
  // The route's `timeout` is for all of it: an answer that trickles is none.
  const totalMs = Math.min(verification.timeoutMs, leftMs);
  const request = { ...verification, method: "GET", body: null, totalMs };
  const answer = await callOrigin(request, ports.target(verification.origin), ports);
  if (!("next" in answer)) return OPEN;
  const { status, statusText, headers } = answer;
  const kind = findingOf(status, asker);
  if (kind !== "done") {
    answer.cancel();
    return { kind };
  }
  const body = await readUpTo(answer, Math.min(verification.maxBytes, MOST_BYTES));
  switch (body.kind) {
    case "whole": {
      const response = { status, statusText, headers, body: { kind: "inline", bytes: body.bytes } } as const;
      return { kind, status, response };
    }
    case "more":
      answer.cancel();
      return { kind, status, response: null };
    case "dropped":
    case "timed-out":
      return OPEN;
  }
}

const OPEN: Answer = { kind: "open" };

/** As the claim wrote it, in this deployment or one before. */
function parse(text: string | null): Verification | null {
  return text === null ? null : JSON.parse(text);
}
