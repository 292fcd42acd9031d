// Picks the next step at random. The world determines which steps are possible, the plan how likely each is.

import { CHANGES, type Choices, DUPLICATES, STATUSES } from "../../../simulation/choices.ts";
import { layoutTitle } from "../../../../src/kernel/config/layout.ts";
import type { Host } from "../../../simulation/host.ts";
import { openCalls } from "../../../simulation/open-calls.ts";
import { act, type OriginCall } from "../../../simulation/origin.ts";
import type { Message } from "./network.ts";
import { type Deployment, FAULTS, type Kind, KINDS } from "./plan.ts";
import type { World } from "./world.ts";

const IS_FAULT: ReadonlySet<Kind> = new Set(FAULTS);

type Take = () => void;

export class Steps {
  readonly #world: World;
  readonly #choices: Choices;
  #requests = 0;
  #faults = 0;
  #decisions = 0;

  constructor(world: World, choices: Choices) {
    this.#world = world;
    this.#choices = choices;
  }

  /** Takes one step; `false` if none is possible. */
  take(): boolean {
    const { plan, origin, clock } = this.#world;
    origin.expire(clock);
    const takes = new Map(KINDS.map((kind) => [kind, this.#step(kind)] as const));
    const kind = this.#choices.draw(KINDS, (one) => ((takes.get(one) ?? null) === null ? 0 : plan.weights[one]));
    const take = kind === null ? null : (takes.get(kind) ?? null);
    if (kind === null || take === null) return false;
    if (IS_FAULT.has(kind)) this.#faults += 1;
    take();
    return true;
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
          this.#choices.trace(`delivered: ${message.what}`);
          world.deliver(message);
        });
      case "reply":
        return this.#some(network.with("replied"), (message) => {
          this.#choices.trace(`the reply comes: ${message.what}`);
          message.arrive();
        });
      case "commit":
        return this.#some(
          this.#hosts((host) => host.needsCommit),
          (host) => {
            this.#choices.trace(`commit in ${host.name}`);
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
          this.#choices.trace(`the connection for ${call.attempt.id} is lost`);
          call.lose();
        });
      case "operator":
        return this.#decisions < plan.decisions
          ? this.#some(world.records, ({ host, id }) => {
              this.#decisions += 1;
              const action = this.#choices.pick(CHANGES);
              this.#choices.trace(`an operator's ${action} in ${host.name}: ${world.decide(host, id, action)}`);
            })
          : null;
      case "limiter":
        return this.#some(world.limits, (answer) => {
          world.limits = world.limits.filter((one) => one !== answer);
          const isAllowed = this.#choices.choose(3) > 0;
          this.#choices.trace(`the limiter ${isAllowed ? "allows" : "refuses"} a new key`);
          answer(isAllowed);
        });
      case "close":
        return this.#some(plan.closers, (deployment) => this.#close(deployment));
      case "layout out":
        return this.#some(
          world.deployments.filter(({ previous }) => previous.length > 0),
          (deployment) => this.#takeOut(deployment),
        );
      case "layout out early":
        return this.#some(
          world.deployments.filter((deployment) => world.mayBeginLater(deployment)),
          (deployment) => this.#beginLater(deployment),
        );
      case "isolate lost":
        return this.#some(world.deployments, (deployment) => {
          this.#choices.trace(`the isolate of ${deployment.name} is lost`);
          world.startIsolate(deployment);
        });
      case "timer": {
        const timer = clock.next();
        if (timer === null || timer.dueMs > clock.nowMs) return null;
        return () => {
          this.#choices.trace(`a timer, due at ${timer.dueMs}`);
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
            this.#choices.trace(`${kind} in ${host.name}`);
            world.alarm(host, kind === "alarm twice");
          },
        );
      case "crash":
        return this.#some(
          this.#hosts((host) => host.hasInstance),
          (host) => {
            this.#choices.trace(`${host.name} crashes`);
            world.crash(host);
          },
        );
      case "message lost":
      case "message late":
        return this.#some(
          network.with("on its way").filter(({ isHeard }) => isHeard),
          (message) => {
            this.#choices.trace(`${kind}: ${message.what}`);
            message.giveUp();
            if (kind === "message lost") message.state = "over";
          },
        );
      case "message twice":
        return this.#some(network.with("on its way"), (message) => {
          this.#choices.trace(`${kind}: ${message.what}`);
          network.messages.push(message.again());
        });
      case "reply lost":
        return this.#some(this.#unanswered(), (message) => {
          this.#choices.trace(`${kind}: ${message.what}`);
          message.giveUp();
        });
      case "clock back":
        return () => {
          this.#choices.trace(kind);
          world.moveTo(clock.nowMs - 1 - this.#choices.choose(3));
        };
      case "disk full":
        return this.#some(
          this.#hosts(() => true),
          ({ disk, name }) => {
            this.#choices.trace(`the next write finds the disk of ${name} full`);
            disk.isFull = true;
          },
        );
    }
  }

  #some<T>(values: readonly T[], take: (value: T) => void): Take | null {
    return values.length === 0 ? null : () => take(this.#choices.pick(values));
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
    const key = this.#choices.pick(plan.keys);
    const deployment = this.#choices.pick(this.#world.deployments);
    const fingerprint = this.#choices.choose(12) === 0 ? "other" : "same";
    const duplicate = this.#choices.pick(DUPLICATES);
    this.#choices.trace(
      `request a${this.#requests} for ${key.slice(0, 8)} by ${deployment.name}: ${fingerprint}, ${duplicate}`,
    );
    this.#world.send(key, deployment, fingerprint, duplicate);
  }

  /** The object of one key in one previous layout of a deployment, in any order. */
  #close(deployment: Deployment): void {
    const at = this.#choices.pick(deployment.previous);
    const key = this.#choices.pick(this.#world.plan.keys);
    this.#choices.trace(`an operator of ${deployment.name} closes layout ${layoutTitle(at)} for ${key.slice(0, 8)}`);
    this.#world.close(deployment, at, key);
  }

  /** The oldest layout is taken out too early, or the deployment is rolled back to it with a list that begins later. */
  #beginLater(deployment: Deployment): void {
    const isBack = this.#choices.choose(2) === 0;
    const { name } = this.#world.beginLater(deployment, isBack);
    this.#choices.trace(`an operator deploys ${name} instead of ${deployment.name}, although records are left`);
  }

  /** An operator takes a layout out of the settings, if one may go. */
  #takeOut(deployment: Deployment): void {
    const gone = this.#world.layoutsOf(deployment).find(({ mayGo }) => mayGo);
    this.#choices.trace(`an operator takes out of ${deployment.name}: ${gone?.layout ?? "nothing"}`);
    if (gone !== undefined) this.#world.takeOut(deployment, gone.layout);
  }

  #originStep(kind: "arrive" | "act" | "answer" | "body", call: OriginCall): void {
    const world = this.#world;
    const { id } = call.attempt;
    switch (kind) {
      case "arrive":
        this.#choices.trace(`the call of ${id} arrives`);
        world.arrive(call);
        return;
      case "act":
        this.#choices.trace(`${id} takes effect`);
        act(call, world.rules);
        return;
      case "answer": {
        const drawn = this.#choices.pick(STATUSES);
        // 503 is honest: the origin has not acted and will not.
        const status = drawn === 503 && call.hasActed ? 500 : drawn;
        if (status === 201 && !call.hasActed) act(call, world.rules);
        const isWhole = this.#choices.choose(3) > 0;
        this.#choices.trace(`the origin answers ${id} with ${status}${isWhole ? "" : ", and more will come"}`);
        call.answer(status);
        call.send(`${id} ${status}`);
        if (isWhole) call.end();
        return;
      }
      case "body": {
        const isEnd = this.#choices.choose(3) > 0;
        this.#choices.trace(`${isEnd ? "the end" : "more"} of the answer to ${id}`);
        if (isEnd) call.end();
        else call.send(".");
      }
    }
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
    const to = this.#choices.pick(targets.filter((ms) => ms > clock.nowMs));
    this.#choices.trace(`time passes: ${clock.nowMs} to ${to}`);
    this.#world.moveTo(to);
  }
}
