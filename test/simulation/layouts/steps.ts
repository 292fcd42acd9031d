// Picks the next step at random. The world determines which steps are possible, the plan how likely each is.

import type { Host } from "../host.ts";
import { openCalls } from "../open-calls.ts";
import type { OriginCall } from "../origin.ts";
import type { Random, SequenceHash } from "../random.ts";
import type { Message } from "./network.ts";
import { FAULTS, type Kind, KINDS } from "./plan.ts";
import type { World } from "./world.ts";

const STATUSES = [201, 201, 201, 500, 503, 502];
const CHANGES = ["release", "resolve", "forget"] as const;
const DUPLICATES = ["reject", "wait", "attach"] as const;
const IS_FAULT: ReadonlySet<Kind> = new Set(FAULTS);

type Take = () => void;

export class Steps {
  readonly #world: World;
  readonly #random: Random;
  readonly #hash: SequenceHash;
  readonly #counts: Map<string, number>;
  readonly #trace: (what: string) => void;
  #requests = 0;
  #faults = 0;
  #decisions = 0;

  constructor(
    world: World,
    random: Random,
    hash: SequenceHash,
    counts: Map<string, number>,
    trace: (what: string) => void,
  ) {
    this.#world = world;
    this.#random = random;
    this.#hash = hash;
    this.#counts = counts;
    this.#trace = trace;
  }

