// After the faults: everything pending is carried out in order, all time passes, and then nothing may be left (G8).

import { leftovers } from "./durable.ts";
import { complete } from "./origin.ts";
import type { World } from "./world.ts";

/** More than any interleaving needs. One that takes more steps never ends. */
const MOST_STEPS = 2000;

export async function calm(world: World, trace: (what: string) => void): Promise<void> {
  trace("the faults end");
  world.disk.isFull = false;
  world.isUnreachable = false;
  await settle(world, trace);
  // A request now gets what the record holds.
  for (const record of world.facts.rows.keys()) world.send(record, "same", "wait");
  await settle(world, trace);
  await passTime(world, trace);
  if (world.rules.isAlarmDropped) {
    // The next claim sets the alarm again.
    world.send("another record", "same", "reject");
    await settle(world, trace);
    await passTime(world, trace);
  }
  const waiting = world.clients.unanswered().map(({ name }) => name);
  world.rules.ends([...leftovers(world.disk), ...(world.bucket?.names ?? [])], waiting);
}

/** Everything but the alarm: commits, calls, timers. */
async function settle(world: World, trace: (what: string) => void): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    await world.rest();
    if (world.needsCommit) {
      trace("commit");
      world.commit();
      continue;
    }
    const limit = world.limits.shift();
    if (limit !== undefined) {
      trace("the limiter allows a new key");
      limit(true);
      continue;
    }
    const call = world.origin.calls.find(({ isOpen }) => isOpen);
    if (call !== undefined) {
      trace(`the origin ends the call of ${call.attempt.id}`);
      if (call.work === "on the wire") world.arrive(call);
      complete(call, world.rules);
      continue;
    }
    const large = world.bucket?.calls[0];
    if (large !== undefined) {
      trace(`the bucket: ${large.what}`);
      large.finish();
      continue;
    }
    const question = world.questions.find(({ isOpen, hangs, trickleMs }) => isOpen && !hangs && trickleMs === null);
    if (question !== undefined) {
      trace(`asked about ${question.record}, the origin says ${world.answerQuestion(question)}`);
      continue;
    }
    const timer = world.clock.next();
    const trickle = world.questions.find(({ isOpen, trickleMs }) => isOpen && trickleMs !== null);
    const feedMs = trickle?.trickleMs ?? Number.POSITIVE_INFINITY;
    if (trickle !== undefined && feedMs <= (timer?.dueMs ?? feedMs)) {
      trace(`a byte more about ${trickle.record}, at ${feedMs}`);
      world.moveTo(Math.max(world.clock.nowMs, feedMs));
      trickle.feed(world.clock.nowMs);
      continue;
    }
    if (timer === null) return;
    trace(`a timer, due at ${timer.dueMs}`);
    world.moveTo(Math.max(world.clock.nowMs, timer.dueMs));
    world.clock.fire(timer);
  }
  world.rules.broken("G8", `it never comes to rest: still busy after ${MOST_STEPS} steps without faults`);
}

async function passTime(world: World, trace: (what: string) => void): Promise<void> {
  for (let steps = 0; world.disk.durableAlarmMs !== null; steps++) {
    if (steps > MOST_STEPS) {
      world.rules.broken("G8", `the alarm never comes to rest: it is set again after ${MOST_STEPS} alarms`);
      return;
    }
    const to = Math.max(world.clock.nowMs, world.disk.durableAlarmMs);
    trace(`the alarm, at ${to}`);
    world.moveTo(to);
    // Not awaited: its handler may wait for calls that settle() answers.
    void world.alarm();
    await settle(world, trace);
    if (steps > 0 || !world.plan.remembers) continue;
    for (const record of world.facts.rows.keys()) world.send(record, "same", "reject");
    await settle(world, trace);
  }
}
