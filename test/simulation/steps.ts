// Picks the next step at random. The world determines which steps are possible, the plan how likely each is.

import { FAULTS, isOwn, KINDS, type OwnKind } from "./plan.ts";
import { JUMPS_MS, LEAST_RETENTION_MS } from "./times.ts";
import { CHANGES, type Choices, DUPLICATES, STATUSES } from "./choices.ts";
import { type Calls, openCalls } from "./open-calls.ts";
import type { BucketCall } from "./bucket.ts";
import { act, type OriginCall, POISON_STATUS } from "./origin.ts";
import type { ClientRequest } from "./clients.ts";
import { READS } from "./states.ts";
import type { Verification } from "./verification.ts";
import type { Actors } from "./actors.ts";
import { FEATURES } from "./features.ts";
import { corruptions } from "./durable.ts";
import type { World } from "./world.ts";

const IS_FAULT: ReadonlySet<string> = new Set(FAULTS);

export class Steps {
  readonly #world: World;
  readonly #choices: Choices;
  /** Those of the features, by the kinds of their steps. */
  readonly #actors: ReadonlyMap<string, Actors>;
  #requests = 0;
  #faults = 0;
  #decisions = 0;

  constructor(world: World, choices: Choices) {
    this.#world = world;
    this.#choices = choices;
    this.#actors = new Map(
      world.actors.flatMap((actors, at) => {
        const { kinds = {}, faults = {} } = FEATURES[at] ?? {};
        return [...Object.keys(kinds), ...Object.keys(faults)].map((kind) => [kind, actors] as const);
      }),
    );
  }

  /** Takes one step; `false` if none is possible. */
  take(): boolean {
    const { plan, origin, clock } = this.#world;
    const { weights } = plan;
    origin.expire(clock);
    const calls = openCalls(this.#world.origin);
    const kind = this.#choices.draw(KINDS, (one) => (this.#isPossible(one, calls) ? (weights[one] ?? 0) : 0));
    if (kind === null) return false;
    if (IS_FAULT.has(kind)) this.#faults += 1;
    if (isOwn(kind)) this.#do(kind, calls);
    else this.#actors.get(kind)?.do(kind, this.#choices);
    return true;
  }

  #isPossible(kind: string, calls: Calls): boolean {
    const { plan } = this.#world;
    if (IS_FAULT.has(kind) && this.#faults >= plan.faults) return false;
    return isOwn(kind) ? this.#isOwnPossible(kind, calls) : (this.#actors.get(kind)?.isPossible(kind) ?? false);
  }

  #isOwnPossible(kind: OwnKind, calls: Calls): boolean {
    const { plan, disk, clock, clients } = this.#world;
    switch (kind) {
      case "request":
        return this.#requests < plan.requests && plan.sendsRequests;
      case "commit":
        return this.#world.needsCommit;
      case "commit fails":
        return disk.isDirty;
      case "arrive":
      case "act":
      case "answer":
      case "body":
        return calls[kind].length > 0;
      case "connection lost":
        return calls.lose.length > 0;
      case "bucket":
      case "bucket fails":
        return this.#bucketCalls().length > 0;
      case "limiter":
        return this.#world.limits.length > 0;
      case "unreadable":
        return plan.sendsRequests && this.#world.facts.rows.size > 0;
      case "operator":
        return this.#decisions < plan.decisions && this.#world.facts.rows.size > 0;
      case "reads on":
        return clients.with("stalls").length > 0;
      case "client stalls":
        return this.#readers().length > 0;
      case "upload cut":
        return this.#world.uploads().length > 0;
      case "verification":
        return this.#verifications().length > 0;
      case "delivered again":
        return this.#deliverable().length > 0;
      case "timer": {
        const timer = clock.next();
        return timer !== null && timer.dueMs <= clock.nowMs;
      }
      case "alarm":
      case "alarm twice":
      case "alarm dropped":
        return this.#world.isAlarmDue;
      case "client leaves":
        return this.#leavable().length > 0;
      case "crash":
        return this.#world.hasInstance;
      case "clock ahead":
        return plan.jumps && clock.aheadMs === 0;
      case "clock right":
        return clock.aheadMs > 0;
      case "time":
      case "clock back":
      case "disk full":
      case "unreachable":
        return true;
    }
  }

  #do(kind: OwnKind, calls: Calls): void {
    const world = this.#world;
    switch (kind) {
      case "request": {
        this.#requests += 1;
        const record = `r${this.#choices.choose(world.plan.records)}`;
        const fingerprint = this.#choices.choose(10) === 0 ? "other" : "same";
        const duplicate = this.#choices.pick(DUPLICATES);
        const client = world.plan.credentials > 1 ? this.#choices.choose(world.plan.credentials) : 0;
        const who = world.plan.credentials > 1 ? `, by client ${client}` : "";
        const variants = world.actors.flatMap((one) => one.variant?.(this.#choices) ?? []);
        const how = variants.map(({ what }) => `, ${what}`).join("");
        this.#choices.trace(`request a${this.#requests} for ${record}: ${fingerprint}, ${duplicate}${who}${how}`);
        world.send(record, fingerprint, duplicate, client, (head) => variants.reduce((one, { of }) => of(one), head));
        return;
      }
      case "commit":
        this.#choices.trace("commit");
        world.commit();
        return;
      case "commit fails":
      case "crash":
        this.#choices.trace(kind);
        world.crash();
        return;
      case "arrive": {
        const call = this.#choices.pick(calls.arrive);
        this.#choices.trace(`the call of ${call.attempt.id} arrives`);
        world.arrive(call);
        return;
      }
      case "act": {
        const call = this.#choices.pick(calls.act);
        this.#choices.trace(`${call.attempt.id} takes effect`);
        act(call, world.rules);
        return;
      }
      case "answer":
        this.#answer(this.#choices.pick(calls.answer));
        return;
      case "body": {
        const call = this.#choices.pick(calls.body);
        const isEnd = call.left === null && this.#choices.choose(3) > 0;
        this.#choices.trace(`${isEnd ? "the end" : "more"} of the answer to ${call.attempt.id}`);
        if (isEnd) call.end();
        else call.send(".");
        return;
      }
      case "verification": {
        const verification = this.#choices.pick(this.#verifications());
        this.#choices.trace(
          `asked about ${verification.record}, the origin says ${this.#answerQuestion(verification)}`,
        );
        return;
      }
      case "bucket": {
        const call = this.#choices.pick(this.#bucketCalls());
        this.#choices.trace(`the bucket: ${call.what}`);
        call.finish();
        return;
      }
      case "bucket fails": {
        const call = this.#choices.pick(this.#bucketCalls());
        const isDone = this.#choices.choose(2) === 0;
        this.#choices.trace(`the bucket fails: ${call.what}${isDone ? ", which is done" : ""}`);
        if (isDone) call.act();
        call.fail();
        return;
      }
      case "limiter": {
        const answer = this.#choices.pick(world.limits);
        world.limits = world.limits.filter((one) => one !== answer);
        const isAllowed = this.#choices.choose(3) > 0;
        this.#choices.trace(`the limiter ${isAllowed ? "allows" : "refuses"} a new key`);
        answer(isAllowed);
        return;
      }
      case "operator": {
        this.#decisions += 1;
        const record = this.#choices.pick([...world.facts.rows.keys()]);
        const action = this.#choices.pick(CHANGES);
        this.#choices.trace(`an operator's ${action} of ${record}: ${world.decide(record, action)}`);
        return;
      }
      case "reads on": {
        const request = this.#choices.pick(world.clients.with("stalls"));
        this.#choices.trace(`${request.name} reads on`);
        world.clients.readOn(request);
        return;
      }
      case "client stalls": {
        const request = this.#choices.pick(this.#readers());
        this.#choices.trace(`${request.name} reads no more`);
        world.clients.stall(request);
        return;
      }
      case "upload cut": {
        const request = this.#choices.pick(world.uploads());
        this.#choices.trace(`the body of ${request.name} breaks off`);
        world.cut(request);
        return;
      }
      case "delivered again": {
        const request = this.#choices.pick(this.#deliverable());
        this.#choices.trace(`${request.name} is delivered again`);
        world.sendAgain(request);
        return;
      }
      case "connection lost": {
        const call = this.#choices.pick(calls.lose);
        this.#choices.trace(`the connection for ${call.attempt.id} is lost`);
        call.lose();
        return;
      }
      case "timer": {
        const timer = world.clock.next();
        this.#choices.trace(`a timer, due at ${timer?.dueMs}`);
        if (timer !== null) world.clock.fire(timer);
        return;
      }
      case "time":
        this.#pass();
        return;
      case "alarm":
        this.#choices.trace(kind);
        void world.alarm();
        return;
      case "alarm twice":
        this.#choices.trace("the alarm, and it will come again");
        void world.alarmAgain();
        return;
      case "alarm dropped":
        this.#choices.trace(kind);
        world.dropAlarm();
        return;
      case "client leaves": {
        const request = this.#choices.pick(this.#leavable());
        this.#choices.trace(`the client of ${request.name} leaves`);
        world.clients.leave(request);
        return;
      }
      case "clock ahead": {
        const ms = this.#choices.pick(JUMPS_MS);
        this.#choices.trace(`the clock is ahead by ${ms} ms`);
        world.setAhead(ms);
        return;
      }
      case "clock right":
        this.#choices.trace("the clock is right again");
        world.setAhead(0);
        return;
      case "clock back":
        this.#choices.trace(kind);
        world.moveTo(world.clock.nowMs - 1 - this.#choices.choose(3));
        return;
      case "disk full":
        this.#choices.trace("the next write finds the disk full");
        world.disk.isFull = true;
        return;
      case "unreachable":
        this.#choices.trace("the next call finds nobody");
        world.isUnreachable = true;
        return;
      case "unreadable": {
        const row = this.#choices.pick([...world.facts.rows.values()]);
        const change = this.#choices.pick(corruptions(row));
        this.#choices.trace(`a new instance finds ${row.id} (${row.state}) with ${change}`);
        world.corrupt(row.id, change);
      }
    }
  }

  #verifications(): readonly Verification[] {
    const { verifications, disk } = this.#world;
    return verifications.filter(({ isOpen, hangs, gate }) => isOpen && !hangs && gate <= disk.durable);
  }

  /** The clients that read, or will read. */
  #readers(): readonly ClientRequest[] {
    const { clients } = this.#world;
    const may = ({ taker, stalled }: ClientRequest): boolean => taker === null && stalled === null;
    return [...clients.with("reads"), ...clients.with("waits")].filter(may);
  }

  /** A queue's consumer waits to the end. */
  #leavable(): readonly ClientRequest[] {
    return this.#world.clients.unanswered().filter(({ taker }) => taker === null);
  }

  #bucketCalls(): readonly BucketCall[] {
    const { bucket, disk } = this.#world;
    return bucket?.calls.filter(({ gate }) => gate <= disk.durable) ?? [];
  }

  #answerQuestion(verification: Verification): string {
    const world = this.#world;
    const { nowMs } = world.clock;
    if (verification.trickleMs !== null) {
      verification.feed(nowMs);
      return "a byte more";
    }
    if (this.#choices.choose(4) > 0) {
      return world.answerQuestion(verification, world.plan.readsState !== null ? this.#choices.pick(READS) : "at once");
    }
    switch (this.#choices.choose(world.plan.extras.has("trickles") ? 4 : 2)) {
      case 0:
        verification.lose();
        return "nothing: the connection breaks";
      case 1:
        verification.answer(503, "");
        return "503";
      case 2:
        verification.hangs = true;
        return "nothing, ever";
      default:
        verification.trickle(nowMs);
        return "200, and a byte now and then";
    }
  }

  /** The requests that may be delivered again: only recent ones. */
  #deliverable(): readonly ClientRequest[] {
    const { clients, clock } = this.#world;
    return clients.requests.filter(
      ({ sentRightMs, state, isRepeatable, taker }) =>
        state === "is done" && isRepeatable && taker === null && clock.latestRightMs < sentRightMs + LEAST_RETENTION_MS,
    );
  }

  /** 503 is honest: the origin has not acted and will not. */
  #answer(call: OriginCall): void {
    const drawn = this.#choices.pick(STATUSES);
    const honest = drawn === 503 && call.hasActed ? 500 : drawn;
    const status = call.isPoison ? POISON_STATUS : honest;
    if (status === 201 && !call.hasActed) act(call, this.#world.rules);
    const isWhole = this.#choices.choose(2) === 0;
    this.#choices.trace(`the origin answers ${call.attempt.id} with ${status}${isWhole ? "" : ", and more will come"}`);
    const text = `${call.attempt.id} ${status}`;
    const hasLength = this.#world.plan.extras.has("lengths") && this.#choices.choose(2) === 0;
    const more = isWhole ? 0 : this.#choices.choose(3);
    call.answer(status, hasLength ? text.length + more : null);
    call.send(text);
    if (isWhole && call.isAnswering) call.end();
  }

  /** Time moves a little, or to a deadline, or close to one. */
  #pass(): void {
    const { clock, disk, facts, actors } = this.#world;
    const targets = [clock.nowMs + 1];
    const timer = clock.next();
    if (timer !== null) targets.push(timer.dueMs, timer.dueMs);
    if (disk.durableAlarmMs !== null) targets.push(disk.durableAlarmMs);
    for (const { lockedUntilMs, deadlineMs, accepted } of facts.rows.values()) {
      if (accepted !== null) targets.push(accepted.giveUpAt, accepted.giveUpAt + 1);
      targets.push(lockedUntilMs - 1, lockedUntilMs, Math.max(deadlineMs, lockedUntilMs) + 1);
    }
    for (const one of actors) targets.push(...(one.times?.() ?? []));
    const to = this.#choices.pick(targets.filter((ms) => ms > clock.nowMs));
    this.#choices.trace(`time passes: ${clock.nowMs} to ${to}`);
    this.#world.moveTo(to);
  }
}
