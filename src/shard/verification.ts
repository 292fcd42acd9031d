// Whether a lost attempt took effect, asked of the origin itself (`unknown = "verify"`): 2xx says that it did, and is its
// result from now on; 404 that it did not; anything else leaves it open. Asked by the alarm, with growing pauses, and by
// each duplicate. One question at a time for each record.

import type { Origin } from "../config/resolved.ts";
import type { LifeCycleEvent, Step } from "../core/events.ts";
import type { Policy } from "../core/record.ts";
import { epochMs, type RecordId } from "../core/units.ts";
import type { Verification } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import type { Attachments, Entry, Ledger } from "./ledger.ts";
import { callOrigin } from "./origin-call.ts";
import { readSmall } from "./passing.ts";
import type { Reachability } from "./reachability.ts";
import type { StoredResponse } from "./response-rows.ts";
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
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** What is kept of an answer; one that is larger settles the record without it. */
const MOST_BYTES = 1 << 20;

/** How long a question may take in all, however slowly its answer comes. */
const MOST_MS = 30_000;

export class Verifications {
  readonly #ports: VerificationPorts;
  readonly #running = new Map<RecordId, Promise<void>>();

  constructor(ports: VerificationPorts) {
    this.#ports = ports;
  }

  /**
   * Asks what became of the record's last attempt, and settles the record if the origin knows. `own` is the question as the
   * asking client would put it, with its own credential; `null` puts it as the lost attempt's client would have. Rejects
   * when the store fails.
   */
  run(id: RecordId, policy: Policy, own: Verification | null): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const run = this.#run(id, policy, own).finally(() => this.#running.delete(id));
    this.#running.set(id, run);
    this.#ports.waitUntil(run.catch(() => undefined));
    return run;
  }

  async #run(id: RecordId, policy: Policy, own: Verification | null): Promise<void> {
    const { ledger, step } = this.#ports;
    const askedAt = epochMs(Date.now());
    const { reply, entry } = step(id, { type: "verify" }, policy);
    if (reply.type !== "ask") return;
    const verification = own ?? parse(ledger.verification(id, entry));
    if (verification === null) return;
    const attemptId = reply.record.attempt.id;
    const answer = await this.#ask(verification);
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
      case "open":
    }
  }

  async #ask(verification: Verification): Promise<Answer> {
    const request = { ...verification, method: "GET", body: null, totalMs: MOST_MS };
    const answer = await callOrigin(request, this.#ports.target(verification.origin), this.#ports);
    if (!("next" in answer)) return { kind: "open" };
    const { status, statusText, headers } = answer;
    if (status < 200 || status > 299) {
      answer.cancel();
      return { kind: status === 404 ? "absent" : "open" };
    }
    const body = await readSmall(answer, Math.min(verification.maxBytes, MOST_BYTES));
    switch (body.kind) {
      case "whole": {
        const response = { status, statusText, headers, body: { kind: "inline", bytes: body.bytes } } as const;
        return { kind: "done", status, response };
      }
      case "more":
        answer.cancel();
        return { kind: "done", status, response: null };
      case "dropped":
      case "timed-out":
        return { kind: "open" };
    }
  }
}

type Answer =
  | { readonly kind: "done"; readonly status: number; readonly response: StoredResponse | null }
  | { readonly kind: "absent" }
  | { readonly kind: "open" };

/** As the claim wrote it, in this deployment or one before. */
function parse(text: string | null): Verification | null {
  return text === null ? null : JSON.parse(text);
}
