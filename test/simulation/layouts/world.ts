// The world of one interleaving while the layout changes: Workers of several deployments with the gateway's own hops, and the
// objects of several layouts, each with its own disk, instance and alarm. One origin, one clock, one set of rules for all.

import { type Layout, layoutTitle } from "../../../src/kernel/config/layout.ts";
import type { Origin as OriginOf } from "../../../src/kernel/config/resolved.ts";
import type { Change } from "../../../src/kernel/record/timeline.ts";
import { firstOf } from "../../../src/kernel/request/first-of.ts";
import type { ElderAnswer, ElderQuestion } from "../../../src/kernel/previous-shards/hops.ts";
import {
  ASK_CALL,
  decodeMessage,
  EXCHANGE_CALL,
  type ExchangeHead,
  type ExchangeRequest,
} from "../../../src/kernel/request/message.ts";
import { type LayoutSummary, summarizeLayouts } from "../../../src/operator/layouts.ts";
import { bytesBody } from "../../../src/kernel/body/request-body.ts";
import { shardCaller } from "../../../src/kernel/object/call-shard.ts";
import type { Counts } from "../../../src/kernel/object/operator-calls.ts";
import { placeOf } from "../../../src/kernel/object/shard-place.ts";
import { AnswerRules } from "../answers.ts";
import { type ClientRequest, Clients, type Duplicate, headFor } from "../clients.ts";
import { Clock, owners } from "../clock.ts";
import type { Disk } from "../disk.ts";
import { claimedIn, type DurableRow, durableBytes, durableRows } from "../durable.ts";
import { Facts, startedAttempt } from "../facts.ts";
import { Host } from "../host.ts";
import { decide } from "../operators.ts";
import { Origin, OriginCall } from "../origin.ts";
import { START_MS } from "../times.ts";
import { PlainResponse, type PlainRequest, quiet } from "../platform.ts";
import { Rules } from "../rules.ts";
import { Shard } from "../shard.ts";
import { namespaceOf, routeOf, target } from "../stand-ins.ts";
import { type Message, Network } from "./network.ts";
import { type Deployment, deployment as deploymentOf, keyOf, nameIn, type Plan } from "./plan.ts";

const EMPTY = new Uint8Array();

/** How long an object waits for an elder's answer. */
const ELDER_MS = 30;

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
  /** Objects whose instances run code from before layouts. */
  /** The object whose answer a client has got. */
  readonly #answeredBy = new Map<PlainResponse, Host>();
  readonly #readsFrom = new Map<ClientRequest, Host>();
  /** Requests that no object has answered, with their deployments. */
  readonly homeless: { readonly name: string; readonly deployment: Deployment }[] = [];
  #sent = 0;

  constructor(plan: Plan, disks: Disks, trace: (what: string) => void) {
    this.plan = plan;
    this.#disks = disks;
    this.#trace = trace;
    const hasFailed = (): boolean => [...this.hosts.values()].some(({ disk }) => disk.hasFailed);
    this.rules = new Rules(plan, this.clock, hasFailed, this.facts);
    this.#answers = new AnswerRules(this.clock, this.facts, this.rules, plan);
    this.clients = new Clients(this.#answers, plan.keptBytes, trace);
    this.#namespace = namespaceOf((name, url, body) => this.network.post(name, url, body, null));
    this.#workers = new Map(plan.deployments.map((one) => [one, shardCaller(this.#namespace)]));
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
    const { life } = host;
    const ask = async (name: string, question: ElderQuestion): Promise<ElderAnswer> => {
      if (life !== host.life) throw new Error("this instance is gone");
      const call = this.network.post(name, ASK_CALL.url, JSON.stringify(question), host);
      const response = await firstOf(call, ELDER_MS);
      if (response === null || typeof response.body !== "string") throw new Error("no answer");
      const answer: ElderAnswer = JSON.parse(response.body);
      return answer;
    };
    const shard = new Shard({
      disk: host.disk,
      bucket: null,
      sync: () => host.sync(),
      target: (origin) => this.#target(host, origin),
      askElder: ({ name }, question) => ask(name, question),
      limiter: () => null,
      features: () => [],
      env: {},
    });
    return shard;
  }

  send(key: string, deployment: Deployment, content: string, duplicate: Duplicate): ClientRequest {
    this.#sent += 1;
    const { own, elders } = deployment;
    const plain = headFor(this.plan, key, content, `a${this.#sent}`, duplicate, "client 0");
    const named = elders.map((layout) => ({ layout, recordIds: [nameIn(key, layout)] }));
    const head: ExchangeHead = {
      ...plain,
      record: { ...plain.record, id: nameIn(key, own) },
      layout: own,
      ...(named.length === 0 ? null : { elders: named }),
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
      this.homeless.push({ name: request.name, deployment });
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
    if (url === ASK_CALL.url && typeof body === "string") {
      const question: ElderQuestion = JSON.parse(body);
      return new PlainResponse(JSON.stringify(exchanges.elders.answer(question)));
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

  /** An operator closes an object: what is new begins in another layout, whether anybody has asked or not. */
  close(host: Host, next: Layout): void {
    this.network.post(host.name, ASK_CALL.url, JSON.stringify({ recordIds: [], next }), null).catch(() => undefined);
  }

  /** The deployments whose Workers send requests. */
  get deployments(): readonly Deployment[] {
    return [...this.#workers.keys()];
  }

  /** What the operators of a deployment are told of its layouts. Of their objects there are only those of the keys. */
  layoutsOf({ own, elders }: Deployment): readonly LayoutSummary[] {
    const layouts = [own, ...elders].map((layout) => ({
      title: layoutTitle(layout),
      layout,
      left: layout === own ? null : own,
      routes: [],
    }));
    const asked = layouts.flatMap(({ layout, title }) => {
      const names = new Set(this.plan.keys.map((key) => placeOf(nameIn(key, layout), layout).name));
      return [...names].map((name) => ({ shard: name, layout: title, answer: this.#counts(this.host(name)) }));
    });
    return summarizeLayouts(layouts, asked, true);
  }

  /** `null`: what it would say is not durable yet. */
  #counts(host: Host): Counts | null {
    const counts = owners.run(host, () => host.shard.counts());
    return host.needsCommit ? null : counts;
  }

  /** The same deployment without an older layout is rolled out: Workers of both send requests from now on. */
  takeOut({ own, elders }: Deployment, title: string): void {
    const left = elders.filter((layout) => layoutTitle(layout) !== title);
    this.#workers.set(deploymentOf(own, ...left), shardCaller(this.#namespace));
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
      if (message.isHeard && (message.url === ASK_CALL.url || reply.response.status === 204)) continue;
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

  /** The durable records by their keys. A living one comes before one that has expired in another object. */
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
  decide(host: Host, id: DurableRow["id"], action: Change): string {
    const key = keyOf(id);
    if (this.facts.of(key).at(-1)?.object !== host.name) return "nothing: another object has a later record";
    const row = [...(this.#rows.get(host)?.keys() ?? [])].find((one) => one === id);
    const name = this.plan.deployments.flatMap(({ own, elders }) => [own, ...elders]).map((at) => nameIn(key, at));
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
