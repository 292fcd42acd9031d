// The world of one interleaving: the object and its disk, the origin, the clients, the clock, and what can happen to each.
// Every method is one step. steps.ts and calm.ts decide their order.

import { RequestBody } from "../../src/kernel/body/request-body.ts";
import { recordId } from "../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../src/kernel/request/message.ts";
import type { Actors, RequestVariant } from "./actors.ts";
import { AnswerRules } from "./answers.ts";
import { Bucket } from "./bucket.ts";
import type { Origin as OriginOf } from "../../src/kernel/config/resolved.ts";
import { type ClientRequest, Clients, contentOf, type Duplicate, headFor } from "./clients.ts";
import { Clock } from "./clock.ts";
import type { Disk } from "./disk.ts";
import type { OperatorChange } from "../../src/kernel/record/timeline.ts";
import { decide } from "./operators.ts";
import { type CurrentRow, currentRow, durableBytes, durableRows, leftovers, notedUploads } from "./durable.ts";
import { ends, hasResult } from "./ends.ts";
import { type AttemptFacts, Facts, startedAttempt } from "./facts.ts";
import { FEATURES } from "./features.ts";
import { Host } from "./host.ts";
import { Origin, OriginCall } from "./origin.ts";
import type { Plan } from "./plan.ts";
import { LAGS_MS, type StateKind, type StateRead, stateText } from "./states.ts";
import { SETTLE_MS, START_MS, TIMEOUT_MS } from "./times.ts";
import { type PlainRequest, quiet, textOf } from "./platform.ts";
import { PutOffRules } from "./put-off.ts";
import { Verification } from "./verification.ts";
import { ALARM_RETRY_MS, Rules } from "./rules.ts";
import { Shard } from "./shard.ts";
import { target } from "./stand-ins.ts";

/** The name of the only object. */
const OBJECT = "";

const KEY_COUNT = { binding: "NEW_KEYS", caller: "a caller" };

/** The longest that a question may take: until its head, plus one pause of its body. */
const VERIFICATION_MS = 3 * TIMEOUT_MS;

/** Who asks, and how. */
type Delivering = Partial<Pick<ClientRequest, "sentMs" | "sentRightMs" | "taker">> & { readonly content?: string };
interface Asking extends Partial<Pick<ClientRequest, "sentMs" | "sentRightMs" | "isRepeatable" | "taker">> {
  readonly credential: string;
}

const KEY_HEADERS = ["Idempotency-Key", "X-Key"] as const;

export class World {
  readonly plan: Plan;
  readonly clock = new Clock(START_MS);
  readonly disk: Disk;
  readonly facts = new Facts();
  readonly rules: Rules;
  readonly origin = new Origin();
  readonly clients: Clients;
  /** Of the features, in the order of their list. */
  readonly actors: readonly Actors[];
  readonly #putOffRules: PutOffRules;
  readonly bucket: Bucket | null;
  readonly trace: (what: string) => void;
  readonly host: Host;
  /** The requests, by the id of the attempt that each may start. */
  readonly #heads = new Map<string, ExchangeHead>();
  /** Their bodies. */
  readonly #contents = new Map<string, string>();
  #sent = 0;
  /** How often requests have been delivered, and at which of these each was delivered last. */
  delivered = 0;
  readonly #deliveredAt = new Map<string, number>();
  /** Whether the next call cannot connect to the origin. */
  isUnreachable = false;
  verifications: Verification[] = [];
  /** Whether the clock was ahead, and how many writes had failed when it was put right. */
  #hasBeenAhead = false;
  #refusals = 0;
  /** What the rate limiter has been asked and has not answered yet. */
  limits: ((success: boolean) => void)[] = [];

