// What operators change is written down before it is changed. Here is what the log promises, and an operator whose changes go through it; the
// log itself is src/features/audit.

import type { Hono } from "hono";

import type { Actor } from "./access/auth.ts";
import { invalidRequest, parseBody, type RequestVariables } from "./admin-request.ts";
import type { ChangeResult, Operator, RecordDetail } from "./operator.ts";
import type { AskedByOperator, OperatorAction } from "./operator-action.ts";

/** It could not be written down, so it was not done. */
export class AuditUnavailable extends Error {
  constructor(cause: unknown) {
    super(`the audit log cannot be written: ${String(cause)}`, { cause });
  }
}

/** To what, and why. */
export interface AuditTarget {
  readonly target: string | null;
  readonly reason?: string | null;
  /** The key of a record, for operators alone: the log line of the entry is without it, because a key may be confidential. */
  readonly key?: string | null;
  /** What operators know the request by (`note.label`), for operators alone too. */
  readonly label?: string | null;
}

export interface AuditLog {
  /**
   * Makes a change of which the log says who, what and why. `action`: a word of its own (`AUDIT_WORD`), by which the log is filtered. `outcomeOf` says in a few words what came of it.
   *
   * @throws AuditUnavailable The change has not been begun.
   */
  record<T>(
    actor: Actor,
    action: string,
    target: AuditTarget,
    change: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T>;
}

/** Writes nothing down. */
export const NO_AUDIT_LOG: AuditLog = { record: (_actor, _action, _target, change) => change() };

const UNREAD = "unread" as const;
const NO_RECORD: ChangeResult = { kind: "refused", why: "none" };

/** `null`: nobody but the caller can read it. */
export function auditedKey({ key, encrypted }: Pick<RecordDetail, "key" | "encrypted">): string | null {
  return encrypted ? null : key;
}

export type ActionResult<View> =
  /** `gist`: what came of it, for the audit log: "12 events". */
  | { readonly kind: "done"; readonly view: View; readonly gist?: string }
  /** `why`: a few words for the audit log; `reason`: what to write instead. */
  | { readonly kind: "refused"; readonly why: string; readonly reason: string };

/** Does what an action says. */
export type PerformAction<Asked, View> = (asked: Asked, by: Actor) => Promise<ActionResult<View>>;

/** An action with what does it, for the API and for a form. */
export interface AuditedAction<Asked, View> extends Pick<OperatorAction<Asked>, "body"> {
  readonly perform: PerformAction<Asked, View>;
  /** Adds its operation. */
  readonly addApi: (app: Hono<RequestVariables>) => void;
}

/** An action of which the log says who, what and why. A preview changes nothing, so the log has nothing of it. */
export function auditedAction<Asked extends object, View extends object>(
  { word, path, body, ...action }: OperatorAction<Asked>,
  audit: AuditLog,
  change: PerformAction<Asked, View>,
): AuditedAction<Asked, View> {
  const perform: PerformAction<Asked, View> = (asked, by) => {
    const { reason, isPreview = false }: AskedByOperator = asked;
    if (isPreview) return change(asked, by);
    return audit.record(
      by,
      word,
      { target: action.target(asked), reason: reason ?? null },
      () => change(asked, by),
      auditedOutcome,
    );
  };
  const addApi = (app: Hono<RequestVariables>): void => {
    app.post(path, parseBody(body.parse), async (context) => {
      const result = await perform(context.get("parsed"), context.get("actor"));
      return result.kind === "done" ? context.json(result.view) : invalidRequest(result.reason);
    });
  };
  return { body, perform, addApi };
}

function auditedOutcome(result: ActionResult<unknown>): string {
  if (result.kind === "refused") return `refused: ${result.why}`;
  return result.gist === undefined ? "done" : `done: ${result.gist}`;
}

/** An operator whose changes are audited. Whoever changes something goes through it, so that no caller can forget the log. */
export function auditedOperator(operator: Operator, audit: AuditLog): Operator {
  return {
    isPerKey: operator.isPerKey,
    isChangingLayout: operator.isChangingLayout,
    routes: operator.routes,
    list: (...query) => operator.list(...query),
    oldest: (...query) => operator.oldest(...query),
    latestUnknown: (...query) => operator.latestUnknown(...query),
    inspect: (id) => operator.inspect(id),
    omittedHeaders: (route) => operator.omittedHeaders(route),
    sessions: () => operator.sessions(),
    counts: (options) => operator.counts(options),
    body: (id, by) =>
      audit.record(
        by,
        "read-body",
        { target: id },
        () => operator.body(id, by),
        (body) => (body === null ? "refused: none" : "done"),
      ),
    async change(id, change) {
      if (change.isPreview) return operator.change(id, change);
      // One that cannot be read can still be forgotten.
      const record = await operator.inspect(id).catch(() => UNREAD);
      const named =
        record === null || record === UNREAD ? {} : { key: auditedKey(record), label: record.request?.label ?? null };
      return audit.record(
        change.by,
        change.action,
        { target: id, reason: change.reason, ...named },
        // All objects that may have it were asked for it.
        () => (record === null ? Promise.resolve(NO_RECORD) : operator.change(id, change)),
        (result) => (result.kind === "refused" ? `refused: ${result.why}` : "done"),
      );
    },
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
  };
}
