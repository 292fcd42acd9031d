// How long one turn of `forget --scope` holds a shard: the shard's own ledger and eraser in this process, over a file with the settings
// of a Durable Object's. The work is what its thread computes, so that other programs on the machine do not count; the time with its commit
// is what passes.
// `npm run bench -- forget [--records N] [--tmpfs]`

import { countedSteps } from "../../../../src/kernel/object/shard-traffic.ts";
import { outboxHooks } from "../../../../src/features/outbox/object/hooks.ts"; // feature: outbox
import { join } from "node:path";
import { parseArgs } from "node:util";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { nameRecord } from "../../../../src/kernel/request/record-name.ts";
import type { ObjectFeature } from "../../../../src/kernel/object-feature.ts";
import { ObjectAlarm } from "../../../../src/kernel/object/alarm.ts";
import { AttemptsInFlight } from "../../../../src/kernel/object/attempts-in-flight.ts";
import { RecordSteps } from "../../../../src/kernel/object/record-steps.ts";
import { DeadLetters } from "../../../../src/features/outbox/object/dead-letters.ts"; // feature: outbox
import { ScopeEraser, FIRST_ROW_LOCATION, RecordScan } from "../../../../src/features/callers/object/eraser.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { OwnedEvents } from "../../../../src/features/outbox/object/owned-events.ts"; // feature: outbox
import type { RowLocation } from "../../../../src/kernel/store/record-numbers.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { grouped } from "../../../support/progress.ts";
import { tailCell } from "../../../bench/quantiles.ts";
import { withFolder } from "../../../bench/records/folder.ts";
import { completedRecord } from "../../../bench/records/loader/completed-record.ts";
import { FileStorage } from "../../../bench/records/loader/file-storage.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts"; // feature: outbox

const { values: options } = parseArgs({
  options: { records: { type: "string", default: "10000" }, tmpfs: { type: "boolean", default: false } },
});

const LAYOUT = "1";
/** The one in `header:authorization`, and a former one. */
const CALLER = ["header:authorization", "Bearer caller"];
const FORMER = [...CALLER, "cookie:session", null];
const NOBODY = ["header:authorization", "Bearer nobody"];
const HEADERS = [["content-type", "application/json"]] as const;
const HOUR_MS = 3_600_000;
const RETENTION_MS = durationMs(24 * HOUR_MS);
/** Of all bodies of one size. */
const MAX_BYTES = 200_000_000;
/** The sizes of the bodies. */
const SIZES = [100, 15_000, 200_000] as const;

/** Loads `count` records; one in `every` is the caller's. */
async function load(file: string, size: number, count: number, every: number): Promise<void> {
  const loader = new FileStorage(file);
  const ledger = new Ledger(loader.ledgerStorage);
  const expiresAt = Date.now() + HOUR_MS;
  const keys = Array.from({ length: count }, () => crypto.randomUUID());
  const ids = await Promise.all(
    keys.map((key, at) =>
      nameRecord(key, at % every === 0 ? CALLER : ["header:authorization", `Bearer ${at}`], LAYOUT),
    ),
  );
  loader.transaction(() => {
    for (const [at, id] of ids.entries()) {
      const record = completedRecord(at, epochMs(expiresAt + at), RETENTION_MS);
      const body = { kind: "inline", bytes: new Uint8Array(size).fill(1) } as const;
      const response = { status: 201, statusText: "", headers: HEADERS, body };
      ledger.save(id, null, record, { response, label: { key: keys[at] ?? "", route: "/pay" } });
    }
  });
  loader.close();
}

interface Turn {
  readonly forgotten: number;
  readonly workMs: number;
  readonly wholeMs: number;
}

async function forget(file: string, scope: readonly string[], isPreview: boolean): Promise<readonly Turn[]> {
  const storage = new FileStorage(file, { isLikeObject: true });
  const ledger = new Ledger(storage.ledgerStorage);
  const { sql } = storage.ledgerStorage;
  const alarm = new ObjectAlarm(
    { setAlarm: () => Promise.resolve(), getAlarm: () => Promise.resolve(null) },
    () => null,
  );
  const traffic = new TrafficCounters();
  // feature: outbox begins
  const outbox = { eventsOf: () => [], published: () => undefined };
  const alerts = { ofStep: () => null, added: () => undefined, report: () => undefined };
  const store = new OutboxStore(ledger.tables);
  const events = new OwnedEvents(sql, store.events);
  // feature: outbox ends
  const steps = new RecordSteps({
    ledger,
    alarm,
    attempts: new AttemptsInFlight(),
    hooks: () => [
      ...outboxHooks({ store, outbox, alerts, deadLetters: new DeadLetters({ ledger, traffic, alerts }) }), // feature: outbox
      countedSteps(traffic),
    ],
    isVerifying: () => false,
  });
  const features = (): readonly ObjectFeature[] => [
    { name: "outbox", rowsOfRecords: (most) => events.slices(most) }, // feature: outbox
  ];
  const eraser = new ScopeEraser({ ledger, scan: new RecordScan(sql), features, steps });
  const scopes = [scope, FORMER];
  const asked = { scopes, scopeDigests: [], layout: LAYOUT, isPreview, includesUnknown: false, by: "", reason: "" };
  const turns: Turn[] = [];
  for (let from: RowLocation | null = FIRST_ROW_LOCATION; from !== null;) {
    sql.exec("BEGIN IMMEDIATE");
    const begun = performance.now();
    const used = process.threadCpuUsage();
    const { forgotten, next } = await eraser.erase({ ...asked, from });
    const { user, system } = process.threadCpuUsage(used);
    sql.exec("COMMIT");
    turns.push({ forgotten, workMs: (user + system) / 1000, wholeMs: performance.now() - begun });
    from = next;
  }
  storage.close();
  return turns;
}

function show(what: string, size: number, turns: readonly Turn[]): void {
  const forgotten = turns.reduce((sum, turn) => sum + turn.forgotten, 0);
  const [work, whole] = [turns.map(({ workMs }) => workMs), turns.map(({ wholeMs }) => wholeMs)];
  console.log(
    `| ${what} | ${grouped(size)} | ${grouped(turns.length)} | ${grouped(forgotten)} | ${tailCell(work)} | ${tailCell(whole)} |`,
  );
}

console.log("Milliseconds: median / 99 % / longest.\n");
console.log(
  "| a turn | bytes of a body | turns | records | work | with its commit |\n| --- | --- | --- | --- | --- | --- |",
);
for (const size of SIZES) {
  await withFolder(options.tmpfs, async (folder) => {
    const file = join(folder, "shard.sqlite");
    const count = Math.min(Number(options.records), MAX_BYTES / size);
    await load(file, size, count, 5);
    show("finds none", size, await forget(file, NOBODY, true));
    show("counts ten", size, await forget(file, CALLER, true));
    show("forgets ten", size, await forget(file, CALLER, false));
  });
}
