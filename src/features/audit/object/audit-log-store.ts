// The audit log: what operators did, in the operators' object alone. An entry is written before the change that it names is made, and gets
// its outcome once, after it. Triggers keep even code of this gateway from changing or erasing what was written; whoever may deploy other
// code can drop them, so the log line of each entry is the copy to keep elsewhere.

import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { answerCall, type AnsweredCall, jsonCall } from "../../../kernel/call.ts";
import type { OperatorProof, Role } from "../../../kernel/record/audit.ts";
import { type EpochMs, epochMs } from "../../../kernel/record/units.ts";
import type { LedgerSql } from "../../../kernel/store/schema.ts";

/** What is written before a change is made. No secret, no body and no value of a scope may be in it. */
export interface AuditEntry {
  /** Who: the operator's name. */
  readonly by: string;
  readonly role: Role;
  readonly via: OperatorProof;
  readonly action: string;
  /** What was changed, such as a record's id; `null`: the whole gateway. */
  readonly target: string | null;
  readonly reason: string | null;
  /** The key of a record, unless it is encrypted, and its label: whoever has a list of keys or orders reads the log by them. */
  readonly key: string | null;
  readonly label: string | null;
  readonly address: string;
}

export interface AuditedEntry extends AuditEntry {
  /** They rise by one. */
  readonly number: number;
  readonly at: EpochMs;
  /** `null`: it is not known whether the change was made. */
  readonly outcome: string | null;
}

/** `null` means any. */
export interface AuditQuery {
  readonly by: string | null;
  readonly action: string | null;
  /** Not written before. */
  readonly since: number | null;
  /** Only entries before this one. */
  readonly before: number | null;
  readonly limit: number;
}

/** Newest first. */
export interface AuditPage {
  readonly entries: readonly AuditedEntry[];
  /** Where to go on: `before` of the next query; `null`: there are no more. */
  readonly next: number | null;
}

/** In the operators' object; by requests, because reasons are free text. */
export const AUDIT_CALLS = {
  /** Writes an entry, answered with its number; `null`: it is one of too many sign-ins, and was left out. */
  begin: jsonCall<AuditEntry, number | null>("audit-begin"),
  /** Sets the outcome of an entry. */
  end: jsonCall<{ readonly number: number; readonly outcome: string }, void>("audit-end"),
  page: jsonCall<AuditQuery, AuditPage>("audit-page"),
};

export function auditCalls(log: AuditLogStore): readonly AnsweredCall[] {
  return [
    answerCall(AUDIT_CALLS.begin, (entry) => log.begin(entry, epochMs(Date.now()))),
    answerCall(AUDIT_CALLS.end, ({ number, outcome }) => log.end(number, outcome)),
    answerCall(AUDIT_CALLS.page, (query) => log.page(query)),
  ];
}

/** One call looks at this many entries at most, because other calls wait for it. */
const MAX_LOOKED_AT = 2000;

/**
 * Entries of one operator's sign-ins within an hour. Nothing is ever erased here, and whoever has a token, also one that may only read,
 * can sign in as often as they like.
 */
export const MAX_SIGN_INS = 20;
const HOUR_MS = 3_600_000;

const COLUMNS = "number, at, operator, role, via, action, target, reason, key, label, address, outcome";

const STATEMENTS = [
  `CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    operator TEXT NOT NULL,
    role TEXT NOT NULL,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT,
    reason TEXT,
    key TEXT,
    label TEXT,
    address TEXT NOT NULL,
    outcome TEXT
  )`,
  "CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
  // A REPLACE deletes without firing the trigger above (https://www.sqlite.org/lang_conflict.html).
  `CREATE TRIGGER audit_appended BEFORE INSERT ON audit
    WHEN NEW.outcome IS NOT NULL OR EXISTS (SELECT 1 FROM audit WHERE number >= NEW.number AND NEW.number > 0)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
  `CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit
    WHEN OLD.outcome IS NOT NULL OR NEW.outcome IS NULL
      OR (${COLUMNS.split(", ")
        .filter((name) => name !== "outcome")
        .map((name) => `OLD.${name} IS NOT NEW.${name}`)
        .join(" OR ")})
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
];

interface Row extends Omit<AuditedEntry, "by" | "at"> {
  readonly [column: string]: string | number | null;
  readonly operator: string;
  readonly at: number;
}

export class AuditLogStore {
  readonly #sql: LedgerSql;
  readonly #transaction: (run: () => void) => void;
  #exists: boolean | null = null;

  constructor(sql: LedgerSql, transaction: (run: () => void) => void) {
    this.#sql = sql;
    this.#transaction = transaction;
  }

  /** Returns the entry's number; `null`: it is one of too many sign-ins, and is not written. */
  begin({ by, role, via, action, target, reason, key, label, address }: AuditEntry, now: EpochMs): number | null {
    this.#make();
    if (action === "sign-in" && this.#signIns(by, now) >= MAX_SIGN_INS) return null;
    const { number } = this.#sql
      .exec<{
        number: number;
      }>(
        "INSERT INTO audit (at, operator, role, via, action, target, reason, key, label, address) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
        now,
        by,
        role,
        via,
        action,
        target,
        reason,
        key,
        label,
        address,
      )
      .one();
    return number;
  }

  /** Those that are written of this operator's last hour, as far as one call looks. */
  #signIns(by: string, now: EpochMs): number {
    const { signIns } = this.#sql
      .exec<{ signIns: number }>(
        "SELECT count(*) AS signIns FROM (SELECT operator, action, at FROM audit ORDER BY number DESC LIMIT +?) WHERE operator = ? AND action = 'sign-in' AND at > ?",
        MAX_LOOKED_AT,
        by,
        now - HOUR_MS,
      )
      .one();
    return signIns;
  }

  end(number: number, outcome: string): void {
    this.#make();
    this.#sql.exec("UPDATE audit SET outcome = ? WHERE number = ?", outcome, number);
  }

  page({ by, action, since, before, limit }: AuditQuery): AuditPage {
    if (!this.#isMade()) return { entries: [], next: null };
    const entries: AuditedEntry[] = [];
    let looked = 0;
    let last = 0;
    const rows = this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM audit WHERE number < ? ORDER BY number DESC LIMIT +?`,
      before ?? Number.MAX_SAFE_INTEGER,
      MAX_LOOKED_AT,
    );
    for (const { operator: name, at, action: done, ...row } of rows) {
      if (entries.length === limit) return { entries, next: last };
      looked += 1;
      last = row.number;
      // A clock that was set back may have left an older time behind a newer one, so that the others are looked at too.
      const isWanted =
        (by === null || by === name) && (action === null || action === done) && (since === null || at >= since);
      if (!isWanted) continue;
      entries.push({ ...row, at: epochMs(at), by: name, action: done });
    }
    return { entries, next: looked < MAX_LOOKED_AT ? null : last };
  }

  #isMade(): boolean {
    this.#exists ??= this.#sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'audit'").toArray().length > 0;
    return this.#exists;
  }

  /** With the first entry. */
  #make(): void {
    if (this.#isMade()) return;
    this.#transaction(() => {
      for (const statement of STATEMENTS) this.#sql.exec(statement);
    });
    this.#exists = true;
  }
}

export function auditObject({ storage }: ObjectKernel): ObjectFeature {
  const log = new AuditLogStore(storage.sql, (run) => storage.transactionSync(run));
  return { name: "audit", calls: auditCalls(log) };
}
