// The audit log of operators (features/audit/object/audit-log-store.ts) as the Worker writes it. Each entry is written before the change is made, so that
// nothing is changed of which there is no word: if it cannot be written, the call rejects with AuditUnavailable, and the API answers 503.

import type { AskOperators } from "../../../kernel/worker-feature.ts";
import { AUDIT_CALLS, type AuditEntry, type AuditPage, type AuditQuery } from "../object/audit-log-store.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import { type AuditLog, AuditUnavailable, type AuditTarget } from "../../../operator/audited.ts";

/** A target comes from the operator, and a longer one names nothing that exists. */
const MAX_TARGET_LENGTH = 200;

/** Newest first. */
export type AuditPages = Awaited<ReturnType<OperatorsAudit["page"]>>;

export class OperatorsAudit implements AuditLog {
  readonly #ask: AskOperators;

  constructor(ask: AskOperators) {
    this.#ask = ask;
  }

  page(query: AuditQuery): Promise<AuditPage> {
    return this.#ask(AUDIT_CALLS.page, query);
  }

  async record<T>(
    { name: by, role, via, address }: Actor,
    action: string,
    { target, reason = null, key = null, label = null }: AuditTarget,
    change: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> {
    const cut = target === null ? null : target.slice(0, MAX_TARGET_LENGTH);
    const entry: Omit<AuditEntry, "key" | "label"> = { by, role, via, action, target: cut, reason, address };
    const number = await this.#ask(AUDIT_CALLS.begin, { ...entry, key, label }).catch((error: unknown) => {
      throw new AuditUnavailable(error);
    });
    // One of too many sign-ins.
    if (number === null) return change();
    console.warn({ message: "audit", number, ...entry });
    const result = await change().catch(async (error: unknown) => {
      // It may have been made all the same.
      await this.#end(number, "no answer");
      throw error;
    });
    await this.#end(number, outcomeOf(result));
    return result;
  }

  /** The change is made: an entry without an outcome is no reason to say that it failed. */
  async #end(number: number, outcome: string): Promise<void> {
    await this.#ask(AUDIT_CALLS.end, { number, outcome }).catch((error: unknown) => {
      console.error({ message: "an audit entry stays without its outcome", number, outcome, reason: String(error) });
    });
  }
}
