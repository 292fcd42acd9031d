// What the ledger's look-up costs among rows of one size: with the response in the record's row, and apart from it. So the bound
// `IN_ROW_BYTES` of the store is found. Needs no gateway; SQLite has the cache that it has in a Durable Object.
// `npm run bench -- rows [--records N] [--bytes N,N] [--json FILE]`

import { hash, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Completed } from "../../../../src/kernel/record/record.ts";
import { bodyNumber, durationMs, epochMs, type RecordId, recordId } from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { NUMBER } from "../../../../src/kernel/store/record-numbers.ts";
import { storedHeadText, IN_ROW_BYTES, type StoredResponse } from "../../../../src/kernel/store/response-rows.ts";
import { grouped, Progress } from "../../../support/progress.ts";
import { completedRecord } from "./completed-record.ts";
import { FileStorage } from "./file-storage.ts";
import { withFolder } from "../folder.ts";

const { values: options } = parseArgs({
  options: { records: { type: "string", default: "200000" }, bytes: { type: "string" }, json: { type: "string" } },
});

const records = Number(options.records);
/** Headers and body. */
const sizes = (options.bytes ?? "300,1024,2048,4096,8192,16384,65536,200000").split(",").map(Number);
/** Larger rows are fewer, so that a file stays below what an object may have on Cloudflare. */
const MAX_FILE_BYTES = 10e9;

const LOOK_UPS = 2000;
const AT_ONCE = 10_000;
/** A retention of a day has eight buckets. */
const WIDTH_MS = 10_800_000;
const BUCKETS = Array.from({ length: 8 }, (_, eighth) => (166_667 + eighth) * WIDTH_MS);
const RETENTION_MS = durationMs(8 * WIDTH_MS);

const HEADERS: StoredResponse["headers"] = [
  ["content-type", "application/json"],
  ["cache-control", "no-store"],
  ["date", "Tue, 14 Nov 2023 22:13:20 GMT"],
  ["x-request-id", "req_8f3a2b1c9d"],
];
const HEAD_BYTES = storedHeadText({ headers: HEADERS }).length;

interface LookUps {
  readonly us: number;
  /** Reads of the file: one for each page that is not in SQLite's cache. */
  readonly pages: number;
}

interface Measured {
  readonly bytes: number;
  readonly place: "row" | "apart";
  readonly records: number;
  readonly fileMb: number;
  /** Of a record that is there, with its small response; of one that is not. */
  readonly hit: LookUps;
  readonly miss: LookUps;
}

const idOf = (number: number): RecordId => recordId(hash("sha256", `record-${number}`));

function recordAt(number: number): Completed {
  return completedRecord(number, epochMs((BUCKETS[number % BUCKETS.length] ?? 0) - 1), RETENTION_MS);
}

/** Fills a file. The ledger itself would put larger responses apart, so they are put into their rows afterwards. */
function fill(file: string, count: number, bodyBytes: number, place: Measured["place"]): void {
  const storage = new FileStorage(file);
  const ledger = new Ledger(storage.ledgerStorage);
  const { sql } = storage.ledgerStorage;
  const body = new Uint8Array(bodyBytes).fill(7);
  const small = { kind: "inline", bytes: new Uint8Array() } as const;
  const bar = new Progress(`${bodyBytes + HEAD_BYTES} bytes, ${place}`, count, { unit: "records" });
  for (let at = 0; at < count; at += AT_ONCE) {
    const end = Math.min(count, at + AT_ONCE);
    storage.transaction(() => {
      for (let number = at; number < end; number += 1) {
        const id = idOf(number);
        const record = recordAt(number);
        const label = { key: randomUUID(), route: "/v1/payments/*" };
        const own = bodyNumber(number + 1);
        if (place === "apart") ledger.bodies.append(own, 0, body, storedHeadText({ headers: HEADERS }));
        const chunk = { kind: "chunks", body: own, count: 1, size: bodyBytes } as const;
        const response = {
          status: 201,
          statusText: "Created",
          headers: HEADERS,
          body: place === "row" ? small : chunk,
        };
        ledger.save(id, null, record, { response, label });
        if (place === "apart") continue;
        const found = ledger.find(id);
        if (found === null) throw new Error(`${id} is gone`);
        const { expiryBucket, slot } = found.rowLocation;
        const put = `UPDATE records SET body = ?, body_bytes = ? WHERE number = ${NUMBER} AND id = ?`;
        const { rowsWritten } = sql.exec(put, body.buffer, bodyBytes, expiryBucket, slot, id);
        if (rowsWritten !== 1) throw new Error(`no row of ${id}`);
      }
    });
    bar.show(end);
  }
  bar.end();
  storage.close();
}

/** How often this process has read from a file. */
function reads(): number {
  return Number(/syscr: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

function lookUp(ledger: Ledger, ids: readonly RecordId[], isThere: boolean): LookUps {
  const times: number[] = [];
  const before = reads();
  for (const id of ids) {
    const begun = performance.now();
    const entry = ledger.find(id);
    times.push(performance.now() - begun);
    if ((entry !== null) !== isThere) throw new Error(`${id} is ${isThere ? "gone" : "there"}`);
  }
  const pages = (reads() - before) / ids.length;
  const sorted = times.toSorted((one, other) => one - other);
  return { us: 1000 * (sorted[Math.floor(sorted.length / 2)] ?? 0), pages };
}

function measure(folder: string, bytes: number, place: Measured["place"]): Measured {
  const count = Math.min(records, Math.floor(MAX_FILE_BYTES / (bytes + 1000)));
  const file = join(folder, `${bytes}-${place}.sqlite`);
  fill(file, count, bytes - HEAD_BYTES, place);
  const storage = new FileStorage(file, { isLikeObject: true });
  const ledger = new Ledger(storage.ledgerStorage);
  const some = (prefix: (number: number) => RecordId): readonly RecordId[] =>
    Array.from({ length: LOOK_UPS }, () => prefix(Math.floor(Math.random() * count)));
  const absent = (number: number): RecordId => idOf(count + number);
  lookUp(ledger, some(idOf), true);
  const hit = lookUp(ledger, some(idOf), true);
  const miss = lookUp(ledger, some(absent), false);
  storage.close();
  return { bytes, place, records: count, fileMb: statSync(file).size / 1e6, hit, miss };
}

function row({ bytes, place, records: count, fileMb, hit, miss }: Measured): string {
  const costs = [hit, miss].map(({ us, pages }) => `${us.toFixed(0)} µs, ${pages.toFixed(1)} pages`);
  const where = place === "row" ? "in the row" : "apart";
  return `| ${grouped(bytes)} | ${where} | ${grouped(count)} | ${grouped(fileMb)} | ${costs.join(" | ")} |`;
}

const all: Measured[] = [];
console.log(`The store puts more than ${IN_ROW_BYTES} bytes apart. ${LOOK_UPS} look-ups each, medians.\n`);
console.log(
  "| bytes of headers and body | | records | file, MB | found | not found |\n| --- | --- | --- | --- | --- | --- |",
);
for (const bytes of sizes) {
  for (const place of ["row", "apart"] as const) {
    await withFolder(false, async (folder) => {
      const measured = measure(folder, bytes, place);
      console.log(row(measured));
      all.push(measured);
    });
  }
}
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(all, null, 2)}\n`);
