// The world of one interleaving while the layout changes: Workers of several deployments with the gateway's own way to a key's object, and the
// objects of several layouts, each with its own disk, instance and alarm. One origin, one clock, one set of rules for all.

import { type Layout, layoutTitle, shardCount } from "../../../../src/kernel/config/layout.ts";
import type { Origin as OriginOf } from "../../../../src/kernel/config/resolved.ts";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import type { OperatorChange } from "../../../../src/kernel/record/timeline.ts";
import { LOCATE_CALL, type PlacedRecord } from "../../../../src/kernel/elsewhere.ts";
import { CLOSE_CALL } from "../../../../src/features/previous-shards/object/closed-object.ts";
import { previousShardsObject } from "../../../../src/features/previous-shards/object/feature.ts";
import { nextOf, objectFinder } from "../../../../src/features/previous-shards/walk.ts";
import {
  decodeMessage,
  EXCHANGE_CALL,
  type ExchangeHead,
  type ExchangeRequest,
} from "../../../../src/kernel/request/message.ts";
import { type LayoutSummary, summarizeLayouts } from "../../../../src/operator/layouts.ts";
import { bytesBody } from "../../../../src/kernel/body/request-body.ts";
import { shardCaller } from "../../../../src/kernel/object/call-shard.ts";
import type { ShardCounts } from "../../../../src/kernel/object/operator-calls.ts";
import { shardAddressOf, shardTitle } from "../../../../src/kernel/object/shard-address.ts";
import { AnswerRules } from "../../../simulation/answers.ts";
import { type ClientRequest, Clients, type Duplicate, headFor } from "../../../simulation/clients.ts";
import { Clock, owners } from "../../../simulation/clock.ts";
import type { Disk } from "../../../simulation/disk.ts";
import { claimedIn, type DurableRow, durableBytes, durableRows } from "../../../simulation/durable.ts";
import { Facts, startedAttempt } from "../../../simulation/facts.ts";
import { Host } from "../../../simulation/host.ts";
import { decide } from "../../../simulation/operators.ts";
import { Origin, OriginCall } from "../../../simulation/origin.ts";
import { START_MS } from "../../../simulation/times.ts";
import { PlainResponse, type PlainRequest, quiet } from "../../../simulation/platform.ts";
import { Rules } from "../../../simulation/rules.ts";
import { Shard } from "../../../simulation/shard.ts";
import { namespaceOf, routeOf, target } from "../../../simulation/stand-ins.ts";
import { type Message, Network } from "./network.ts";
import { type Deployment, deployment as deploymentOf, keyOf, nameIn, type Plan } from "./plan.ts";

const EMPTY = new Uint8Array();
const KEY_COUNT = { binding: "NEW_KEYS", caller: "caller" } as const;

/** The disks of the objects, in the order in which these come to exist. */
export class Disks {
  readonly #make: () => Disk;
  readonly #disks: Disk[] = [];
  #used = 0;

  constructor(make: () => Disk) {
    this.#make = make;
  }

  startAgain(): void {
    this.#used = 0;
  }

  next(): Disk {
    const disk = this.#disks[this.#used] ?? this.#make();
    this.#disks[this.#used] = disk;
    this.#used += 1;
    disk.clear();
    return disk;
  }
}

/** No request is accepted here. */
const nothing = () => (): void => undefined;

export class World {
  readonly plan: Plan;
  readonly clock = new Clock(START_MS);
  readonly facts = new Facts();
  readonly rules: Rules;
  readonly origin = new Origin();
  readonly clients: Clients;
  readonly network = new Network();
  readonly hosts = new Map<string, Host>();
  /** What the rate limiter has been asked and has not answered yet. */
  limits: ((isAllowed: boolean) => void)[] = [];
  readonly #answers: AnswerRules;
  readonly #disks: Disks;
  readonly #trace: (what: string) => void;
  /** Those that send requests, and their Workers. */
  readonly #workers: Map<Deployment, ReturnType<typeof shardCaller>>;
  readonly #namespace: DurableObjectNamespace;
  /** The requests, by the id of the attempt that each may start. */
  readonly #heads = new Map<string, ExchangeHead>();
  /** The durable records of each object. */
  readonly #rows = new Map<Host, ReadonlyMap<string, DurableRow>>();
  /** The object whose answer a client has got. */
  readonly #answeredBy = new Map<PlainResponse, Host>();
  readonly #readsFrom = new Map<ClientRequest, Host>();
  /** Requests that no object has answered, with their deployments. */
  readonly unanswered: { readonly name: string; readonly deployment: Deployment }[] = [];
  #sent = 0;