  constructor(plan: Plan, disk: Disk, trace: (what: string) => void) {
    this.plan = plan;
    this.disk = disk;
    this.trace = trace;
    this.rules = new Rules(plan, this.clock, () => disk.hasFailed, this.facts);
    this.#putOffRules = new PutOffRules(this.clock, this.rules);
    const answers = new AnswerRules(this.clock, this.facts, this.rules, plan, (...heard) =>
      firstOf(this.actors, (one) => one.hears?.(...heard)),
    );
    this.clients = new Clients(answers, plan.keptBytes, trace);
    this.bucket = plan.hasBucket ? new Bucket(() => disk.written) : null;
    this.host = new Host(OBJECT, disk, (host) => this.#instance(host));
    this.actors = FEATURES.map((feature) => feature.begin(this));
    disk.clear();
  }

  /** The id of the attempt that the request may start which is delivered right now. */
  #arriving: string | null = null;

  /** Whether an instance of the object exists. */
  get hasInstance(): boolean {
    return this.host.hasInstance;
  }

  get needsCommit(): boolean {
    return this.host.needsCommit;
  }

  send(
    record: string,
    fingerprint: string,
    duplicate: Duplicate,
    client = 0,
    variantOf: RequestVariant["of"] = (head) => head,
  ): void {
    this.#sent += 1;
    const credential = `client ${client}`;
    const plain = headFor(this.plan, record, fingerprint, `a${this.#sent}`, duplicate, credential);
    const head = variantOf(this.actors.reduce((one, actors) => actors.route?.(one) ?? one, plain));
    this.deliver(this.plan.limitsKeys ? { ...head, newKeys: KEY_COUNT } : head, credential);
  }

  /** Delivers the same request again, because its sender has lost the connection to its answer. */
  sendAgain({ head, credential, sentMs, sentRightMs }: ClientRequest): void {
    this.deliver(head, credential, { sentMs, sentRightMs });
  }

  deliver(head: ExchangeHead, credential: string, { content, ...asking }: Delivering = {}): void {
    const { attemptId: id, fingerprint } = head.request;
    this.#heads.set(id, head);
    const text = content ?? (head.call.hasBody ? contentOf(head.record.key, fingerprint) : "");
    this.#contents.set(id, text);
    this.delivered += 1;
    this.#deliveredAt.set(id, this.delivered);
    const request = this.#asked(`request ${id}`, head, { credential, ...asking });
    const bytes = new TextEncoder().encode(text);
    const open = (broke: () => void): Uint8Array => {
      request.cut = broke;
      return bytes;
    };
    const body = new RequestBody({
      open,
      users: 1,
      free: () => undefined,
      stored: () => ({ kind: "inline", bytes }),
    });
    this.#arriving = id;
    const exchange = this.host.shard.run(head, body, request.caller);
    this.#arriving = null;
    this.#expect(request, exchange);
  }

  /** A client asks something about a request instead of sending it. */
  ask(what: string, record: string, fingerprint: string, answerOf: (request: ClientRequest) => Promise<unknown>): void {
    this.#sent += 1;
    const head = headFor(this.plan, record, fingerprint, `a${this.#sent}`, "reject", "client 0");
    const request = this.#asked(`${what} ${this.#sent}`, head, { credential: "client 0", isRepeatable: false });
    this.#expect(request, answerOf(request));
  }

  #asked(
    name: string,
    head: ExchangeHead,
    { credential, sentMs = this.clock.nowMs, sentRightMs = this.clock.rightMs, ...how }: Asking,
  ): ClientRequest {
    const { key: record } = head.record;
    return {
      name,
      record,
      fingerprint: head.request.fingerprint,
      head,
      sentMs,
      sentRightMs,
      credential,
      sentAfter: this.#sent,
      caller: new AbortController(),
      heardBefore: this.facts.reported.get(record) ?? null,
      erasures: this.facts.erasuresOf(record),
      isRepeatable: how.isRepeatable ?? true,
      taker: how.taker ?? null,
      state: "waits",
      held: null,
      reader: null,
      stalled: null,
      cut: null,
      text: "",
    };
  }

