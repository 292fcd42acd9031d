// After the faults: everything pending is carried out in order, all time passes, and then nothing may be left (G8).

import { MAX_PAUSE_MS } from "../../src/kernel/record/life-cycle.ts";
import { recordsIn } from "./durable.ts";
import { complete } from "./origin.ts";
import type { World } from "./world.ts";

/** More than any interleaving needs. One that takes more steps never ends. */
const MOST_STEPS = 2000;

/** The alarm comes for a question, and once more to see whether it has ended. */
const ALARMS_PER_VERIFICATION = 2;

export async function calm(world: World): Promise<void> {
  world.trace("the faults end");
  world.disk.isFull = false;
  world.isUnreachable = false;
  await correct(world);
  await settle(world);
  // A request now gets what the record holds.
  if (world.plan.sendsRequests) for (const record of world.facts.rows.keys()) world.send(record, "same", "wait");
  await settle(world);
  for (const one of world.actors) await one.sendAgain?.();
  if (world.rules.isAlarmDropped) {
    // The next claim sets the alarm again.
    const isSent = world.actors.some((one) => one.sendAnother?.() === true);
    if (!isSent) world.send("another record", "same", "reject");
    await settle(world);
  }
  for (const one of world.actors) await one.calm?.();
  await passTime(world);
  for (const one of world.actors) one.ends?.();
  const waiting = world.clients.unanswered().map(({ name }) => name);
  const { unreadable } = world.facts;
  const inBucket = unreadable.size > 0 ? [] : (world.bucket?.names ?? []);
  world.rules.ends([...world.leftovers(), ...inBucket], waiting, recordsIn(world.disk));
}

/** The clock is right again, and the object hears of that: from a request, or from its alarm. */
async function correct(world: World): Promise<void> {
  if (world.clock.aheadMs > 0) {
    world.trace("the clock is right again");
    world.setAhead(0);
  }
  if (!world.hasBeenAhead || world.plan.requests % 2 === 0) return;
  await settle(world);
  world.trace("a request for another record");
  world.send("another record", "same", "reject");
  await settle(world);
  world.sees();
  await settle(world);
  world.commit();
}

/**
 * More than any interleaving needs. A lock that was renewed by a clock ahead is believed, so the origin may be asked about each record
 * once an hour for as long as the clock was ahead.
 */
export function mostAlarms({ clock, facts }: World): number {
  const verifications = Math.ceil(Math.max(0, clock.latestMs - clock.nowMs) / MAX_PAUSE_MS);
  return MOST_STEPS + ALARMS_PER_VERIFICATION * facts.rows.size * verifications;
}

export async function alarm(world: World, dueMs: number): Promise<void> {
  const to = Math.max(world.clock.nowMs, dueMs);
  world.trace(`the alarm, at ${to}`);
  world.moveTo(to);
  // Not awaited: its handler may wait for calls that settle() answers.
  void world.alarm();
  await settle(world);
}

/** Everything but the alarm: commits, calls, timers. */
export async function settle(world: World): Promise<void> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    await world.rest();
    if (world.needsCommit) {
      world.trace("commit");
      world.commit();
      continue;
    }
    const limit = world.limits.shift();
    if (limit !== undefined) {
      world.trace("the limiter allows a new key");
      limit(true);
      continue;
    }
    if (world.actors.some((one) => one.settle?.() === true)) continue;
    const call = world.origin.calls.find(({ isOpen }) => isOpen);
    if (call !== undefined) {
      world.trace(`the origin ends the call of ${call.attempt.id}`);
      if (call.work === "on the wire") world.arrive(call);
      complete(call, world.rules);
      continue;
    }
    const large = world.bucket?.calls[0];
    if (large !== undefined) {
      world.trace(`the bucket: ${large.what}`);
      large.finish();
      continue;
    }
    const verification = world.verifications.find(
      ({ isOpen, hangs, trickleMs }) => isOpen && !hangs && trickleMs === null,
    );
    if (verification !== undefined) {
      world.trace(`asked about ${verification.record}, the origin says ${world.answerQuestion(verification)}`);
      continue;
    }
    const timer = world.clock.next();
    const trickle = world.verifications.find(({ isOpen, trickleMs }) => isOpen && trickleMs !== null);
    const feedMs = trickle?.trickleMs ?? Number.POSITIVE_INFINITY;
    if (trickle !== undefined && feedMs <= (timer?.dueMs ?? feedMs)) {
      world.trace(`a byte more about ${trickle.record}, at ${feedMs}`);
      world.moveTo(Math.max(world.clock.nowMs, feedMs));
      trickle.feed(world.clock.nowMs);
      continue;
    }
    if (timer === null) return;
    world.trace(`a timer, due at ${timer.dueMs}`);
    world.moveTo(Math.max(world.clock.nowMs, timer.dueMs));
    world.clock.fire(timer);
  }
  world.rules.broken("G8", `it never comes to rest: still busy after ${MOST_STEPS} steps without faults`);
}

async function passTime(world: World): Promise<void> {
  const most = mostAlarms(world);
  for (let steps = 0; world.disk.durableAlarmMs !== null; steps++) {
    if (steps > most) {
      world.rules.broken("G8", `the alarm never comes to rest: it is set again after ${most} alarms`);
      return;
    }
    // What cannot be read is looked at now and then, without end.
    if (world.facts.unreadable.size > 0 && world.leftovers().length === 0) return;
    await alarm(world, world.disk.durableAlarmMs);
    if (steps > 0 || !world.plan.remembers || !world.plan.sendsRequests) continue;
    for (const record of world.facts.rows.keys()) world.send(record, "same", "reject");
    await settle(world);
  }
}
