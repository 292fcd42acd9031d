// The audit log in the operators' object: what its triggers refuse, and its pages. And: no change without an entry.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { OperatorsAudit } from "../../../../src/features/audit/operator/operators-audit.ts";
import { allChanger, auditedAllChanger } from "../../../../src/features/bulk/operator/all-change.ts"; // feature: bulk
import { scopeForgetter } from "../../../../src/features/callers/operator/forgetting.ts"; // feature: callers
import { auditedOperator } from "../../../../src/operator/audited.ts";
import { workerKernel } from "../../../support/integration/worker-kernel.ts";
import { ShardOperator } from "../../../../src/operator/shard-operator.ts";
import type { JsonCall } from "../../../../src/kernel/call.ts";
import { AUDIT_CALLS, AuditLogStore } from "../../../../src/features/audit/object/audit-log-store.ts";
import { askObject } from "../../../../src/kernel/object/call-shard.ts";
import { type AuditEntry, MAX_SIGN_INS } from "../../../../src/features/audit/object/audit-log-store.ts";
import { ADMIN } from "../../../support/integration/operators.ts";
import { expectThrown } from "../../../support/integration/expected-errors.ts";

const ENTRY: AuditEntry = {
  by: "ann",
  role: "admin",
  via: "token",
  action: "release",
  target: "a".repeat(64),
  reason: "seen",
  key: null,
  label: null,
  address: "192.0.2.1",
};
const ALL = { by: null, action: null, since: null, before: null, limit: 50 } as const;

function startLog() {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  const ask = <In, Out>(call: JsonCall<In, Out>, question: In): Promise<Out> => askObject(stub, call, question);
  const sql = (statement: string): Promise<void> =>
    runInDurableObject(stub, (_object, state) => void state.storage.sql.exec(statement).toArray());
  /** Another instance of the object. */
  const again = <T>(run: (store: AuditLogStore) => T): Promise<T> =>
    runInDurableObject(stub, (_object, { storage }) =>
      run(new AuditLogStore(storage.sql, (steps) => storage.transactionSync(steps))),
    );
  return { audit: new OperatorsAudit(ask), ask, sql, again };
}

describe("the audit log", () => {
  it("has no table until something is written, and is empty then", async () => {
    const { audit } = startLog();
    expect(await audit.page(ALL)).toEqual({ entries: [], next: null });
  });

  it("is found by another instance, which goes on with it", async () => {
    const { ask, again } = startLog();
    await ask(AUDIT_CALLS.begin, ENTRY);
    expect((await again((store) => store.page(ALL))).entries).toMatchObject([ENTRY]);
    expect(await again((store) => store.begin(ENTRY, epochMs(1)))).toBe(2);
  });

  it("keeps what was written, and sets an outcome once", async () => {
    const { audit, ask } = startLog();
    const number = (await ask(AUDIT_CALLS.begin, ENTRY)) ?? 0;
    expect((await audit.page(ALL)).entries).toEqual([{ ...ENTRY, number, at: expect.any(Number), outcome: null }]);
    await ask(AUDIT_CALLS.end, { number, outcome: "done" });
    await expectThrown(ask(AUDIT_CALLS.end, { number, outcome: "refused: none" }), "append-only");
    expect((await audit.page(ALL)).entries).toMatchObject([{ number, outcome: "done" }]);
  });

  it.each([
    ["a deletion", "DELETE FROM audit"],
    ["another reason", "UPDATE audit SET reason = 'other'"],
    ["another operator, with an outcome", "UPDATE audit SET operator = 'eve', outcome = 'done' WHERE outcome IS NULL"],
    ["another outcome", "UPDATE audit SET outcome = 'refused' WHERE number = 1"],
    ["an outcome that is taken back", "UPDATE audit SET outcome = NULL WHERE number = 1"],
    ["another time", "UPDATE audit SET at = 0"],
    ["another number", "UPDATE audit SET number = 7, outcome = 'done' WHERE number = 2"],
    [
      "a replacement, which deletes without a trigger",
      "REPLACE INTO audit (number, at, operator, role, via, action, address) VALUES (1, 0, 'eve', 'admin', 'token', 'drop', '')",
    ],
    [
      "an upsert",
      "INSERT INTO audit (number, at, operator, role, via, action, address) VALUES (1, 0, 'e', 'admin', 'token', 'drop', '') ON CONFLICT DO UPDATE SET reason = 'other'",
    ],
    [
      "an entry that begins with its outcome",
      "INSERT INTO audit (at, operator, role, via, action, address, outcome) VALUES (0, 'e', 'admin', 'token', 'drop', '', 'done')",
    ],
  ])("refuses %s", async (_name, statement) => {
    const { audit, ask, sql } = startLog();
    await ask(AUDIT_CALLS.end, { number: (await ask(AUDIT_CALLS.begin, ENTRY)) ?? 0, outcome: "done" });
    await ask(AUDIT_CALLS.begin, ENTRY);
    const before = await audit.page(ALL);
    await expectThrown(sql(statement), "append-only");
    expect(await audit.page(ALL)).toEqual(before);
  });

  it("has so many sign-ins of one operator an hour, and lets everybody in all the same", async () => {
    const { audit } = startLog();
    const reader = { name: "reader", role: "reader", via: "token", address: "192.0.2.1" } as const;
    const signIn = (name: string): Promise<string> =>
      audit.record(
        { ...reader, name },
        "sign-in",
        { target: null },
        () => Promise.resolve(name),
        () => "done",
      );
    for (let time = 0; time < 2 * MAX_SIGN_INS; time += 1) expect(await signIn("reader")).toBe("reader");
    expect(await signIn("ann")).toBe("ann");
    const { entries } = await audit.page({ ...ALL, action: "sign-in" });
    expect(entries.filter(({ by }) => by === "reader")).toHaveLength(MAX_SIGN_INS);
    expect(entries.filter(({ by }) => by === "ann")).toMatchObject([{ outcome: "done" }]);
  });

  it("is read newest first, page by page, by operator, action and time", async () => {
    const { audit, ask } = startLog();
    for (const by of ["ann", "bob", "ann", "bob", "ann"]) {
      await ask(AUDIT_CALLS.begin, { ...ENTRY, by, action: by === "ann" ? "release" : "forget" });
    }
    const numbers: number[][] = [];
    let before: number | null = null;
    do {
      const page: Awaited<ReturnType<OperatorsAudit["page"]>> = await audit.page({
        ...ALL,
        by: "ann",
        limit: 2,
        before,
      });
      numbers.push(page.entries.map(({ number }) => number));
      before = page.next;
    } while (before !== null);
    expect(numbers).toEqual([[5, 3], [1]]);
    expect((await audit.page({ ...ALL, action: "forget" })).entries.map(({ number }) => number)).toEqual([4, 2]);
    expect((await audit.page({ ...ALL, since: Date.now() + 60_000 })).entries).toEqual([]);
  });

  it("goes on beyond what one call looks at", async () => {
    const { audit, ask, sql } = startLog();
    await ask(AUDIT_CALLS.begin, { ...ENTRY, by: "bob" });
    await sql(
      "INSERT INTO audit (at, operator, role, via, action, address) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) SELECT 0, 'ann', 'admin', 'token', 'drop', '' FROM n",
    );
    const first = await audit.page({ ...ALL, by: "bob" });
    expect(first).toEqual({ entries: [], next: 502 });
    const second = await audit.page({ ...ALL, by: "bob", before: first.next });
    expect(second).toMatchObject({ entries: [{ by: "bob" }], next: null });
  });
});

