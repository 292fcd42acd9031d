// What routes keep of bodies for operators, in workerd: no longer than its time, and no longer than its record.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { writeNote } from "../../../../src/kernel/record/request-note.ts";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import type { RecordLabel } from "../../../../src/kernel/store/label.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { freshId, HOUR_MS, nextDeadline, NOW, started } from "../../../support/integration/records.ts";

function inShard<T>(run: (ledger: Ledger, storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(new Ledger(storage), storage));
}

const REQUEST = { method: "POST", target: "/", sizeBytes: 9, caller: null, label: null };

/** Claims a record that keeps an excerpt until then. */
function keep(
  ledger: Ledger,
  until: number,
  id: RecordId = freshId(),
): { readonly id: RecordId; readonly label: RecordLabel } {
  const label = { key: "k", route: "/", note: writeNote({ ...REQUEST, excerptUntil: until }) };
  ledger.save(id, ledger.find(id), started(), { label, excerpt: { until, text: `until ${until}` } });
  return { id, label };
}

function stored({ sql }: DurableObjectStorage): readonly unknown[] {
  return sql.exec("SELECT text FROM excerpts ORDER BY until").toArray();
}

it("an excerpt is read until its time is over, and erased soon after", () =>
  inShard((ledger, storage) => {
    const until = NOW + HOUR_MS;
    const { id, label } = keep(ledger, until);
    keep(ledger, until + 1);
    expect(ledger.excerpts.find(id, label, epochMs(until - 1))).toEqual({ until, text: `until ${until}` });
    expect(ledger.excerpts.find(id, label, epochMs(until))).toBeNull();
    const eraseAt = ledger.excerpts.eraseAt() ?? NOW;
    expect(eraseAt).toBeGreaterThanOrEqual(until);
    expect(eraseAt).toBeLessThanOrEqual(until + 60_000);
    expect(nextDeadline(ledger)).toBeLessThanOrEqual(eraseAt);
    ledger.excerpts.eraseSome(eraseAt, 100);
    expect(stored(storage)).toEqual([]);
    expect(new Ledger(storage).excerpts.eraseAt()).toBeNull();
  }));

it("an excerpt goes with its record, and the next claim's replaces it", () =>
  inShard((ledger, storage) => {
    const { id } = keep(ledger, NOW + 1);
    keep(ledger, NOW + 2, id);
    expect(stored(storage)).toEqual([{ text: `until ${NOW + 2}` }]);
    ledger.save(id, ledger.find(id), null);
    expect(stored(storage)).toEqual([]);
  }));

it("many are erased some at a time", () =>
  inShard((ledger, storage) => {
    for (let at = 1; at <= 10; at += 1) keep(ledger, NOW + at);
    ledger.excerpts.eraseSome(epochMs(NOW + 100), 3);
    expect(stored(storage)).toHaveLength(6);
    ledger.excerpts.eraseSome(epochMs(NOW + 100), 100);
    expect(stored(storage)).toEqual([]);
  }));
