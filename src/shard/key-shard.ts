// The Durable Object: one shard, many records. It only connects the parts: the ledger and the alarm with the exchanges, and the
// exchanges with the object's callers. Exchanges come by `fetch` to fixed URLs, operator calls through itty-durable's stub. Only
// this Worker makes these calls, from parts that no client chooses.

import type { Layout } from "../config/layout.ts";
import { epochMs, recordId } from "../core/units.ts";
import { firstOf } from "../http/first-of.ts";
import { answerIn, type ElderAnswer, type ElderQuestion, type ElderReply } from "../http/hops.ts";
import {
  ASK_URL,
  decodeExchange,
  EXCHANGE_2_URL,
  EXCHANGE_3_URL,
  EXCHANGE_URL,
  LOCATE_URL,
  MONITOR_URL,
  type MonitorQuestion,
  OFFER_2_URL,
  OFFER_3_URL,
  OFFER_URL,
  readHead,
  UPLOAD_2_URL,
  UPLOAD_3_URL,
  UPLOAD_URL,
} from "../http/message.ts";
import { MessageReader } from "../http/message-stream.ts";
import type { OutcomeCounts, RouteNumbers } from "../traffic/route-counters.ts";
import { type ExchangeReport, TOTALS_URL, Traffic, TRAFFIC_URL, type TrafficBatch } from "../traffic/traffic.ts";
import { ExchangeReporter } from "../traffic/exchange-reporter.ts";
import { Alarm, AlarmLag } from "./alarm.ts";
import { bindingIn, limiterIn } from "./bindings.ts";
import { doDueWork } from "./due-work.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Exchanges } from "./exchanges.ts";
import { ittyDurable, operatorCallUrls } from "./itty.ts";
import { Ledger } from "./store/ledger.ts";
import { originTarget } from "./origin-call.ts";
import { shardStub } from "./call-shard.ts";
import type { ShardPlace } from "./shard-place.ts";
import {
  type ShardNumbers,
  BODY_URL,
  CHANGE_URL,
  type Counts,
  OperatorCalls,
  type SeenDetail,
} from "./operator-calls.ts";
import { type Origins, Reachability } from "./reachability.ts";
import { type ListPage, type ListQuery, RecordList } from "./store/record-list.ts";
import { bytesBody, offeredBody } from "./body/request-body.ts";
import { RecordScan } from "./store/record-scan.ts";
import { ERASE_SCOPE_URL, ScopeEraser, type ScopeErasure } from "./scope-eraser.ts";
import { storeSync } from "./store/store-error.ts";
import { Timers } from "./timers.ts";
import { receive } from "./body/upload.ts";

/** The URL at which an object calls itself, to stay in memory. */
const ALIVE_URL = "https://key-shard/alive";

/** The methods that operators call; no other method can be called from outside the object. */
const OPERATOR_CALLS = operatorCallUrls([
  "list",
  "inspect",
  "counts",
  "close",
  "numbers",
  "recent",
  "traffic",
  "rotating",
  "sessions",
  "endSessions",
]);

/** Knowledge about the origins, shared by all shards of an isolate. */
const origins: Origins = new Map();