describe("an audited operator", () => {
  const operator = () => new ShardOperator(env.KEY_SHARD, []);

  it("changes nothing when the entry cannot be written", async () => {
    const inner = operator();
    const silent = auditedOperator(inner, new OperatorsAudit(() => Promise.reject(new Error("unreachable"))));
    const generation = await inner.sessions();
    await expect(silent.endSessions(ADMIN)).rejects.toThrow("unreachable");
    expect(await inner.sessions()).toBe(generation);
    await expect(silent.signIn(ADMIN)).rejects.toThrow("unreachable");
  });

  it("writes the entry before the change, and says of one without an answer that there was none", async () => {
    const { audit } = startLog();
    const seen: unknown[] = [];
    const change = async (): Promise<never> => {
      seen.push(...(await audit.page(ALL)).entries);
      throw new Error("no answer");
    };
    await expect(audit.record(ADMIN, "close-layout", { target: "64" }, change, () => "done")).rejects.toThrow();
    expect(seen).toMatchObject([{ by: "admin", action: "close-layout", target: "64", outcome: null }]);
    expect((await audit.page(ALL)).entries).toMatchObject([{ outcome: "no answer" }]);
  });

  // feature: callers begins
  it("writes no value of a scope, not even one that was typed in place of a part's name", async () => {
    const { audit } = startLog();
    const forget = scopeForgetter({ ...workerKernel(), audit });
    const scope = { "header:authorization": "Bearer confidential", "Bearer confidential": "x" };
    const forgetting = { scope, reason: "asked", isPreview: false, includesUnknown: false, cursor: null };
    expect(await forget.perform(forgetting, ADMIN)).toMatchObject({ kind: "refused", why: "no-scope" });
    await forget.perform({ ...forgetting, isPreview: true }, ADMIN);
    const { entries } = await audit.page(ALL);
    expect(entries).toMatchObject([{ action: "forget-scope", outcome: "refused: no-scope" }]);
    expect(JSON.stringify(entries)).not.toContain("confidential");
    expect(entries[0]?.target).toBe("header:authorization,(no part of a scope)");
  });
  // feature: callers ends

  // feature: bulk begins
  it("writes the filter of a change of all that match, with a digest of its key, and nothing of its preview", async () => {
    const { audit } = startLog();
    const changeAll = auditedAllChanger(allChanger(workerKernel()), audit);
    const filter = { states: [], route: null, since: null, until: null, key: "confidential", idPrefix: null };
    const change = {
      action: "forget",
      by: ADMIN,
      reason: "asked",
      response: null,
      filter,
      written: { key: "confidential", state: "failed" },
      until: epochMs(0),
      isPreview: false,
      cursor: null,
    } as const;
    expect(await changeAll(change)).toMatchObject({ kind: "done", matched: 0 });
    await changeAll({ ...change, isPreview: true });
    expect(await changeAll({ ...change, cursor: "x" })).toEqual({ kind: "no-cursor" });
    const { entries } = await audit.page(ALL);
    expect(entries).toMatchObject([
      { action: "forget-all", outcome: "refused: no-cursor" },
      { action: "forget-all", outcome: "done: 0 of 0 records, 0 refused, 0 skipped, 0 without an answer" },
    ]);
    expect(JSON.stringify(entries)).not.toContain("confidential");
    expect(entries[0]?.target).toMatch(/^preview=1970-01-01T00:00:00.000Z id=[0-9a-f]{32} state=failed$/);
  });
  // feature: bulk ends
});
