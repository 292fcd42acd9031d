// The Durable Object: one shard, many records. It only connects the parts: the ledger and the alarm with the exchanges, and the
// exchanges with the object's callers. Exchanges come by `fetch` to fixed URLs, operator calls through itty-durable's stub. Only
// this Worker makes these calls, from parts that no client chooses.

import type { Layout } from "../config/layout.ts";
import type { AlertReport } from "../record/alerts.ts";
import { epochMs, recordId } from "../record/units.ts";
import { CLAIMS_URL, type ClaimMessage, POSITION_URL, type PositionQuestion } from "../../features/claims/message.ts";
import type { ElderQuestion } from "../previous-shards/hops.ts";
import { ALERTS_URL, ASK_URL, BODY_WAYS, DELIVERIES_URL, LOCATE_URL, MONITOR_URL } from "../request/message.ts";
import { type MonitorQuestion, readHead } from "../request/message.ts";
import { type ExchangeReport, TOTALS_URL, TRAFFIC_URL } from "../traffic/traffic.ts";
import { ExchangeReporter } from "../traffic/exchange-reporter.ts";
import { Alarm } from "./alarm.ts";
import type { HourOfShard } from "./kept-counts.ts";
import { ShardTraffic } from "./shard-traffic.ts";
import type { RecordReplays } from "../traffic/replay-counts.ts";
import { bindingIn, limiterIn } from "./bindings.ts";
import { answerDeliveries } from "../../features/queues/object/deliveries.ts";
import { doDueWork } from "./due-work.ts";
import { Claims, type PositionChange } from "../../features/claims/object/claims.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Exchanges } from "./exchanges.ts";
import { ittyDurable, operatorCallUrls } from "./itty.ts";
import { type EventsChanged, OutboxCalls, type OutboxPage } from "../../features/outbox/object/calls.ts";
import { alertReceivers, eventTarget } from "../../features/outbox/object/target.ts";
import { AuditLog } from "../../features/audit/object/audit.ts";
import { Ledger } from "../store/ledger.ts";
import { originTarget } from "./origin-call.ts";
import { ALIVE_URL, askElder, callItself } from "./object-calls.ts";
import { type ShardNumbers, type Counts, OPERATOR_URLS, OperatorCalls, type SeenDetail } from "./operator-calls.ts";
import { type Origins, Reachability } from "./reachability.ts";
import type { ListQuery } from "../store/list-query.ts";
import { type ListPage, RecordList } from "../store/record-list.ts";
import { answerExchange } from "./exchange-fetch.ts";
import { bytesBody } from "../body/request-body.ts";
import type { DestinationCounts, EventChange, EventQuery } from "../../features/outbox/object/list.ts";
import {
  ClaimList,
  type GroupCounts,
  type PositionQuery,
  type SeenPosition,
} from "../../features/claims/object/claim-list.ts";
import { TotalRows } from "../store/totals.ts";
import { heldRows } from "../store/tables.ts";
import { OwnedEvents } from "../../features/outbox/object/owned-events.ts";
import { RecordScan } from "../../features/callers/object/record-scan.ts";
import { ERASE_SCOPE_URL, ScopeEraser, type ScopeErasure } from "../../features/callers/object/eraser.ts";
import { storeSync } from "../store/store-error.ts";
import { Timers } from "./timers.ts";

/** The methods that operators call; no other method can be called from outside the object. */
const OPERATOR_CALLS = operatorCallUrls([
  "list",
  "inspect",
  "has",
  "counts",
  "close",
  "numbers",
  "recent",
  "hours",
  "replaysOf",
  "rotating",
  "sessions",
  "endSessions",
  "listEvents",
  "countEvents",
  "changeEvents",
  "countClaims",
  "listPositions",
  "setPosition",
]);

/** Knowledge about the origins, shared by all shards of an isolate. */
const origins: Origins = new Map();

export class KeyShard extends ittyDurable() {
  readonly #timers = new Timers();
  readonly #ledger: Ledger;
  readonly #alarm: Alarm;
  readonly #exchanges: Exchanges;
  readonly #claims: Claims;
  readonly #operator: OperatorCalls;
  readonly #eraser: ScopeEraser;
  readonly #outbox: OutboxCalls;
  readonly #claimList: ClaimList;
  readonly #traffic: ShardTraffic;
  readonly #waitUntil: (promise: Promise<unknown>) => void;