  /** Takes one step; `false` if none is possible. */
  take(): boolean {
    const { plan, origin, clock } = this.#world;
    origin.expire(clock.latestMs);
    const possible = KINDS.map((kind, index) => ({ kind, index, weight: plan.weights[kind], take: this.#step(kind) }));
    const open = possible.filter(({ take, weight }) => take !== null && weight > 0);
    let at = this.#random.below(open.reduce((sum, { weight }) => sum + weight, 0));
    const chosen = open.find(({ weight }) => (at -= weight) < 0);
    if (chosen === undefined || chosen.take === null) return false;
    const { kind, index, take } = chosen;
    this.#hash.add(index);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    if (IS_FAULT.has(kind)) this.#faults += 1;
    take();
    return true;
  }

  /** A random choice that counts towards the interleaving's hash. */
  #choose(bound: number): number {
    const choice = this.#random.below(bound);
    this.#hash.add(choice);
    return choice;
  }

  #pick<T>(values: readonly T[]): T {
    const value = values[this.#choose(values.length)];
    if (value === undefined) throw new RangeError("nothing to choose from");
    return value;
  }

  /** What a step of this kind does; `null` if none is possible now. */
  #step(kind: Kind): Take | null {
    const world = this.#world;
    const { plan, clock, network } = world;
    if (IS_FAULT.has(kind) && this.#faults >= plan.faults) return null;
    switch (kind) {
      case "request":
        return this.#requests < plan.requests ? () => this.#request() : null;
      case "deliver":
        return this.#some(network.with("on its way"), (message) => {
          this.#trace(`delivered: ${message.what}`);
          world.deliver(message);
        });
      case "reply":
        return this.#some(network.with("replied"), (message) => {
          this.#trace(`the reply comes: ${message.what}`);
          message.arrive();
        });
      case "commit":
        return this.#some(
          this.#hosts((host) => host.needsCommit),
          (host) => {
            this.#trace(`commit in ${host.name}`);
            world.commit(host);
          },
        );
      case "arrive":
      case "act":
      case "answer":
      case "body":
        return this.#some(openCalls(world.origin)[kind], (call) => this.#originStep(kind, call));
      case "connection lost":
        return this.#some(openCalls(world.origin).lose, (call) => {
          this.#trace(`the connection for ${call.attempt.id} is lost`);
          call.lose();
        });
      case "operator":
        return this.#decisions < plan.decisions
          ? this.#some(world.records, ({ host, id }) => {
              this.#decisions += 1;
              const action = this.#pick(CHANGES);
              this.#trace(`an operator's ${action} in ${host.name}: ${world.decide(host, id, action)}`);
            })
          : null;
      case "close":
        return this.#some(
          this.#hosts(() => true),
          (host) => this.#close(host),
        );
      case "timer": {
        const timer = clock.next();
        if (timer === null || timer.dueMs > clock.nowMs) return null;
        return () => {
          this.#trace(`a timer, due at ${timer.dueMs}`);
          clock.fire(timer);
        };
      }
      case "time":
        return () => this.#pass();
      case "alarm":
      case "alarm twice":
        return this.#some(
          this.#hosts((host) => host.isAlarmDue(clock.nowMs)),
          (host) => {
            this.#trace(`${kind} in ${host.name}`);
            world.alarm(host, kind === "alarm twice");
          },
        );
      case "crash":
        return this.#some(
          this.#hosts((host) => host.hasInstance),
          (host) => {
            this.#trace(`${host.name} crashes`);
            world.crash(host);
          },
        );
      case "message lost":
      case "message late":
        return this.#some(
          network.with("on its way").filter(({ isHeard }) => isHeard),
          (message) => {
            this.#trace(`${kind}: ${message.what}`);
            message.giveUp();
            if (kind === "message lost") message.state = "over";
          },
        );
      case "message twice":
        return this.#some(network.with("on its way"), (message) => {
          this.#trace(`${kind}: ${message.what}`);
          network.messages.push(message.again());
        });
      case "reply lost":
        return this.#some(this.#unanswered(), (message) => {
          this.#trace(`${kind}: ${message.what}`);
          message.giveUp();
        });
      case "clock back":
        return () => {
          this.#trace(kind);
          world.moveTo(clock.nowMs - 1 - this.#choose(3));
        };
      case "disk full":
        return this.#some(
          this.#hosts(() => true),
          ({ disk, name }) => {
            this.#trace(`the next write finds the disk of ${name} full`);
            disk.isFull = true;
          },
        );
      case "code back":
        return this.#some(
          this.#hosts(() => true),
          (host) => {
            this.#trace(`${host.name} runs ${world.isOlder(host) ? "newer" : "older"} code`);
            world.changeCode(host, !world.isOlder(host));
          },
        );
    }
  }

  #some<T>(values: readonly T[], take: (value: T) => void): Take | null {
    return values.length === 0 ? null : () => take(this.#pick(values));
  }

  #hosts(which: (host: Host) => boolean): readonly Host[] {
    return [...this.#world.hosts.values()].filter((host) => which(host));
  }

  /** Messages that have been delivered and whose senders wait. */
  #unanswered(): readonly Message[] {
    const { network } = this.#world;
    return network.messages.filter(({ state, isHeard }) => isHeard && state !== "on its way" && state !== "over");
  }

  #request(): void {
    const { plan } = this.#world;
    this.#requests += 1;
    const key = this.#pick(plan.keys);
    const deployment = this.#pick(plan.deployments);
    const print = this.#choose(12) === 0 ? "other" : "same";
    const duplicate = this.#pick(DUPLICATES);
    this.#trace(`request a${this.#requests} for ${key.slice(0, 8)} by ${deployment.name}: ${print}, ${duplicate}`);
    this.#world.send(key, deployment, print, duplicate);
  }

  /** For a layout of a deployment that follows the object's own. */
  #close(host: Host): void {
    const { plan } = this.#world;
    const follows = plan.deployments.filter(({ elders }) =>
      elders.some(({ shards }) => host.name.endsWith(`-of-${shards}`)),
    );
    if (follows.length === 0) return;
    const { own } = this.#pick(follows);
    this.#trace(`an operator closes ${host.name} for ${own.shards}`);
    this.#world.close(host, own);
  }

  #originStep(kind: "arrive" | "act" | "answer" | "body", call: OriginCall): void {
    const world = this.#world;
    const { id } = call.attempt;
    switch (kind) {
      case "arrive":
        this.#trace(`the call of ${id} arrives`);
        world.arrive(call);
        return;
      case "act":
        this.#trace(`${id} takes effect`);
        this.#act(call);
        return;
      case "answer": {
        const drawn = this.#pick(STATUSES);
        // 503 is honest: the origin has not acted and will not.
        const status = drawn === 503 && call.hasActed ? 500 : drawn;
        if (status === 201 && !call.hasActed) this.#act(call);
        const isWhole = this.#choose(3) > 0;
        this.#trace(`the origin answers ${id} with ${status}${isWhole ? "" : ", and more will come"}`);
        call.answer(status);
        call.send(`${id} ${status}`);
        if (isWhole) call.end();
        return;
      }
      case "body": {
        const isEnd = this.#choose(3) > 0;
        this.#trace(`${isEnd ? "the end" : "more"} of the answer to ${id}`);
        if (isEnd) call.end();
        else call.send(".");
      }
    }
  }

  #act(call: OriginCall): void {
    call.hasActed = true;
    this.#world.rules.acts(call.attempt);
    if (!call.isHeard || call.status !== 0) call.work = "over";
  }

  /** Time moves a little, or to a deadline, or close to one. */
  #pass(): void {
    const { clock, facts, hosts } = this.#world;
    const targets = [clock.nowMs + 1];
    const timer = clock.next();
    if (timer !== null) targets.push(timer.dueMs, timer.dueMs);
    for (const { disk } of hosts.values()) if (disk.durableAlarmMs !== null) targets.push(disk.durableAlarmMs);
    for (const { lockedUntilMs, deadlineMs } of facts.rows.values()) {
      targets.push(lockedUntilMs - 1, lockedUntilMs, Math.max(deadlineMs, lockedUntilMs) + 1);
    }
    const to = this.#pick(targets.filter((ms) => ms > clock.nowMs));
    this.#trace(`time passes: ${clock.nowMs} to ${to}`);
    this.#world.moveTo(to);
  }
}