  constructor(plan: Plan, disks: Disks, trace: (what: string) => void) {
    this.plan = plan;
    this.#disks = disks;
    this.#trace = trace;
    const hasFailed = (): boolean => [...this.hosts.values()].some(({ disk }) => disk.hasFailed);
    this.rules = new Rules(plan, this.clock, hasFailed, this.facts);
    this.#answers = new AnswerRules(this.clock, this.facts, this.rules, plan);
    this.clients = new Clients(this.#answers, plan.keptBytes, trace);
    this.#namespace = namespaceOf((name, url, body) => this.network.post(name, url, body));
    this.#workers = new Map();
    for (const one of plan.deployments) this.startIsolate(one);
    disks.startAgain();
  }

  host(name: string): Host {
    const known = this.hosts.get(name);
    if (known !== undefined) return known;
    const host = new Host(name, this.#disks.next(), (one) => this.#instance(one));
    this.hosts.set(name, host);
    return host;
  }

  #instance(host: Host): Shard {
    return new Shard({
      disk: host.disk,
      bucket: null,
      sync: () => host.sync(),
      target: (origin) => this.#target(host, origin),
      limiter: () => ({
        limit: () => new Promise((resolve) => this.limits.push((success) => resolve({ success }))),
      }),
      features: [previousShardsObject],
      env: {},
    });
  }

  send(key: string, deployment: Deployment, content: string, duplicate: Duplicate): ClientRequest {
    this.#sent += 1;
    const { own } = deployment;
    const plain = headFor(this.plan, key, content, `a${this.#sent}`, duplicate, "client 0");
    const head: ExchangeHead = {
      ...plain,
      record: { ...plain.record, id: nameIn(key, own) },
      ...(this.plan.limitsKeys ? { newKeys: KEY_COUNT } : null),
    };
    const { attemptId: id, fingerprint } = head.request;
    this.#heads.set(id, head);
    const request: ClientRequest = {
      name: `request ${id}`,
      record: key,
      fingerprint,
      head,
      sentMs: this.clock.nowMs,
      sentRightMs: this.clock.rightMs,
      credential: "client 0",
      sentAfter: this.#sent,
      caller: new AbortController(),
      heardBefore: this.facts.reported.get(key) ?? null,
      erasures: 0,
      isRepeatable: true,
      taker: null,
      state: "waits",
      held: null,
      reader: null,
      stalled: null,
      cut: null,
      text: "",
    };
    this.clients.expect(
      request,
      this.#exchange(request, deployment),
      () => 0,
      () => false,
    );
    return request;
  }

  async #exchange(request: ClientRequest, deployment: Deployment): Promise<unknown> {
    const exchange: ExchangeRequest = {
      head: request.head,
      body: EMPTY,
      rest: null,
      namesIn: (layout: Layout) => Promise.resolve([nameIn(request.record, layout)]),
      free: () => undefined,
    };
    const worker = this.#workers.get(deployment);
    const response: unknown = await worker?.(routeOf(deployment), exchange);
    if (!(response instanceof PlainResponse)) {
      this.unanswered.push({ name: request.name, deployment });
      throw new Error("no object has answered");
    }
    const host = this.#answeredBy.get(response);
    if (host !== undefined) this.#readsFrom.set(request, host);
    return response;
  }

  /** An object gets a message. */
  deliver(message: Message): void {
    const host = this.host(message.to);
    const { life } = host;
    message.state = "at work";
    message.host = host;
    const replied = (response: PlainResponse): null => {
      if (life !== host.life) return null;
      message.reply = { response, gate: host.disk.written };
      message.state = "held";
      this.#judgeReplay(message, response);
      return null;
    };
    const work = owners.run(host, () => this.#work(host, message));
    work.then(replied, (error: unknown) => {
      if (life === host.life) message.fail(error);
    });
  }

  async #work(host: Host, { url, body, caller }: Message): Promise<PlainResponse> {
    const { exchanges } = host.shard;
    if (url === CLOSE_CALL.url && typeof body === "string") {
      return new PlainResponse(JSON.stringify(host.shard.askNow(CLOSE_CALL, JSON.parse(body))));
    }
    if (url === LOCATE_CALL.url && typeof body === "string") {
      const placed: PlacedRecord = JSON.parse(body);
      return new PlainResponse(JSON.stringify(exchanges.elsewhere(placed, epochMs(Date.now()))));
    }
    if (url === EXCHANGE_CALL.url && body instanceof Uint8Array) {
      const { head } = decodeMessage<ExchangeHead>(body);
      const response: unknown = await exchanges.run(head, bytesBody(EMPTY), caller);
      if (response instanceof PlainResponse) return response;
    }
    throw new TypeError("this object does not know the URL");
  }

