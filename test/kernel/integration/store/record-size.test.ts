// What the page of the settings says of a record's rows and bytes, against a real object.

import { describe, expect, it } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { bytesPerRecord, chunksOf, REMEMBERED_BYTES } from "../../../bench/cost/cost.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import { durationMs, epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { completed, HOUR_MS, NOW, policy, started } from "../../../support/integration/records.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";

/** The database grows by pages, so few small records would tell little. */
const SMALL = 100;
const LARGE = 20;

it("takes not more than the planned bytes of what is left of a record whose key is remembered", async () => {
  const shard = new CountedShard();
  await shard.begin();
  const claim = started();
  const { record } = step(
    completed({ ...claim, policy: { ...policy, rememberMs: durationMs(1000 * HOUR_MS) } }),
    { type: "tick" },
    policy,
    epochMs(NOW + 24 * HOUR_MS),
  );
  const each = await shard.within((ledger, { sql }) => {
    const before = sql.databaseSize;
    const label = { key: crypto.randomUUID(), route: "/protected/*" };
    for (let more = 0; more < 10 * SMALL; more += 1) {
      ledger.save(recordId(hexadecimal()), null, record, { label });
    }
    return (sql.databaseSize - before) / (10 * SMALL);
  });
  expect(record?.state).toBe("remembered");
  expect(REMEMBERED_BYTES).toBeGreaterThanOrEqual(each);
  expect(REMEMBERED_BYTES).toBeLessThanOrEqual(each * 1.1 + 500);
});

function hexadecimal(): string {
  return `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "");
}

describe.each([0, 400, 1000, 2500, 4000, 16_000, 17_000, 200_000, 300_000, 1_000_000])(
  "a response of %d bytes",
  (bytes) => {
    it("takes the planned rows, and not more than the planned bytes", async () => {
      const shard = new CountedShard();
      await shard.begin();
      const headers = { "content-type": "application/json", "request-id": "req_7d1f" };
      shard.origin = () => new Response(new Uint8Array(bytes), { headers });
      const size = (): Promise<number> => shard.within((_ledger, { sql }) => sql.databaseSize);
      const before = await size();
      shard.take();
      const records = bytes > 100_000 ? LARGE : SMALL;
      // The same keys each time, since the database's pages fill by where their records lie.
      for (let sent = 0; sent < records; sent += 1) await shard.send(`key-${String(sent).padStart(32, "0")}`);
      const { rowsWritten } = shard.take();
      expect(rowsWritten).toBe(records * (COUNTS.first.rowsWritten + chunksOf(bytes)));
      const each = ((await size()) - before) / records;
      const planned = bytesPerRecord(bytes);
      expect(planned).toBeGreaterThanOrEqual(each);
      expect(planned).toBeLessThanOrEqual(each * 1.1 + 500);
    });
  },
);
