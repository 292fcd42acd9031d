// How long one turn of the alarm erases: the shard's own ledger in this process, over a file with the settings of a Durable Object's.
// A turn is timed with its commit.
// `npm run bench -- slices [--records N] [--tmpfs]`

import { hash } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Completed } from "../../../../src/kernel/record/record.ts";
import { durationMs, epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { CHUNK_BYTES, ERASE_ROWS } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { storedHeadText, type StoredBody } from "../../../../src/kernel/store/response-rows.ts";
import { grouped } from "../../../support/progress.ts";
import { tailCell } from "../../quantiles.ts";
import { withFolder } from "../folder.ts";
import { completedRecord } from "./completed-record.ts";
import { FileStorage } from "./file-storage.ts";

const { values: options } = parseArgs({
  options: { records: { type: "string", default: "100000" }, tmpfs: { type: "boolean", default: false } },
});

/** The size of the bodies, and of how many times fewer there are. */
const SIZES = [
  [100, 1],
  [2_000, 5],
  [15_000, 20],
  [20_000, 20],
  [200_000, 50],
  [5_000_000, 1000],
] as const;

const RETENTION_MS = durationMs(86_400_000);
const HEADERS = [["content-type", "application/json"]] as const;
const AT_ONCE = 1000;

function expired(number: number): Completed {
  return completedRecord(number, epochMs(1_700_000_000_000), RETENTION_MS);
}

function bodyIn(ledger: Ledger, size: number): StoredBody {
  if (size <= CHUNK_BYTES) return { kind: "inline", bytes: new Uint8Array(size).fill(1) };
  const body = ledger.bodies.allot();
  const count = Math.ceil(size / CHUNK_BYTES);
  for (let chunk = 0; chunk < count; chunk += 1) {
    const bytes = new Uint8Array(Math.min(CHUNK_BYTES, size - chunk * CHUNK_BYTES)).fill(1);
    ledger.bodies.append(body, chunk, bytes, chunk === 0 ? storedHeadText({ headers: HEADERS }) : null);
  }
  return { kind: "chunks", body, count, size };
}

function measure(file: string, size: number, count: number): void {
  const loader = new FileStorage(file);
  const source = new Ledger(loader.ledgerStorage);
  for (let at = 0; at < count; at += AT_ONCE) {
    loader.transaction(() => {
      for (let number = at; number < Math.min(count, at + AT_ONCE); number += 1) {
        const response = { status: 201, statusText: "", headers: HEADERS, body: bodyIn(source, size) };
        source.save(recordId(hash("sha256", String(number))), null, expired(number), { response });
      }
    });
  }
  loader.close();
  const storage = new FileStorage(file, { isLikeObject: true });
  const ledger = new Ledger(storage.ledgerStorage);
  const work: number[] = [];
  const turns: number[] = [];
  const turn = (): boolean => {
    const begun = performance.now();
    let erased = 0;
    storage.transaction(() => {
      ledger.bodies.eraseSome();
      erased = ledger.expired.erase(epochMs(Date.now()), ERASE_ROWS);
      work.push(performance.now() - begun);
    });
    turns.push(performance.now() - begun);
    return erased > 0 || ledger.bodies.hasErasable();
  };
  while (turn());
  storage.close();
  console.log(
    `| ${grouped(size)} | ${grouped(count)} | ${grouped(turns.length)} | ${tailCell(work)} | ${tailCell(turns)} |`,
  );
}

console.log("Milliseconds: median / 99 % / longest.\n");
console.log("| bytes of a body | records | turns | work | with its commit |\n| --- | --- | --- | --- | --- |");
for (const [size, fewer] of SIZES) {
  await withFolder(options.tmpfs, async (folder) => {
    measure(join(folder, "shard.sqlite"), size, Math.ceil(Number(options.records) / fewer));
  });
}