  /** Whatever object answers: an attempt's result is not replayed once a later attempt has begun anywhere. */
  #judgeReplay({ body }: Message, response: PlainResponse): void {
    if (!(body instanceof Uint8Array) || response.headers.get("idempotent-replayed") === null) return;
    const { head } = decodeMessage<ExchangeHead>(body);
    this.#answers.replays(head.record.key, response);
  }

  /** An operator of a deployment closes the object of a key in one of its previous layouts, for the layout that follows. */
  close(deployment: Deployment, at: Layout, key: string): void {
    const next = nextOf(at, deployment);
    // Objects for each key cannot be listed.
    if (next === null || at.shards === "per-key") return;
    const title = shardTitle(shardAddressOf(nameIn(key, at), at));
    this.network.post(title, CLOSE_CALL.url, JSON.stringify(next)).catch(() => undefined);
  }

  /** The deployments whose Workers send requests. */
  get deployments(): readonly Deployment[] {
    return [...this.#workers.keys()];
  }

  /** What its layouts are to the operators of a deployment. Of their objects there are only those of the keys; the others are as the first of these. */
  layoutsOf({ own, previous }: Deployment): readonly LayoutSummary[] {
    const layouts = [own, ...previous].map((layout) => ({
      title: layoutTitle(layout),
      layout,
      next: nextOf(layout, { own, previous }),
      routes: [],
    }));
    const asked = layouts.flatMap(({ layout, title }) => {
      const names = [...new Set(this.plan.keys.map((key) => shardTitle(shardAddressOf(nameIn(key, layout), layout))))];
      const others = (shardCount(layout.shards) ?? names.length) - names.length;
      return names.map((name, index) => {
        const counts = this.#counts(this.host(name));
        const answer = counts === null ? null : { ...counts, objects: index === 0 ? 1 + others : 1 };
        return { shard: name, layout: title, answer };
      });
    });
    return summarizeLayouts(layouts, asked, true);
  }

  /** `null`: what it would say is not durable yet. */
  #counts(host: Host): ShardCounts | null {
    const counts = owners.run(host, () => host.shard.counts());
    return host.needsCommit ? null : counts;
  }

  /** The same deployment without a previous layout is rolled out: Workers of both send requests from now on. */
  takeOut({ own, previous }: Deployment, title: string): void {
    this.startIsolate(deploymentOf(own, ...previous.filter((layout) => layoutTitle(layout) !== title)));
  }

  /** A Worker begins, and has asked no object yet. */
  startIsolate(deployment: Deployment): void {
    this.#workers.set(deployment, shardCaller(this.#namespace, objectFinder()));
  }

  /**
   * Whether the oldest layout of a deployment is needed no more in order to begin keys: each object of the next one has begun a key with the answer of
   * the older one, or that one is closed and empty. That is durable.
   */
  mayBeginLater({ own, previous }: Deployment): boolean {
    const [oldest, next = own] = previous;
    // An object for each key closes when it is asked, and no check can refuse that.
    if (oldest === undefined || own.shards === "per-key") return false;
    return this.plan.keys.every((key) => {
      const name = shardTitle(shardAddressOf(nameIn(key, oldest), oldest));
      const [before, after] = [name, shardTitle(shardAddressOf(nameIn(key, next), next))].map((one) => this.host(one));
      if (before === undefined || after === undefined || before.needsCommit || after.needsCommit) return false;
      const rows = (host: Host, query: string): ReturnType<ReturnType<Disk["exec"]>["toArray"]> =>
        host.disk.exec(query, []).toArray();
      const isClosedForNext = rows(before, "SELECT next FROM closed").some(
        (row) => row["next"] === JSON.stringify(next),
      );
      const isEmpty = isClosedForNext && rows(before, "SELECT 1 FROM records LIMIT 1").length === 0;
      return isEmpty || rows(after, "SELECT name FROM closed_before").some((row) => row["name"] === name);
    });
  }

  /** Whether all objects of a layout are closed, which is durable. */
  isClosed(layout: Layout): boolean {
    const hosts = this.plan.keys.map((key) => this.host(shardTitle(shardAddressOf(nameIn(key, layout), layout))));
    return hosts.every((host) => !host.needsCommit && host.disk.exec("SELECT 1 FROM closed", []).toArray().length > 0);
  }

  /** Deploys a list that begins later: without the oldest layout, or back to that with all others before it. */
  beginLater({ own, previous }: Deployment, isBack: boolean): Deployment {
    const [oldest, ...others] = previous;
    const later = isBack && oldest !== undefined ? deploymentOf(oldest, ...others, own) : deploymentOf(own, ...others);
    this.startIsolate(later);
    return later;
  }

  #target(host: Host, origin: OriginOf): Fetcher | null {
    const name = origin.kind === "url" ? origin.url : "";
    const head = this.#heads.get(name);
    if (head === undefined) return null;
    // A request that is delivered again may start an attempt under another id than its own.
    const id = claimedIn(host.disk, head.record.key) ?? name;
    const attempt = startedAttempt(host.name, id, head, this.clock, this.#sent);
    this.rules.starts(attempt, null);
    this.facts.add(attempt);
    return target((request: PlainRequest) => {
      const call = new OriginCall(attempt, host.disk.written, this.plan.keptBytes, this.clock, () => this.#sent);
      const response = this.origin.fetch(request, call);
      this.release();
      return response;
    });
  }

  /** Lets everything continue until nothing can. */
  async rest(): Promise<void> {
    do await quiet();
    while (this.release());
    this.network.tidy();
  }

  /** Opens the output gates for everything whose writes are durable. Returns whether anybody got something. */
  release(): boolean {
    for (const call of this.origin.calls) {
      if (call.work !== "held" || call.gate > this.host(call.attempt.object).disk.durable) continue;
      call.work = "on the wire";
      this.#trace(
        `        the call of ${call.attempt.id} leaves ${call.attempt.object}, as attempt ${call.attempt.number}`,
      );
      this.rules.leaves(call.attempt);
    }
    let some = false;
    for (const message of this.network.with("held")) {
      const { reply, host } = message;
      if (reply === null || host === null || reply.gate > host.disk.durable) continue;
      message.state = "replied";
      // What clients hear is judged when it leaves the object.
      if (message.isHeard && (message.url !== EXCHANGE_CALL.url || reply.response.status === 204)) continue;
      this.#answeredBy.set(reply.response, host);
      message.arrive();
      some = true;
    }
    return this.clients.release(0) || some;
  }

  arrive(call: OriginCall): void {
    this.origin.expire(this.clock);
    this.rules.arrives(call.attempt, this.origin.atWork());
    call.work = "at work";
  }

  commit(host: Host): void {
    host.commit(() => {
      const rows = durableRows(host.disk);
      this.#rows.set(host, rows);
      this.facts.rows = this.#byKey();
      this.facts.commit(host.name, host.disk.durable);
      this.facts.learnBytes(durableBytes(host.disk));
      this.rules.commits(host.disk, rows.values());
    });
    this.release();
  }

  /** The durable records by their keys. An unexpired one comes before one that has expired in another object. */
  #byKey(): ReadonlyMap<string, DurableRow> {
    const all = new Map<string, DurableRow>();
    for (const rows of this.#rows.values()) {
      for (const row of rows.values()) {
        const key = keyOf(row.id);
        const other = all.get(key);
        if (other !== undefined && this.#lives(other) && this.#lives(row)) {
          this.rules.broken(
            "G1",
            `two objects have a record: ${other.id} (${other.state}) and ${row.id} (${row.state})`,
          );
        }
        if (other === undefined || !this.#lives(other)) all.set(key, row);
      }
    }
    return all;
  }

  #lives({ state, deadlineMs }: DurableRow): boolean {
    return state === "started" || deadlineMs > this.clock.latestMs;
  }

  /** An operator decides about a record, in the object that has it. */
  decide(host: Host, id: DurableRow["id"], action: OperatorChange): string {
    const key = keyOf(id);
    if (this.facts.of(key).at(-1)?.object !== host.name) return "nothing: another object has a later record";
    const row = [...(this.#rows.get(host)?.keys() ?? [])].find((one) => one === id);
    const name = this.plan.deployments.flatMap(({ own, previous }) => [own, ...previous]).map((at) => nameIn(key, at));
    const record = name.find((one) => one === row);
    if (record === undefined) return "nothing: the record is gone";
    return owners.run(host, () => decide(this, host, { key, id: record, erased: nothing }, action));
  }

  /** The durable records, with their objects. */
  get records(): readonly { readonly host: Host; readonly id: string }[] {
    return [...this.#rows].flatMap(([host, rows]) => [...rows.keys()].map((id) => ({ host, id })));
  }

  /** The object is lost with its memory, its connections, and everything that was not durable. */
  crash(host: Host): void {
    this.network.crash(host);
    host.crash();
    this.clock.clearOf(host);
    this.facts.crash(host.name);
    this.origin.crash(host.name);
    this.origin.expire(this.clock);
    for (const [request, from] of this.#readsFrom) {
      if (from !== host || (request.state !== "answered" && request.state !== "reads")) continue;
      request.held = null;
      request.state = "is done";
    }
  }

  moveTo(ms: number): void {
    this.clock.moveTo(ms);
    this.origin.expire(this.clock);
  }

  alarm(host: Host, comesAgain: boolean): void {
    const alarm = owners.run(host, () => (comesAgain ? host.alarmAgain() : host.alarm()));
    void alarm.then((againMs) => this.#excuse(againMs));
  }

  #excuse(againMs: number | null): void {
    if (againMs !== null) this.rules.excusedUntilMs = againMs;
  }
}
