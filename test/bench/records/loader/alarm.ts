// What one alarm costs by the number of attempts in flight: with nothing due, and with one lost attempt whose lock has ended. The
// shard's own ledger, exchanges and alarm in this process, over a file.
// `npm run bench -- alarm`

import { hash, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Started } from "../../../../src/kernel/record/record.ts";
import {
  attemptId,
  durationMs,
  type EpochMs,
  epochMs,
  fingerprint,
  type RecordId,
  recordId,
} from "../../../../src/kernel/record/units.ts";
import { ObjectAlarm } from "../../../../src/kernel/object/alarm.ts";
import { doDueWork } from "../../../../src/kernel/due.ts";
import { ExchangeRunner } from "../../../../src/kernel/object/exchanges.ts";
import { IsolateWork } from "../../../../src/kernel/object/isolate-work.ts";
import { AttemptHeartbeat } from "../../../../src/kernel/object/heartbeat.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { REACHABILITY } from "../../../simulation/stand-ins.ts";
import { grouped } from "../../../support/progress.ts";
import { median } from "../../quantiles.ts";
import { FileStorage } from "./file-storage.ts";
import { withFolder } from "../folder.ts";

const IN_FLIGHT = [1, 100, 10_000];
const ALARMS = 2000;
const HOUR_MS = 3_600_000;

const idOf = (name: string): RecordId => recordId(hash("sha256", name));

function claim(lockedUntil: EpochMs): Started {
  const policy = {
    unknown: "hold",
    lockMs: durationMs(40_000),
    retentionMs: durationMs(24 * HOUR_MS),
    unknownRetentionMs: durationMs(24 * HOUR_MS),
  } as const;
  const startedAt = epochMs(lockedUntil - 40_000);
  const attempt = { id: attemptId(randomUUID()), number: 1, startedAt, lockedUntil, mayHaveActed: false };
  return { state: "started", fingerprint: fingerprint(hash("sha256", "print")), attempt, policy };
}

/** Medians in microseconds. */
function measure(file: string, inFlight: number): { readonly nothing: number; readonly one: number } {
  const storage = new FileStorage(file, { isLikeObject: true });
  const ledger = new Ledger(storage.ledgerStorage);
  const timers = new ObjectTimers();
  const alarm = new ObjectAlarm({ setAlarm: () => Promise.resolve(), getAlarm: () => Promise.resolve(null) }, () =>
    exchanges.nextDeadline(),
  );
  const waitUntil = (): void => undefined;
  const exchanges = new ExchangeRunner(
    {
      ledger,
      alarm,
      reachability: REACHABILITY,
      target: () => null,
      limiter: () => null,
      shard: "shard",
      sync: () => Promise.resolve(),
      waitUntil,
      isolate: new IsolateWork(),
      heartbeat: new AttemptHeartbeat(timers, () => Promise.resolve()),
      timers,
      reporter: new ExchangeReporter("shard", new TrafficCounters()),
      env: {},
      storage: storage.ledgerStorage,
    },
    [],
  );
  const begun = Date.now();
  storage.transaction(() => {
    for (let number = 0; number < inFlight; number += 1) {
      ledger.save(idOf(`living ${number}`), null, claim(epochMs(begun + HOUR_MS + number)));
    }
  });
  const times = (prepare: (turn: number) => void): number => {
    const all: number[] = [];
    for (let turn = 0; turn < ALARMS; turn += 1) {
      prepare(turn);
      const now = epochMs(Date.now());
      const from = performance.now();
      doDueWork(exchanges.dues, alarm, now, now);
      all.push(1000 * (performance.now() - from));
    }
    return median(all);
  };
  times(() => undefined);
  const nothing = times(() => undefined);
  const one = times((turn) => ledger.save(idOf(`lost ${turn}`), null, claim(epochMs(begun - 1))));
  storage.close();
  return { nothing, one };
}

console.log("| attempts in flight | alarm with nothing due | with one lock that has ended |\n| --- | --- | --- |");
for (const inFlight of IN_FLIGHT) {
  await withFolder(true, async (folder) => {
    const { nothing, one } = measure(join(folder, "shard.sqlite"), inFlight);
    console.log(`| ${grouped(inFlight)} | ${nothing.toFixed(0)} µs | ${one.toFixed(0)} µs |`);
  });
}
