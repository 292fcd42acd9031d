// The audit log of operators (features/audit/object/audit.ts), and the decorators that write it. Each entry is written before the change is made, so
// that nothing is changed of which there is no word: if it cannot be written, the call rejects with AuditUnavailable, and the API answers 503.

import { parseScopeEntry } from "../../../kernel/config/scope-part.ts";
import type { Audited } from "../../../kernel/record/audit.ts";
import type { EpochMs } from "../../../kernel/record/units.ts";
import type { Trial } from "../../queues/trial.ts";
import { keyHash } from "../../../kernel/request/record-name.ts";
import type { Call } from "../../../kernel/call.ts";
import { AUDIT_CALLS, type AuditEntry, type AuditPage, type AuditQuery } from "../object/audit.ts";
import type { Actor } from "../../../operator/access/auth.ts";
import type { AllChange, AllChangeResult, Operator } from "../../../operator/operator.ts";
import type { EventsOperator } from "../../outbox/operator/outbox.ts";
import type { PositionsOperations } from "../../claims/operator/positions.ts";
import type { OperatorTryQueue } from "../../queues/operator/trial.ts";

/** A target comes from the operator, and a longer one names nothing that exists. */
const MAX_TARGET_LENGTH = 200;

/** Newest first. */
export type AuditPages = Awaited<ReturnType<Audit["page"]>>;

/** Asks the operators' object; rejects without an answer. */
export type AskAudit = <In, Out>(call: Call<In, Out>, question: In) => Promise<Out>;

/** It could not be written down, so it was not done. */
export class AuditUnavailable extends Error {
  constructor(cause: unknown) {
    super(`the audit log cannot be written: ${String(cause)}`, { cause });
  }
}

export class Audit {
  readonly #ask: AskAudit;

  constructor(ask: AskAudit) {
    this.#ask = ask;
  }

  page(query: AuditQuery): Promise<AuditPage> {
    return this.#ask(AUDIT_CALLS.page, query);
  }

  /**
   * Makes a change of which the log says who, what and why. `outcomeOf` says in a few words what came of it.
   *
   * @throws AuditUnavailable The change has not been begun.
   */
  async record<T>(
    { name: by, role, via, address }: Actor,
    action: Audited,
    { target, reason = null }: { readonly target: string | null; readonly reason?: string | null },
    change: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> {
    const cut = target === null ? null : target.slice(0, MAX_TARGET_LENGTH);
    const entry: AuditEntry = { by, role, via, action, target: cut, reason, address };
    const number = await this.#ask(AUDIT_CALLS.begin, entry).catch((error: unknown) => {
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

/** Without the value, which is the caller's credential. Where no part can have this name, it may be one that was typed in the wrong place. */
function partName(name: string): string {
  return parseScopeEntry(name).ok ? name : "(no part of a scope)";
}

/** A filter and its time. A key may be confidential, so its digest stands for it. */
async function filterText(written: AllChange["written"], until: EpochMs): Promise<string> {
  const conditions = Object.entries(written).map(async ([name, value]) =>
    name === "key" ? `id=${await keyHash(value)}` : `${name}=${value}`,
  );
  // First, because the end of a long text is cut off.
  return [`preview=${new Date(until).toISOString()}`, ...(await Promise.all(conditions))].join(" ");
}

function allOutcome({
  matched,
  changed,
  refused,
  skipped,
  unanswered,
}: Extract<AllChangeResult, { readonly kind: "done" }>): string {
  const left = refused.inFlight + refused.completed + refused.remembered;
  return `done: ${changed} of ${matched} records, ${left} refused, ${skipped} skipped, ${unanswered} without an answer`;
}

/** An operator whose changes are audited. Whoever changes something goes through it, so that no caller can forget the log. */
export function audited(operator: Operator, audit: Audit): Operator {
  return {
    isPerKey: operator.isPerKey,
    isChangingLayout: operator.isChangingLayout,
    routes: operator.routes,
    outbox: auditedEvents(operator.outbox, audit),
    positions: auditedPositions(operator.positions, audit),
    list: (...query) => operator.list(...query),
    inspect: (id) => operator.inspect(id),
    omittedHeaders: (route) => operator.omittedHeaders(route),
    sessions: () => operator.sessions(),
    counts: () => operator.counts(),
    body: (id, by) =>
      audit.record(
        by,
        "read-body",
        { target: id },
        () => operator.body(id, by),
        (body) => (body === null ? "refused: none" : "done"),
      ),
    change: (id, change) =>
      audit.record(
        change.by,
        change.action,
        { target: id, reason: change.reason },
        () => operator.change(id, change),
        (result) => (result.kind === "refused" ? `refused: ${result.why}` : "done"),
      ),
    changeAll: async (change) =>
      change.isPreview
        ? operator.changeAll(change)
        : audit.record(
            change.by,
            `${change.action}-all`,
            { target: await filterText(change.written, change.until), reason: change.reason },
            () => operator.changeAll(change),
            (result) => (result.kind === "done" ? allOutcome(result) : `refused: ${result.kind}`),
          ),
    forgetScope: (forgetting) =>
      forgetting.isPreview
        ? operator.forgetScope(forgetting)
        : audit.record(
            forgetting.by,
            "forget-scope",
            { target: [...forgetting.scope.keys()].map(partName).join(), reason: forgetting.reason },
            () => operator.forgetScope(forgetting),
            (result) =>
              result.kind === "done"
                ? `done: ${result.forgotten} records, ${result.events} events`
                : `refused: ${result.kind}`,
          ),
    signIn: (by) =>
      audit.record(
        by,
        "sign-in",
        { target: null },
        () => operator.signIn(by),
        () => "done",
      ),
    endSessions: (by) =>
      audit.record(
        by,
        "end-sessions",
        { target: null },
        () => operator.endSessions(by),
        () => "done",
      ),
    close: (layout, by) =>
      audit.record(
        by,
        "close-layout",
        { target: layout },
        () => operator.close(layout, by),
        (result) => (result.kind === "refused" ? `refused: ${result.why}` : "done"),
      ),
  };
}

function auditedPositions(positions: PositionsOperations, audit: Audit): PositionsOperations {
  return {
    list: (...query) => positions.list(...query),
    set: (change) =>
      audit.record(
        change.by,
        "set-position",
        { target: `${change.group} ${change.stream}/${change.partition}: ${change.next}`, reason: change.reason },
        () => positions.set(change),
        (isSet) => (isSet ? "done" : "refused: no such group"),
      ),
  };
}

function auditedEvents(events: EventsOperator, audit: Audit): EventsOperator {
  return {
    list: (...query) => events.list(...query),
    change: (change) =>
      change.isPreview
        ? events.change(change)
        : audit.record(
            change.by,
            change.action,
            {
              target: `${change.destination}${change.event === null ? "" : ` ${change.event.id}`}`,
              reason: change.reason,
            },
            () => events.change(change),
            (result) => `done: ${result.events} events`,
          ),
  };
}

export function auditedTrial(tryQueue: OperatorTryQueue, audit: Audit): OperatorTryQueue {
  return (queue, body, by) =>
    audit.record(
      by,
      "try-queue",
      { target: queue },
      () => tryQueue(queue, body, by),
      (trial: Trial) => (trial.kind === "tried" ? `done: ${trial.recordId}` : `refused: ${trial.kind}`),
    );
}
