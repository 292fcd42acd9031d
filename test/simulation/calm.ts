// After the faults: everything pending is carried out in order, all time passes, and then nothing may be left (G8).

import { MAX_PAUSE_MS } from "../../src/kernel/record/life-cycle.ts";
import { claimOf } from "../features/claims/simulation/consumers.ts";
import { leftovers, recordsIn } from "./durable.ts";
import { ACCEPTED, BROKEN } from "../features/outbox/simulation/destinations.ts";
import { complete } from "./origin.ts";
import type { World } from "./world.ts";

/** More than any interleaving needs. One that takes more steps never ends. */
const MOST_STEPS = 2000;

/** The alarm comes for a question, and once more to see whether it has ended. */
const ALARMS_PER_QUESTION = 2;

/** More than it takes until every lock has ended, every question has been asked, and an alarm that failed has been repeated after 5 s. */
const MOST_DELIVERIES = 1200;

export async function calm(world: World, trace: (what: string) => void): Promise<void> {
  trace("the faults end");
  world.disk.isFull = false;
  world.isUnreachable = false;
  await correct(world, trace);
  await settle(world, trace);
  // A request now gets what the record holds.
  if (sendsRequests(world)) for (const record of world.facts.rows.keys()) world.send(record, "same", "wait");
  await settle(world, trace);
  await deliverAll(world, trace);
  if (world.rules.isAlarmDropped) {
    // The next claim sets the alarm again.
    if (world.consumers === null) world.send("another record", "same", "reject");
    else world.consumers.send([world.consumers.begin("r9", "same", 1)], claimOf);
    await settle(world, trace);
  }
  await driveOut(world, trace);
  await passTime(world, trace);
  world.endEvents();
  const waiting = world.clients.unanswered().map(({ name }) => name);
  const { unreadable } = world.facts;
  const inBucket = unreadable.size > 0 ? [] : (world.bucket?.names ?? []);
  world.rules.ends([...leftovers(world.disk, unreadable), ...inBucket], waiting, recordsIn(world.disk));
}

/** The clock is right again, and the object hears of that: from a request, or from its alarm. */
async function correct(world: World, trace: (what: string) => void): Promise<void> {
  if (world.clock.aheadMs > 0) {
    trace("the clock is right again");
    world.setAhead(0);
  }
  if (!world.hasBeenAhead || world.plan.requests % 2 === 0) return;
  await settle(world, trace);
  trace("a request for another record");
  world.send("another record", "same", "reject");
  await settle(world, trace);
  world.sees();
  await settle(world, trace);
  world.commit();
}

/** Otherwise messages come, or consumers claim. */
function sendsRequests({ plan }: World): boolean {
  return !plan.consumes && !plan.claims;
}

/** Each message comes again and again until it is settled. */
async function deliverAll(world: World, trace: (what: string) => void): Promise<void> {
  const { broker, clock } = world;
  if (broker === null) return;
  for (let steps = 0; broker.messages.some(({ isOver }) => !isOver) && steps < MOST_DELIVERIES; steps++) {
    const due = broker.messages
      .filter(({ isOver }) => !isOver)
      .toSorted((one, other) => one.visibleMs - other.visibleMs);
    const toMs = Math.max(clock.nowMs, due[0]?.visibleMs ?? 0);
    const { durableAlarmMs } = world.disk;
    if (durableAlarmMs !== null && durableAlarmMs <= toMs) await alarm(world, trace, durableAlarmMs);
    world.moveTo(Math.max(clock.nowMs, toMs));
    const all = broker.deliverable();
    trace(`all messages that are due at ${toMs}: ${all.map(({ id }) => id).join(", ")}`);
    broker.deliver(all);
    await settle(world, trace);
  }
  world.endDeliveries();
}

/** What has been accepted is tried to its end, and then its monitor says which it was. */
async function driveOut(world: World, trace: (what: string) => void): Promise<void> {
  const { facts, promises } = world;
  const isOpen = (): boolean =>
    [...facts.rows.values()].some(({ driven, state }) => driven !== null && state !== "unknown");
  const most = mostAlarms(world);
  for (let steps = 0; isOpen() && steps < most; steps++) {
    if (world.disk.durableAlarmMs === null) break;
    await alarm(world, trace, world.disk.durableAlarmMs);
  }
  promises.ends();
  for (const [record, print] of promises.records) world.look(record, print, { cancel: false, waitMs: 0 });
  await settle(world, trace);
}

/**
 * More than any interleaving needs. A lock that was renewed by a clock ahead is believed, so the origin may be asked about each record
 * once an hour for as long as the clock was ahead.
 */
function mostAlarms({ clock, facts }: World): number {
  const questions = Math.ceil(Math.max(0, clock.latestMs - clock.nowMs) / MAX_PAUSE_MS);
  return MOST_STEPS + ALARMS_PER_QUESTION * facts.rows.size * questions;
}

async function alarm(world: World, trace: (what: string) => void, dueMs: number): Promise<void> {
  const to = Math.max(world.clock.nowMs, dueMs);
  trace(`the alarm, at ${to}`);
  world.moveTo(to);
  // Not awaited: its handler may wait for calls that settle() answers.
  void world.alarm();
  await settle(world, trace);
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
    if (settleDelivery(world, trace) || settleEvent(world, trace)) continue;
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

/** The broker hears of what is done, and takes letters. Returns whether there was anything. */
function settleDelivery({ broker }: World, trace: (what: string) => void): boolean {
  const letter = broker?.letters[0];
  const batch = broker?.batches.find(({ isDone }) => isDone);
  if (letter !== undefined) {
    trace(`the letter of ${letter.messageId} (${letter.reason}) arrives`);
    broker?.settle(letter, { isTaken: true, isHeard: true });
  } else if (batch !== undefined) {
    trace(
      `report: ${[...batch.decisions].map(([{ id }, one]) => `${id} ${one === "ack" ? one : one.afterMs}`).join(", ")}`,
    );
    broker?.report(batch, false);
  }
  return letter !== undefined || batch !== undefined;
}

/** Every destination takes what it is sent, but one that is dead. */
function settleEvent({ destinations }: World, trace: (what: string) => void): boolean {
  const call = destinations?.answerable[0];
  if (destinations === null || call === undefined) return false;
  const isTaken = !destinations.isDead(call);
  trace(`${call.destination} ${isTaken ? "takes" : "refuses"} ${call.events.map(({ id }) => id).join(", ")}`);
  if (isTaken) destinations.take(call);
  destinations.end(call, isTaken ? ACCEPTED : BROKEN);
  return true;
}

async function passTime(world: World, trace: (what: string) => void): Promise<void> {
  const most = mostAlarms(world);
  for (let steps = 0; world.disk.durableAlarmMs !== null; steps++) {
    if (steps > most) {
      world.rules.broken("G8", `the alarm never comes to rest: it is set again after ${most} alarms`);
      return;
    }
    // What cannot be read is looked at now and then, without end.
    if (world.facts.unreadable.size > 0 && leftovers(world.disk, world.facts.unreadable).length === 0) return;
    await alarm(world, trace, world.disk.durableAlarmMs);
    if (steps > 0 || !world.plan.remembers || !sendsRequests(world)) continue;
    for (const record of world.facts.rows.keys()) world.send(record, "same", "reject");
    await settle(world, trace);
  }
}