export class KeyShard extends ittyDurable() {
  readonly #ledger: Ledger;
  readonly #alarm: Alarm;
  readonly #exchanges: Exchanges;
  readonly #operator: OperatorCalls;
  readonly #eraser: ScopeEraser;
  readonly #traffic = new Traffic();
  /** The counts of all shards; used only in the object that adds them up. */
  readonly #totals = new Traffic();
  readonly #alarmLag = new AlarmLag();
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
    this.#exchanges = new Exchanges({
      ledger: this.#ledger,
      alarm: this.#alarm,
      reachability: new Reachability(origins, this.#ledger.addresses, timers),
      target: (origin) => originTarget(origin, env),
      sync: storeSync(() => storage.sync()),
      waitUntil: this.#waitUntil,
      heartbeat: new Heartbeat(timers, () => callItself(state, env)),
      timers,
      askElder: (place, question) => askElder(bindingIn(env, "KEY_SHARD"), place, question),
      limiter: (binding) => limiterIn(env, binding),
      reporter: new ExchangeReporter(state.id.name ?? "", this.#traffic, bindingIn(env, "METRICS")),
    });
    this.#operator = new OperatorCalls({
      kept: storage.kv,
      ledger: this.#ledger,
      list: new RecordList(storage.sql, this.#ledger.numbers),
      steps: this.#exchanges.steps,
      elders: this.#exchanges.elders,
      databaseBytes: () => storage.sql.databaseSize,
      placesTaken: () => this.#exchanges.driven,
      timers,
    });
    this.#eraser = new ScopeEraser({
      ledger: this.#ledger,
      scan: new RecordScan(storage.sql),
      steps: this.#exchanges.steps,
    });
  }

  override async fetch(request: Request): Promise<Response> {
    const { url } = request;
    switch (url) {
      case EXCHANGE_URL:
      case EXCHANGE_2_URL:
      case EXCHANGE_3_URL: {
        const { head, body } = decodeExchange(new Uint8Array(await request.arrayBuffer()));
        return this.#exchanges.run(head, bytesBody(body), request);
      }
      case OFFER_URL:
      case OFFER_2_URL:
      case OFFER_3_URL:
        return this.#offer(request);
      case UPLOAD_URL:
      case UPLOAD_2_URL:
      case UPLOAD_3_URL:
        return this.#upload(request);
      case LOCATE_URL:
        return this.#exchanges.locate(readHead(await request.text()));
      case MONITOR_URL: {
        const question: MonitorQuestion = await request.json();
        return this.#exchanges.monitor(question, request);
      }
      case ASK_URL: {
        const question: ElderQuestion = await request.json();
        return Response.json(this.#exchanges.elders.reply(question));
      }
      case CHANGE_URL:
        return this.#operator.change(request);
      case ERASE_SCOPE_URL: {
        const erasure: ScopeErasure = await request.json();
        return Response.json(await this.#eraser.erase(erasure));
      }
      case BODY_URL: {
        const response = await this.#operator.body(request);
        // As in `Exchanges.run`.
        if (request.signal.aborted) void response.body?.cancel().catch(() => undefined);
        return response;
      }
      case TRAFFIC_URL: {
        const batch: TrafficBatch = await request.json();
        this.#traffic.add(batch, Date.now());
        return new Response(null, { status: 204 });
      }
      case TOTALS_URL: {
        const routes: readonly RouteNumbers[] = await request.json();
        this.#totals.add({ routes, exchanges: [] }, Date.now());
        return Response.json(this.#totals.numbers);
      }
      case ALIVE_URL:
        return new Response(null, { status: 204 });
      default:
        if (OPERATOR_CALLS.has(url)) return super.fetch(request);
        throw new TypeError("a shard takes exchanges and operator calls only");
    }
  }

  async #offer(request: Request): Promise<Response> {
    const { body } = request;
    if (body === null) throw new TypeError("an offer without a body");
    const message = new MessageReader(body);
    const head = await message.head();
    return this.#exchanges.run(
      head,
      offeredBody(message, this.#ledger.bodies, head.encryption?.isOn === true),
      request,
    );
  }

  async #upload(request: Request): Promise<Response> {
    const { body } = request;
    if (body === null) throw new TypeError("an upload without a body");
    const reception = await receive(body, this.#ledger.bodies);
    if ("problem" in reception) return this.#exchanges.refuse(reception.head, reception.problem);
    return this.#exchanges.run(reception.head, reception.body, request);
  }

  alarm(info?: AlarmInvocationInfo): void {
    const now = epochMs(Date.now());
    const firedFor = info === undefined ? now : epochMs(info.scheduledTime);
    this.#alarmLag.record(now - firedFor);
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

  /** Operator call. */
  counts(): Counts {
    return this.#operator.counts();
  }

  /** Operator call: seals this object for another layout. */
  close(next: Layout): Counts {
    return this.#operator.close(next);
  }

  /** Operator call, only to the operators' object: the current generation of the console's sessions. */
  sessions(): string {
    return this.#operator.sessions();
  }

  /** Operator call, only to the operators' object: begins a new generation, and returns it. */
  endSessions(): string {
    return this.#operator.endSessions();
  }

  /** Operator call: all numbers of this object. Each count is reported only once. */
  numbers(): ShardNumbers {
    const { count: callsInFlight, queued } = this.#exchanges.attempts;
    const routes = this.#traffic.takeNew();
    const held = {
      ...this.#operator.counts(),
      oldestMs: this.#operator.oldestMs(),
      oldestUnknownMs: this.#operator.oldestUnknownMs(),
    };
    return { routes, callsInFlight, queued, alarm: this.#alarmLag.numbers, ...held };
  }

  /** Operator call: the exchanges that were counted after `after` and not after `upTo`, oldest first. */
  recent(after: number, upTo: number): readonly ExchangeReport[] {
    return this.#traffic.recent(after, upTo);
  }

  /** Operator call: the routes whose callers' tokens expire before their records do, as far as isolates have told this object. */
  rotating(): readonly string[] {
    return this.#traffic.rotatingRoutes;
  }

  /** Operator call: counts by route, outcome and minute. */
  traffic(): readonly OutcomeCounts[] {
    return this.#traffic.outcomes(Date.now());
  }
}

/** Even a busy object answers within a fraction of this. */
const ELDER_MS = 5000;

async function askElder(
  namespace: DurableObjectNamespace | null,
  place: ShardPlace,
  question: ElderQuestion,
): Promise<ElderAnswer> {
  if (namespace === null) throw new Error("the binding KEY_SHARD does not exist");
  const call = shardStub(namespace, place).fetch(ASK_URL, { method: "POST", body: JSON.stringify(question) });
  const response = await firstOf(call, ELDER_MS);
  if (response === null) throw new Error(`no answer within ${ELDER_MS} ms`);
  const reply: ElderReply = await response.json();
  return answerIn(reply);
}

/** A request of the object to itself. Does nothing when its namespace is bound under another name. */
async function callItself({ id }: DurableObjectState, env: Readonly<Record<string, unknown>>): Promise<void> {
  await bindingIn(env, "KEY_SHARD")?.get(id).fetch(ALIVE_URL);
}