  constructor(state: DurableObjectState, env: Readonly<Record<string, unknown>>) {
    super(state, {});
    const { storage } = state;
    this.#waitUntil = (promise) => state.waitUntil(promise);
    this.#ledger = new Ledger(storage, bindingIn(env, "BODIES"), (afterMs) =>
      this.#alarm.moveTo(epochMs(Date.now() + afterMs)),
    );
    this.#alarm = new Alarm(storage, () => this.#exchanges.nextDeadline());
    const timers = this.#timers;
    this.#traffic = new ShardTraffic({
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
      reporter: new ExchangeReporter(state.id.name ?? "", this.#traffic.own, bindingIn(env, "METRICS")),
    });
    const { steps, elders } = this.#exchanges;
    this.#claims = new Claims({ ledger: this.#ledger, steps, elders, timers });
    this.#operator = new OperatorCalls({
      kept: storage.kv,
      ledger: this.#ledger,
      audit: new AuditLog(storage.sql, (run) => storage.transactionSync(run)),
      list: new RecordList(storage.sql, this.#ledger.numbers),
      steps,
      elders,
      databaseBytes: () => storage.sql.databaseSize,
      placesTaken: () => this.#exchanges.driven,
      questionAbout: (id) => this.#exchanges.questionAbout(id),
      held: () => heldRows(storage.sql),
      left: () => this.#traffic.left(Date.now()),
      timers,
    });
    this.#claimList = new ClaimList(storage.sql, this.#ledger.positions);
    this.#outbox = new OutboxCalls(this.#ledger, this.#exchanges.outbox);
    this.#eraser = new ScopeEraser({
      ledger: this.#ledger,
      scan: new RecordScan(storage.sql),
      events: new OwnedEvents(storage.sql, this.#ledger.outbox),
      steps,
    });
  }

  override async fetch(request: Request): Promise<Response> {
    const { url } = request;
    const way = BODY_WAYS.get(url);
    if (way !== undefined) return answerExchange(way, request, this.#exchanges, this.#ledger.bodies, this.#timers);
    switch (url) {
      case DELIVERIES_URL:
        return answerDeliveries(request, ({ head, body }) => this.#exchanges.deliver(head, bytesBody(body), request));
      case LOCATE_URL:
        return this.#exchanges.locate(readHead(await request.text()));
      case MONITOR_URL:
        return this.#exchanges.monitor(await request.json<MonitorQuestion>(), request);
      case CLAIMS_URL: {
        const message: ClaimMessage = await request.json();
        return Response.json(await this.#claims.answer(message));
      }
      case POSITION_URL:
        return Response.json(this.#claims.position(await request.json<PositionQuestion>()));
      case ASK_URL: {
        const question: ElderQuestion = await request.json();
        return Response.json(this.#exchanges.elders.reply(question));
      }
      case ERASE_SCOPE_URL: {
        const erasure: ScopeErasure = await request.json();
        return Response.json(await this.#eraser.erase(erasure));
      }
      case TRAFFIC_URL:
        return this.#traffic.take(request);
      case TOTALS_URL:
        return this.#traffic.addUp(request);
      case ALERTS_URL:
        this.#exchanges.alerts.report(await request.json<AlertReport>(), epochMs(Date.now()));
        return new Response(null, { status: 204 });
      case ALIVE_URL:
        return new Response(null, { status: 204 });
      default:
        if (OPERATOR_CALLS.has(url)) return super.fetch(request);
        if (OPERATOR_URLS.has(url)) return this.#operator.answer(request);
        throw new TypeError("a shard takes exchanges and operator calls only");
    }
  }

  alarm(info?: AlarmInvocationInfo): void {
    const now = epochMs(Date.now());
    const firedFor = info === undefined ? now : epochMs(info.scheduledTime);
    const ports = { exchanges: this.#exchanges, ledger: this.#ledger, alarm: this.#alarm, waitUntil: this.#waitUntil };
    doDueWork(ports, now, firedFor);
  }

  /** Operator call. */
  list(query: ListQuery): ListPage {
    return this.#operator.list(query);
  }

  /** Operator call. `null`: the record does not exist. */
  inspect(id: string): SeenDetail | null {
    return this.#operator.inspect(recordId(id));
  }

  /** Operator call: whether there is a row for the record, also one that cannot be read. */
  has(id: string): boolean {
    return this.#operator.has(recordId(id));
  }

  /** Operator call. */
  counts(): Counts {
    return this.#operator.counts();
  }

  /** Operator call: seals this object for another layout. */
  close(next: Layout): Counts {
    return this.#operator.close(next);
  }

  /** Operator call: what was counted in the last day. */
  hours(): readonly HourOfShard[] {
    return this.#traffic.lastDay(Date.now());
  }

  /** Operator call: how often the record was replayed in the last day, as far as this object has counted it. */
  replaysOf(id: string): RecordReplays | null {
    return this.#traffic.replaysOf(id, Date.now());
  }

  /** Operator call, only to the operators' object: the current generation of the console's sessions. */
  sessions(): string {
    return this.#operator.sessions();
  }

  /** Operator call, only to the operators' object: begins a new generation, and returns it. */
  endSessions(): string {
    return this.#operator.endSessions();
  }

  /** Operator call. */
  listEvents(query: EventQuery): OutboxPage {
    return this.#outbox.list(query);
  }

  /** Operator call: how many events of each destination are left. */
  countEvents(): readonly DestinationCounts[] {
    return this.#outbox.counts();
  }

  /** Operator call: sends some events again, or drops them. */
  changeEvents(change: EventChange): EventsChanged {
    return this.#outbox.change(change);
  }

  /** Operator call: the claims of each group that are not completed. */
  countClaims(): readonly GroupCounts[] {
    return this.#claimList.counts(epochMs(Date.now()));
  }

  /** Operator call: how far groups have read. */
  listPositions(query: PositionQuery): readonly SeenPosition[] {
    return this.#claimList.page(query, epochMs(Date.now()));
  }

  /** Operator call: sets where a group goes on in a partition. Returns whether it is set here. */
  setPosition(change: PositionChange): boolean {
    return this.#claims.setPosition(change);
  }

  /** Operator call: all numbers of this object. */
  numbers(): ShardNumbers {
    const { count: callsInFlight } = this.#exchanges.attempts;
    const [oldestMs, oldestUnknownMs] = [this.#operator.oldestMs(), this.#operator.oldestUnknownMs()];
    const held = {
      ...this.#operator.counts(),
      oldestMs,
      oldestUnknownMs,
      events: this.#outbox.counts(),
      claims: this.countClaims(),
    };
    return { ...this.#traffic.numbers(), callsInFlight, overdueMs: this.#exchanges.overdueMs(), ...held };
  }

  /** Operator call: the exchanges that were counted after `after` and not after `upTo`, oldest first. */
  recent(after: number, upTo: number): readonly ExchangeReport[] {
    return this.#traffic.own.recent(after, upTo);
  }

  /** Operator call: the routes whose callers' tokens expire before their records do, as far as isolates have told this object. */
  rotating(): readonly string[] {
    return this.#traffic.rotating(Date.now());
  }
}
