// The Durable Object: one shard, many records. It only connects: the ledger and the alarm with the exchanges, and all of them with the
// object's callers, through one table of calls.

import { auditCalls, AuditLog } from "../../features/audit/object/audit.ts";
import { ERASE_SCOPE_CALL, ScopeEraser } from "../../features/callers/object/eraser.ts";
import { RecordScan } from "../../features/callers/object/record-scan.ts";
import { claimCalls } from "../../features/claims/object/calls.ts";
import { ClaimList } from "../../features/claims/object/claim-list.ts";
import { Claims } from "../../features/claims/object/claims.ts";
import { OutboxCalls } from "../../features/outbox/object/calls.ts";
import { OwnedEvents } from "../../features/outbox/object/owned-events.ts";
import { alertReceivers, eventTarget } from "../../features/outbox/object/target.ts";
import { deliveryCalls } from "../../features/queues/object/deliveries.ts";
import { answered, CallTable } from "../call.ts";
import { epochMs } from "../record/units.ts";
import { Ledger } from "../store/ledger.ts";
import { RecordList } from "../store/record-list.ts";
import { storeSync } from "../store/store-error.ts";
import { heldRows } from "../store/tables.ts";
import { TotalRows } from "../store/totals.ts";
import { ExchangeReporter } from "../traffic/exchange-reporter.ts";
import { Alarm } from "./alarm.ts";
import { bindingIn, limiterIn } from "./bindings.ts";
import { doDueWork } from "./due-work.ts";
import { exchangeCalls } from "./exchange-calls.ts";
import { Exchanges } from "./exchanges.ts";
import { Heartbeat } from "./heartbeat.ts";
import { ITTY_URL, ittyDurable } from "./itty.ts";
import { ALIVE_CALL, askElder, callItself } from "./object-calls.ts";
import { OPERATOR_CALLS, OperatorCalls, type ShardNumbers } from "./operator-calls.ts";
import { originTarget } from "./origin-call.ts";
import { type Origins, Reachability } from "./reachability.ts";
import { ShardTraffic } from "./shard-traffic.ts";
import { Timers } from "./timers.ts";

/** Knowledge about the origins, shared by all shards of an isolate. */
const origins: Origins = new Map();

export class KeyShard extends ittyDurable() {
  readonly #ledger: Ledger;
  readonly #alarm: Alarm;
  readonly #exchanges: Exchanges;
  readonly #calls: CallTable;
  readonly #waitUntil: (promise: Promise<unknown>) => void;

  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    super(state, {});
    const { storage } = state;
    this.#waitUntil = (promise) => state.waitUntil(promise);
    this.#ledger = new Ledger(storage, bindingIn(env, "BODIES"), (afterMs) =>
      this.#alarm.moveTo(epochMs(Date.now() + afterMs)),
    );
    this.#alarm = new Alarm(storage, () => this.#exchanges.nextDeadline());
    const timers = new Timers();
    const traffic = new ShardTraffic({
      counts: this.#ledger.counts,
      totals: new TotalRows(storage.sql),
      timers,
      isBusy: () => this.#exchanges.attempts.count > 0,
      name: state.id.name,
    });
    this.#exchanges = new Exchanges({
      ledger: this.#ledger,
      alarm: this.#alarm,
      reachability: new Reachability(origins, this.#ledger.addresses, timers),
      target: (origin) => originTarget(origin, env, state.exports),
      sync: storeSync(() => storage.sync()),
      waitUntil: this.#waitUntil,
      heartbeat: new Heartbeat(timers, () => callItself(state, env)),
      timers,
      askElder: (place, question) => askElder(bindingIn(env, "KEY_SHARD"), place, question),
      limiter: (binding) => limiterIn(env, binding),
      destination: (name) => eventTarget(name, env),
      receivers: (alert) => alertReceivers(alert, env),
      shard: state.id.name ?? "",
      reporter: new ExchangeReporter(state.id.name ?? "", traffic.own, bindingIn(env, "METRICS")),
    });
    const { steps, elders } = this.#exchanges;
    const claims = new Claims({ ledger: this.#ledger, steps, elders, timers });
    const operator = new OperatorCalls({
      kept: storage.kv,
      ledger: this.#ledger,
      list: new RecordList(storage.sql, this.#ledger.numbers),
      steps,
      elders,
      databaseBytes: () => storage.sql.databaseSize,
      placesTaken: () => this.#exchanges.driven,
      questionAbout: (id) => this.#exchanges.questionAbout(id),
      held: () => heldRows(storage.sql),
      left: () => traffic.left(Date.now()),
      timers,
    });
    const claimList = new ClaimList(storage.sql, this.#ledger.positions);
    const outbox = new OutboxCalls(this.#ledger, this.#exchanges.outbox, this.#exchanges.alerts);
    const eraser = new ScopeEraser({
      ledger: this.#ledger,
      scan: new RecordScan(storage.sql),
      events: new OwnedEvents(storage.sql, this.#ledger.outbox),
      steps,
    });
    const numbers = (): ShardNumbers => ({
      ...traffic.numbers(),
      ...operator.counts(),
      callsInFlight: this.#exchanges.attempts.count,
      overdueMs: this.#exchanges.overdueMs(),
      oldestMs: operator.oldestMs(),
      oldestUnknownMs: operator.oldestUnknownMs(),
      events: outbox.counts(),
      claims: claimList.counts(epochMs(Date.now())),
    });
    this.#calls = new CallTable([
      ...exchangeCalls(this.#exchanges, this.#ledger.bodies, timers),
      ...traffic.calls,
      ...operator.calls,
      ...outbox.calls,
      ...claimCalls(claims, claimList),
      ...deliveryCalls(this.#exchanges),
      ...auditCalls(new AuditLog(storage.sql, (run) => storage.transactionSync(run))),
      answered(OPERATOR_CALLS.numbers, numbers),
      answered(ERASE_SCOPE_CALL, (erasure) => eraser.erase(erasure)),
      answered(ALIVE_CALL, () => undefined),
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
