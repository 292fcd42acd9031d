// The Durable Object: one shard, many records. It only connects: the ledger and the alarm with the exchanges, and all of them with the
// object's callers, through one table of calls.

import { connect } from "cloudflare:sockets";
import { objectFeatures, objectFunctions } from "../features/object.ts";
import { answerCall, CallTable } from "../kernel/call.ts";
import { epochMs } from "../kernel/record/units.ts";
import { Ledger } from "../kernel/store/ledger.ts";
import { RecordList } from "../kernel/store/record-list.ts";
import type { LedgerSql } from "../kernel/store/schema.ts";
import { storeSync } from "../kernel/store/store-error.ts";
import { heldRows } from "../kernel/store/tables.ts";
import { KnownRows } from "../kernel/store/known-rows.ts";
import { ExchangeReporter, type ObjectPlace } from "../kernel/traffic/exchange-reporter.ts";
import { ObjectAlarm } from "../kernel/object/alarm.ts";
import { IsolateWork } from "../kernel/object/isolate-work.ts";
import { bindingIn, limiterIn } from "../kernel/object/bindings.ts";
import { doDueWork } from "../kernel/due.ts";
import { ObjectGatherer } from "../kernel/object/gatherer.ts";
import { REPORT_CALL } from "../kernel/object/gathering.ts";
import { exchangeCalls } from "../kernel/object/exchange-calls.ts";
import { ExchangeRunner } from "../kernel/object/exchanges.ts";
import { AttemptHeartbeat } from "../kernel/object/heartbeat.ts";
import { ITTY_URL, ittyDurable } from "../kernel/object/itty.ts";
import { ALIVE_CALL, askAnother, callItself } from "../kernel/object/call-shard.ts";
import { OPERATOR_CALLS, OperatorCalls, type ShardNumbers } from "../kernel/object/operator-calls.ts";
import { originTarget } from "../kernel/object/origin-call.ts";
import { type KnownOrigins, OriginReachability } from "../kernel/object/reachability.ts";
import { ShardTraffic } from "../kernel/object/shard-traffic.ts";
import { ObjectTimers } from "../kernel/object/timers.ts";
import { ShardTotals } from "../kernel/object/totals.ts";

/** Knowledge about the origins, shared by all shards of an isolate. */
const origins: KnownOrigins = new Map();

/** What all shards of an isolate do. */
const isolate = new IsolateWork();

export class KeyShard extends ittyDurable() {
  /** For the host that runs this isolate and is about to end it. */
  static endIsolate(): Response {
    return isolate.end();
  }

  readonly #alarm: ObjectAlarm;
  readonly #exchanges: ExchangeRunner;
  readonly #calls: CallTable;

  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    super(state, {});
    const { storage } = state;
    const ledger = new Ledger(storage, bindingIn(env, "BODIES"), (afterMs) =>
      this.#alarm.moveTo(epochMs(Date.now() + afterMs)),
    );
    this.#alarm = new ObjectAlarm(storage, () => this.#exchanges.nextDeadline());
    const timers = new ObjectTimers();
    const place = objectFunctions.placeOf?.(env) ?? null;
    const isBusy = (): boolean => this.#exchanges.attempts.count > 0;
    const totals = new KnownRows(storage.sql, "totals");
    const traffic = new ShardTraffic({ counts: ledger.counts, totals, timers, isBusy, name: state.id.name });
    this.#exchanges = new ExchangeRunner(
      {
        ledger,
        alarm: this.#alarm,
        reachability: new OriginReachability(origins, ledger.addresses, timers, connect),
        target: (origin) => originTarget(origin, env, state.exports),
        sync: storeSync(() => storage.sync()),
        waitUntil: (promise) => state.waitUntil(promise),
        isolate,
        heartbeat: new AttemptHeartbeat(timers, () => callItself(state, env)),
        timers,
        limiter: (binding) => limiterIn(env, binding),
        shard: state.id.name ?? "",
        env,
        storage,
        reporter: reporterOf(state.id.name ?? "", traffic, env, place),
      },
      objectFeatures,
      objectFunctions,
    );
    const { steps, actions, features } = this.#exchanges;
    const operator = new OperatorCalls({
      kept: storage.kv,
      ledger,
      list: new RecordList(storage.sql, ledger.numbers),
      steps,
      closing: () => actions.closing?.() ?? null,
      place,
      databaseBytes: () => storage.sql.databaseSize,
      placesTaken: () => this.#exchanges.attempts.accepted,
      verificationEnd: (id) => this.#exchanges.verificationEnd(id),
      held: () => heldRows(storage.sql),
      left: () => traffic.left(Date.now()),
      timers,
    });
    const numbers = async (): Promise<ShardNumbers> => ({
      ...(await operator.countsAndPlace()),
      ...traffic.numbers(),
      callsInFlight: this.#exchanges.attempts.count,
      overdueMs: this.#exchanges.overdueMs(),
      features: Object.fromEntries(features.map((feature) => [feature.name, feature.numbers?.() ?? null])),
    });
    this.#calls = new CallTable([
      ...exchangeCalls(this.#exchanges, ledger.bodies, timers, objectFunctions),
      ...traffic.calls,
      ...operator.calls,
      ...features.flatMap(({ calls = [] }) => calls),
      ...gathererOf(storage.sql, env).calls,
      answerCall(OPERATOR_CALLS.numbers, numbers),
      answerCall(REPORT_CALL, async ({ hoursFrom }) => ({
        numbers: await numbers(),
        hours: traffic.lastDay(Date.now()).filter(({ at }) => at >= hoursFrom),
      })),
      answerCall(ALIVE_CALL, () => undefined),
    ]);
  }

  override async fetch(request: Request): Promise<Response> {
    return request.url === ITTY_URL ? super.fetch(request) : this.#calls.respond(request);
  }

  /** A small question, through itty-durable. */
  async ask(name: string, question: string): Promise<unknown> {
    return (await this.#calls.ask(name, question === "" ? undefined : JSON.parse(question))) ?? null;
  }

  alarm(info?: AlarmInvocationInfo): void {
    const now = epochMs(Date.now());
    const firedFor = info === undefined ? now : epochMs(info.scheduledTime);
    doDueWork(this.#exchanges.dues, this.#alarm, now, firedFor);
  }
}

function reporterOf(
  name: string,
  { own }: ShardTraffic,
  env: Readonly<Record<string, unknown>>,
  place: ObjectPlace | null,
): ExchangeReporter {
  return new ExchangeReporter(name, own, {
    dataset: bindingIn(env, "METRICS"),
    ...(place === null ? null : { place }),
  });
}

/** An object that gathers keeps no records and adds up for nobody else. */
function gathererOf(sql: LedgerSql, env: Readonly<Record<string, unknown>>): ObjectGatherer {
  return new ObjectGatherer({
    rows: new KnownRows(sql, "gathered"),
    totals: new ShardTotals(new KnownRows(sql, "totals")),
    ask: (address, question) => askAnother(env, address, REPORT_CALL, question),
  });
}
