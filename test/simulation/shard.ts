// One instance of a shard over the simulated disk: the gateway's own exchanges, ledger and alarm, wired as the object
// class wires them. When the instance is dead, its storage refuses everything.

import { type JsonCall, CallTable } from "../../src/kernel/call.ts";
import { epochMs } from "../../src/kernel/record/units.ts";
import { ObjectAlarm } from "../../src/kernel/object/alarm.ts";
import { doDueWork } from "../../src/kernel/due.ts";
import type { RequestSignal, ExchangePorts } from "../../src/kernel/object/exchange-ports.ts";
import { ExchangeRunner } from "../../src/kernel/object/exchanges.ts";
import type { RequestBody } from "../../src/kernel/body/request-body.ts";
import { IsolateWork } from "../../src/kernel/object/isolate-work.ts";
import { AttemptHeartbeat } from "../../src/kernel/object/heartbeat.ts";
import { type ShardCounts, OperatorCalls } from "../../src/kernel/object/operator-calls.ts";
import type { ObjectFeatures } from "../../src/kernel/object-feature.ts";
import type { ExchangeHead } from "../../src/kernel/request/message.ts";
import { Ledger } from "../../src/kernel/store/ledger.ts";
import { RecordList } from "../../src/kernel/store/record-list.ts";
import { preferredSlotOf, type PreferredSlots, WHOLE_BUCKET } from "../../src/kernel/store/record-numbers.ts";
import { makeAliasesTable } from "../../src/kernel/store/schema.ts";
import { CLOSED_BEFORE_TABLE } from "../../src/features/previous-shards/object/closed-before.ts"; // feature: previous-shards
import { CLOSED_TABLE } from "../../src/features/previous-shards/object/closed-object.ts"; // feature: previous-shards
import { heldRows } from "../../src/kernel/store/tables.ts";
import { ObjectTimers } from "../../src/kernel/object/timers.ts";
import { NOTHING_COUNTED } from "../../src/kernel/object/totals.ts";
import { TrafficCounters } from "../../src/kernel/traffic/traffic.ts";
import { ExchangeReporter } from "../../src/kernel/traffic/exchange-reporter.ts";
import type { Bucket } from "./bucket.ts";
import { Disk } from "./disk.ts";
import { FUNCTIONS } from "./features.ts";
import { bucketOf, NO_KEPT, REACHABILITY, storageOn } from "./stand-ins.ts";

/** What the rest of the world is to a shard. */
export interface ShardWorld {
  readonly disk: Disk;
  readonly bucket: Bucket | null;
  readonly target: ExchangePorts["target"];
  readonly sync: () => Promise<void>;
  readonly limiter: ExchangePorts["limiter"];
  readonly features: ObjectFeatures;
  readonly env: Readonly<Record<string, unknown>>;
}

/** How long the alarm waits after its work failed. */
const ALARM_RETRY_MS = 5000;

/** The first or the last slot, so that many records find their home taken. */
const CROWDED_HOMES: PreferredSlots = {
  of: (id) => (preferredSlotOf(id) % 2 === 0 ? 0 : 2 ** 31 - 1),
  range: () => WHOLE_BUCKET,
};

export class Shard {
  readonly exchanges: ExchangeRunner;
  readonly #disk: Disk;
  readonly #ledger: Ledger;
  readonly #alarm: ObjectAlarm;
  readonly #operator: OperatorCalls;
  readonly #calls: CallTable;
  #isAlive = true;
  /** For when the alarm stands whose handler runs; `null` when none does. */
  #handledMs: number | null = null;

  constructor({ disk, bucket, target, sync, limiter, features, env }: ShardWorld) {
    this.#disk = disk;
    const setAlarm = (ms: number): void => {
      // Within its own handler the platform drops an alarm for no later time than the one that runs.
      if (this.#handledMs === null || ms > this.#handledMs) disk.setAlarm(ms);
    };
    const storage = storageOn(disk, () => this.#isAlive, setAlarm);
    const wake = (afterMs: number): void => this.#alarm.moveTo(epochMs(Date.now() + afterMs));
    this.#ledger = new Ledger(storage, bucketOf(bucket), wake, CROWDED_HOMES);
    this.#alarm = new ObjectAlarm(storage, () => this.exchanges.nextDeadline());
    const timers = new ObjectTimers();
    this.exchanges = new ExchangeRunner(
      {
        ledger: this.#ledger,
        alarm: this.#alarm,
        reachability: REACHABILITY,
        target,
        sync,
        waitUntil: () => undefined,
        isolate: new IsolateWork(),
        heartbeat: new AttemptHeartbeat(timers, () => Promise.resolve()),
        timers,
        reporter: new ExchangeReporter("shard", new TrafficCounters()),
        limiter,
        shard: "shard",
        env,
        storage,
      },
      features,
      FUNCTIONS,
    );
    const { steps, actions } = this.exchanges;
    this.#calls = new CallTable(this.exchanges.features.flatMap(({ calls = [] }) => calls));
    this.#operator = new OperatorCalls({
      kept: NO_KEPT,
      ledger: this.#ledger,
      list: new RecordList(storage.sql, this.#ledger.numbers),
      steps,
      closing: () => actions.closing?.() ?? null,
      place: null,
      databaseBytes: () => 0,
      placesTaken: () => this.exchanges.attempts.accepted,
      verificationEnd: (id) => this.exchanges.verificationEnd(id),
      held: () => heldRows(storage.sql),
      left: () => ({ since: NOTHING_COUNTED, routes: [], dayRequests: 0 }),
      timers,
    });
  }

  /** What is asked of the object's features. */
  ask<In, Out>({ name }: JsonCall<In, Out>, verification: In): Out | Promise<Out> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both sides take the types from the call
    return this.#calls.ask(name, verification) as Out | Promise<Out>;
  }

  /** The same of a call that is answered at once. */
  askNow<In, Out>(call: JsonCall<In, Out>, verification: In): Out {
    const answer = this.ask(call, verification);
    if (answer instanceof Promise) throw new TypeError(`${call.name} is not answered at once`);
    return answer;
  }

  /** What an operator is told of the object. */
  counts(): ShardCounts {
    return this.#operator.counts();
  }

  run(head: ExchangeHead, body: RequestBody, caller: RequestSignal): Promise<Response> {
    return this.exchanges.run(head, body, caller);
  }

  /** What the object class does when its alarm comes. Tells until when the next may stay away; `null` if it may not. */
  async alarm(scheduledMs: number): Promise<number | null> {
    this.#handledMs = scheduledMs;
    const now = epochMs(Date.now());
    doDueWork(this.exchanges.dues, this.#alarm, now, epochMs(scheduledMs));
    this.#handledMs = null;
    return this.#disk.alarmMs === now + ALARM_RETRY_MS ? this.#disk.alarmMs : null;
  }

  die(): void {
    this.#isAlive = false;
  }
}

/**
 * A disk with the gateway's tables, all empty, and those for a change of the layout, because making tables takes longer than everything else in an
 * interleaving.
 */
export function freshDisk(hasTriggers = true): Disk {
  const disk = new Disk(hasTriggers);
  const isAlive = (): boolean => true;
  const storage = storageOn(disk, isAlive, () => undefined);
  if (new Ledger(storage).inFlight().length > 0) throw new Error("a fresh disk has a record");
  if (!hasTriggers) makeAliasesTable(storage.sql);
  storage.sql.exec(CLOSED_TABLE); // feature: previous-shards
  storage.sql.exec(CLOSED_BEFORE_TABLE); // feature: previous-shards
  disk.commit();
  return disk;
}