  #expect(request: ClientRequest, answer: Promise<unknown>): void {
    const { life } = this.host;
    this.clients.expect(
      request,
      answer,
      () => this.disk.written,
      () => life !== this.host.life,
    );
  }

  #instance(host: Host): Shard {
    return new Shard({
      disk: host.disk,
      bucket: this.bucket,
      sync: () => host.sync(),
      target: (origin) => this.#target(origin),
      limiter: () => ({
        limit: () => new Promise((resolve) => this.limits.push((success) => resolve({ success }))),
      }),
      features: this.actors.flatMap(({ object }) => object ?? []),
      env: Object.assign({}, ...this.actors.map(({ bindings }) => bindings)),
    });
  }

  #target(origin: OriginOf): Fetcher | null {
    if (origin.kind === "binding") return this.#ask(origin.binding);
    const name = origin.kind === "url" ? origin.url : "";
    const head = this.#heads.get(name);
    if (head === undefined) return null;
    // A request that is delivered again may start an attempt under another id than its own.
    const claim = currentRow(this.disk, head.record.id);
    return this.#begin(claim?.state === "started" ? claim : null, head, name);
  }

  #ask(record: string): Fetcher {
    const { nowMs, rightMs } = this.clock;
    return target((request) => {
      const verification = new Verification(
        record,
        this.facts.of(record).at(-1),
        { nowMs, rightMs },
        this.disk.written,
        request,
      );
      this.verifications.push(verification);
      this.facts.verifications.set(record, verification);
      return verification.response;
    });
  }

  /** The origin answers a question truthfully: with the effect, if there is one that the credential may see. `read`: how it reads its state. */
  answerQuestion(verification: Verification, read: StateRead = "at once"): string {
    const { record, credential, attempt: owner } = verification;
    const { readsState } = this.plan;
    if (readsState !== null && owner !== undefined) return this.#answerState(readsState, verification, owner, read);
    const effect = this.rules.effectOf(record);
    const isForeign = effect !== null && effect.attempt.credential !== credential;
    if (effect === null || isForeign || owner === undefined) {
      // An effect that the attempt's own credential may not see belongs to an earlier attempt, which an operator released.
      if (owner?.credential === credential) {
        owner.absentAtMs = verification.askedMs >= owner.lockedUntilMs ? this.clock.nowMs : null;
        if (owner.absentAtMs !== null) ends(owner, this.clock);
      }
      verification.answer(404, "");
      return isForeign ? "404, to another client" : "404";
    }
    const text = `${owner.id} 200`;
    owner.wholes.push(text);
    owner.answeredAtMs ??= this.clock.nowMs;
    hasResult(owner, this.clock);
    verification.answer(200, text);
    return "200";
  }

  #answerState(kind: StateKind, verification: Verification, owner: AttemptFacts, read: StateRead): string {
    const { record, credential, askedMs } = verification;
    const effect = this.rules.effectOf(record);
    if (effect !== null && effect.attempt.credential !== credential) {
      verification.answer(404, "");
      return "404, to another client";
    }
    const shows = effect !== null && this.clock.rightMs - effect.rightMs >= LAGS_MS[read];
    const { body, headers, given, saysNo } = stateText(kind, record, shows ? owner.id : null, read);
    if (given !== null) {
      owner.wholes.push(given);
      owner.answeredAtMs ??= this.clock.nowMs;
      hasResult(owner, this.clock);
    } else if (saysNo && owner.credential === credential) {
      owner.absentAtMs = askedMs >= owner.lockedUntilMs + SETTLE_MS ? this.clock.nowMs : null;
      if (owner.absentAtMs !== null) ends(owner, this.clock);
    }
    verification.answer(200, body, headers);
    return `${read}: ${body}`;
  }

  /** An attempt starts: the gateway looks up the destination of its call in the same turn. */
  #begin(claim: CurrentRow | null, head: ExchangeHead, name: string): Fetcher | null {
    const id = claim?.attemptId ?? name;
    // A request that starts at once is not yet in the list.
    const waiting =
      this.#arriving === name
        ? undefined
        : this.clients.requests.findLast(
            ({ head: { request }, state }) => request.attemptId === name && state === "waits",
          );
    const content = this.#contents.get(name) ?? "";
    const attempt = startedAttempt(OBJECT, id, head, this.clock, this.#sent, content);
    const isAccepted = claim !== null && claim.accepted !== null;
    // An accepted request starts by itself, whoever waits for it.
    this.rules.starts(attempt, isAccepted ? null : (waiting?.sentAfter ?? null));
    if (isAccepted) {
      const isDue = this.#arriving !== name && waiting === undefined;
      for (const one of this.actors) one.starts?.(attempt, claim, isDue, this.#deliveredAt.get(name) ?? 0);
    }
    this.facts.add(attempt);
    if (this.isUnreachable) {
      this.isUnreachable = false;
      attempt.isInFlight = false;
      attempt.isRefused = true;
      return null;
    }
    const fetch = (request: PlainRequest): Promise<object> => {
      const call = new OriginCall(attempt, this.disk.written, this.plan.keptBytes, this.clock, () => this.#sent);
      if (isAccepted) this.#carries(attempt, request);
      this.rules.identifies(
        attempt,
        KEY_HEADERS.map((header) => `${header}: ${request.headers.get(header)}`).join(", "),
      );
      const response = this.origin.fetch(request, call);
      this.release();
      return response;
    };
    return target(fetch);
  }

  /** The origin gets what the client has sent, however long ago. */
  #carries(attempt: AttemptFacts, { body }: PlainRequest): void {
    // A body that breaks off has lost its instance.
    const carried = (text: string): null => {
      for (const one of this.actors) one.carries?.(attempt, text);
      return null;
    };
    textOf(body).then(carried, () => undefined);
  }

  /** Lets everything continue until nothing can. */
  async rest(): Promise<void> {
    do await quiet();
    while (this.release());
    for (const one of this.actors) one.rests?.();
    this.#judgeTimers();
    this.#judgeVerifications();
  }

  /** As long as no answer has begun, only waiting needs timers. */
  #judgeTimers(): void {
    const isAnswering = this.origin.calls.some(({ status, isHeard }) => isHeard && status !== 0);
    const { requests } = this.clients;
    const reads = requests.some(({ state }) => state === "reads" || state === "stalls");
    if (isAnswering || reads || this.host.isHandlingAlarm || !this.plan.extras.has("leavers")) return;
    const inFlight = new Set(this.facts.inFlight().map(({ id }) => id));
    // The client of an accepted request waits with a timer of its own.
    const waiting = requests.filter(
      ({ state, head, taker }) =>
        state === "waits" && (head.async !== undefined || taker !== null || !inFlight.has(head.request.attemptId)),
    );
    const others = this.actors.reduce((sum, one) => sum + (one.timers?.() ?? 0), 0);
    this.rules.rests(this.clock.count - others, waiting.length);
  }

  #judgeVerifications(): void {
    for (const verification of this.verifications) {
      const forMs = this.clock.latestRightMs - verification.askedRightMs;
      const timer = this.clock.next();
      // A due timer may fire late.
      const isLate = timer !== null && timer.dueMs <= this.clock.nowMs;
      if (!verification.isOpen || isLate || forMs <= VERIFICATION_MS) continue;
      this.rules.broken(
        "G8",
        `a question about ${verification.record} goes on after ${forMs} ms, expected at most ${VERIFICATION_MS} ms`,
      );
      verification.lose();
    }
  }

  /** The client's connection breaks during its upload, so the origin never gets the whole body. */
  cut(request: ClientRequest): void {
    for (const call of this.origin.calls) if (call.attempt.id === request.head.request.attemptId) call.work = "over";
    this.clients.leave(request);
    request.cut?.();
  }

  /** The requests whose bodies are still being sent. */
  uploads(): readonly ClientRequest[] {
    if (!this.plan.streams) return [];
    const flowing = this.origin.calls.filter(
      ({ work, isHeard, status }) => isHeard && status === 0 && (work === "held" || work === "on the wire"),
    );
    const ids = new Set(flowing.map(({ attempt }) => attempt.id));
    return this.clients.requests.filter(({ state, head }) => state === "waits" && ids.has(head.request.attemptId));
  }

  /** An operator decides about a record. Returns a short description of the result. */
  decide(record: string, action: OperatorChange): string {
    const own = firstOf(this.actors, (one) => one.decide?.(record, action));
    const erased = (): (() => void) => this.erased(record);
    return own ?? decide(this, this.host, { key: record, id: recordId(record), erased }, action);
  }

  /** People have erased the record. Returns how to undo that. */
  erased(record: string): () => void {
    this.facts.erase(record);
    const undos = this.actors.map((one) => one.erased?.(record));
    return () => {
      for (const undo of undos) undo?.();
    };
  }

  /** Opens the output gate for everything whose writes are durable. Returns whether a client got something. */
  release(): boolean {
    for (const call of this.origin.calls) {
      if (call.work !== "held" || call.gate > this.disk.durable) continue;
      call.work = "on the wire";
      this.trace(`        the call of ${call.attempt.id} leaves, as attempt ${call.attempt.number}`);
      this.rules.leaves(call.attempt);
    }
    for (const one of this.actors) one.release?.(this.disk.durable);
    return this.clients.release(this.disk.durable);
  }

  /** The origin starts to work on a call. */
  arrive(call: OriginCall): void {
    this.origin.expire(this.clock);
    this.rules.arrives(call.attempt, this.origin.atWork());
    call.work = "at work";
  }

  commit(): void {
    this.host.commit(() => {
      this.facts.rows = durableRows(this.disk, this.facts.unreadable);
      this.facts.commit(OBJECT, this.disk.durable);
      this.bucket?.note(notedUploads(this.disk));
      this.facts.learnBytes(durableBytes(this.disk));
      if (this.plan.makesAttempts) this.rules.commits(this.disk, this.facts.rows.values());
      else this.rules.judgeAlarm(this.disk, [...this.facts.rows.values()]);
      this.#putOffRules.commits(this.facts.rows.values());
      for (const one of this.actors) one.commits?.();
    });
    this.release();
  }

  /** The object is lost with its memory, its connections, and everything that was not durable. */
  crash(): void {
    if (this.#hasBeenAhead) this.rules.isClockSeen = false;
    this.verifications = [];
    this.limits = [];
    for (const one of this.actors) one.crash?.();
    this.bucket?.crash(this.disk.durable);
    this.host.crash();
    this.clock.clearAll();
    this.facts.crash(OBJECT);
    this.origin.crash(OBJECT);
    this.origin.expire(this.clock);
    this.clients.crash();
  }

  /** A new instance finds a row that a mistaken change of the schema has left. */
  corrupt(record: string, change: string): void {
    this.crash();
    this.disk.statement(`UPDATE records SET ${change} WHERE id = ?`).run(record);
    this.disk.commit();
    this.facts.unreadable.add(record);
    this.facts.reported.delete(record);
    this.erased(record);
    this.facts.rows = durableRows(this.disk, this.facts.unreadable);
  }

  moveTo(ms: number): void {
    this.clock.moveTo(ms);
    this.origin.expire(this.clock);
  }

  get isAlarmDue(): boolean {
    return this.host.isAlarmDue(this.clock.nowMs);
  }

  async alarm(): Promise<void> {
    const { life } = this.host;
    this.#excuse(await this.host.alarm());
    if (life === this.host.life) this.sees();
  }

  /** Somebody sets the clock: it is ahead by so much, or right. */
  setAhead(ms: number): void {
    const byMs = ms - this.clock.aheadMs;
    this.clock.setAhead(ms);
    for (const verification of this.verifications) if (verification.trickleMs !== null) verification.trickleMs += byMs;
    this.origin.expire(this.clock);
    if (byMs >= 0) return;
    this.#hasBeenAhead = true;
    this.rules.isClockSeen = false;
    // A pause that a clock ahead has begun is no excuse any more. One that began before goes on.
    const { nowMs } = this.clock;
    if (this.rules.excusedUntilMs > nowMs + ALARM_RETRY_MS) this.rules.excusedUntilMs = 0;
    if (this.disk.refusedAtMs > nowMs) this.disk.refusedAtMs = 0;
    this.#refusals = this.disk.refusals;
    for (const one of this.actors) one.corrects?.();
  }

  /** What is left in the object, but what cannot be read. */
  leftovers(): readonly string[] {
    return [...leftovers(this.disk, this.facts.unreadable), ...this.actors.flatMap((one) => one.left?.() ?? [])];
  }

  get hasBeenAhead(): boolean {
    return this.#hasBeenAhead;
  }

  /** The object has looked at the clock, and at what it has put off; not if a write has failed since. */
  sees(): void {
    if (this.disk.refusals === this.#refusals) this.rules.isClockSeen = true;
  }

  async alarmAgain(): Promise<void> {
    this.#excuse(await this.host.alarmAgain());
  }

  #excuse(againMs: number | null): void {
    if (againMs !== null) this.rules.excusedUntilMs = againMs;
  }

  /** The platform drops the alarm for good, as it does after too many failures of its handler. */
  dropAlarm(): void {
    this.crash();
    this.disk.setAlarm(null);
    this.disk.commit();
    this.rules.isAlarmDropped = true;
  }
}

/** What the first of them says; `null` if none says anything. */
function firstOf<T>(actors: readonly Actors[], ask: (one: Actors) => T | null | undefined): T | null {
  for (const one of actors) {
    const said = ask(one);
    if (said !== null && said !== undefined) return said;
  }
  return null;
}
