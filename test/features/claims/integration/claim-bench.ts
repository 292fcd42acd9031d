// A real shard in workerd, to which a test sends what the Worker sends for consumers.

import type { Policy } from "../../../../src/kernel/record/record.ts";
import {
  type AttemptId,
  attemptId,
  durationMs,
  fingerprint as fingerprintOf,
  recordId,
  type RecordId,
} from "../../../../src/kernel/record/units.ts";
import {
  type ClaimAct,
  type ClaimAnswer,
  type ClaimEntry,
  type ClaimReply,
  CLAIMS_CALL,
} from "../../../../src/features/claims/claim-message.ts";
import { HOUR_MS } from "../../../support/integration/records.ts";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";

export const CLAIM_LOCK_MS = 60_000;

/** One try of a consumer: it names its attempt itself. */
export interface Try {
  readonly id: RecordId;
  readonly attempt: AttemptId;
}

export function tryOf(id: RecordId = recordId(crypto.randomUUID())): Try {
  return { id, attempt: attemptId(crypto.randomUUID()) };
}

export interface ClaimOptions {
  readonly fingerprint?: string;
  readonly lockMs?: number;
  readonly holder?: string;
}

export function claimAct({ fingerprint = "f", lockMs = CLAIM_LOCK_MS, holder }: ClaimOptions = {}): ClaimAct {
  return { verb: "claim", fingerprint: fingerprintOf(fingerprint), lockMs: durationMs(lockMs), holder: holder ?? null };
}

export function entryOf({ id, attempt }: Try, act: ClaimAct, more: Partial<ClaimEntry> = {}): ClaimEntry {
  const record = { id, key: "key", route: "claims:billing" };
  return { record, attemptId: attempt, act, position: null, ...more };
}

export class ClaimBench extends OperatedBench {
  readonly #policy: Policy;

  constructor(unknown: Policy["unknown"] = "hold", more: Partial<Policy> = {}) {
    super();
    this.#policy = {
      unknown,
      lockMs: durationMs(CLAIM_LOCK_MS),
      retentionMs: durationMs(7 * 24 * HOUR_MS),
      unknownRetentionMs: durationMs(365 * 24 * HOUR_MS),
      ...more,
    };
  }

  async ask(...entries: readonly ClaimEntry[]): Promise<readonly ClaimReply[]> {
    const body = JSON.stringify({ policy: this.#policy, entries });
    return (await this.stub.fetch(CLAIMS_CALL.url, { method: "POST", body })).json();
  }

  async #one(entry: ClaimEntry): Promise<ClaimAnswer> {
    const [reply] = await this.ask(entry);
    if (reply === undefined || "elsewhere" in reply) throw new Error(`no answer: ${JSON.stringify(reply)}`);
    return reply;
  }

  claim(one: Try, options: ClaimOptions = {}): Promise<ClaimAnswer> {
    return this.#one(entryOf(one, claimAct(options)));
  }

  extend(one: Try): Promise<ClaimAnswer> {
    return this.#one(entryOf(one, { verb: "extend" }));
  }

  complete(one: Try, result?: unknown): Promise<ClaimAnswer> {
    const text = result === undefined ? null : JSON.stringify(result);
    return this.#one(entryOf(one, { verb: "complete", result: text }));
  }

  release(one: Try, effect: "none" | "unknown", reason = "no reason"): Promise<ClaimAnswer> {
    return this.#one(entryOf(one, { verb: "release", effect, reason }));
  }
}
