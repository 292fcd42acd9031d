// What `onceway plan` says of a record's rows and bytes, against a real object.

import { describe, expect, it } from "vitest";
import { COUNTS } from "../../../src/cli/operation-counts.ts";
import { bytesPerRecord, chunksOf } from "../../../src/cli/plan-cost.ts";
import { CountedShard } from "../support/counted-shard.ts";

/** The database grows by pages, so few small records would tell little. */
const SMALL = 100;
const LARGE = 20;

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
      for (let sent = 0; sent < records; sent += 1) await shard.send(crypto.randomUUID());
      const { rowsWritten } = shard.take();
      expect(rowsWritten).toBe(records * (COUNTS.first.rowsWritten + chunksOf(bytes)));
      const each = ((await size()) - before) / records;
      const planned = bytesPerRecord(bytes);
      expect(planned).toBeGreaterThanOrEqual(each);
      expect(planned).toBeLessThanOrEqual(each * 1.1 + 500);
    });
  },
);
