// After the faults: everything pending is carried out in order, a request of every deployment is answered, all time passes, and
// then nothing may be left but what closed objects have to keep (G8).

import { leftovers } from "../../../simulation/durable.ts";
import { complete } from "../../../simulation/origin.ts";
import type { World } from "./world.ts";

/** More than any interleaving needs. One that takes more steps never ends. */
const MOST_STEPS = 2000;

export async function calm(world: World, trace: (what: string) => void): Promise<void> {
  trace("the faults end");
  const { plan, rules, clients, unanswered } = world;
  for (const host of world.hosts.values()) {
    host.disk.isFull = false;
  }
  await settle(world, trace);
  const before = unanswered.length;
  await askAll(world, trace);
  trace("operators close what can be closed");
  for (const closer of plan.closers) {
    for (const at of closer.previous) for (const key of plan.keys) world.close(closer, at, key);
    await settle(world, trace);
  }
  await askAll(world, trace);
  for (const { name, deployment } of unanswered.slice(before)) {
    if (!plan.isContradiction) rules.broken("G8", `no object answers ${name}, which ${deployment.name} has sent`);
  }
  await passTime(world, trace);
  const left = [...world.hosts.values()].flatMap(({ disk, name }) =>
    leftovers(disk).map((table) => `${table} in ${name}`),
  );
  rules.ends(
    left,
    clients.unanswered().map(({ name }) => name),
  );
}

/** A request of each deployment. */
async function askAll(world: World, trace: (what: string) => void): Promise<void> {
  for (const deployment of world.deployments) world.send(world.plan.keys[0] ?? "", deployment, "same", "wait");
  await settle(world, trace);
}

/** Everything but the alarms: messages, commits, calls, timers. */
async function settle(world: World, trace: (what: string) => void): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    await world.rest();
    if (!settleOne(world, trace)) return;
  }
  world.rules.broken("G8", `it never comes to rest: still busy after ${MOST_STEPS} steps without faults`);
}

function settleOne(world: World, trace: (what: string) => void): boolean {
  const { network, clock } = world;
  const dirty = [...world.hosts.values()].find((host) => host.needsCommit);
  if (dirty !== undefined) {
    trace(`commit in ${dirty.name}`);
    world.commit(dirty);
    return true;
  }
  const [message] = network.with("on its way");
  if (message !== undefined) {
    trace(`delivered: ${message.what}`);
    world.deliver(message);
    return true;
  }
  const [reply] = network.with("replied");
  if (reply !== undefined) {
    trace(`the reply comes: ${reply.what}`);
    reply.arrive();
    return true;
  }
  const call = world.origin.calls.find(({ isOpen }) => isOpen);
  if (call !== undefined) {
    trace(`the origin ends the call of ${call.attempt.id}`);
    if (call.work === "on the wire") world.arrive(call);
    complete(call, world.rules);
    return true;
  }
  const limit = world.limits.shift();
  if (limit !== undefined) {
    trace("the limiter allows a new key");
    limit(true);
    return true;
  }
  const timer = clock.next();
  if (timer === null) return false;
  trace(`a timer, due at ${timer.dueMs}`);
  world.moveTo(Math.max(clock.nowMs, timer.dueMs));
  clock.fire(timer);
  return true;
}

async function passTime(world: World, trace: (what: string) => void): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const set = [...world.hosts.values()].flatMap((host) => {
      const { durableAlarmMs } = host.disk;
      return durableAlarmMs === null ? [] : [{ host, atMs: durableAlarmMs }];
    });
    const next = set.toSorted((one, other) => one.atMs - other.atMs)[0];
    if (next === undefined) return;
    trace(`the alarm of ${next.host.name}, at ${next.atMs}`);
    world.moveTo(Math.max(world.clock.nowMs, next.atMs));
    world.alarm(next.host, false);
    await settle(world, trace);
  }
  world.rules.broken("G8", `the alarms never come to rest: set again after ${MOST_STEPS} alarms`);
}
