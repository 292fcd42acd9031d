// Objects that count, the one that adds up, and an isolate that hands its counts over, on disks that lose what is not durable. Each step
// is a turn, and what is told leaves after its commit. Whatever G13 promises of counts is checked at each step.

import { CallTable } from "../../../src/kernel/call.ts";
import { vi } from "vitest";
import { EVERY_MS, QUIET_MS } from "../../../src/kernel/object/kept-counts.ts";
import { TOTALS } from "../../../src/kernel/object/shard-address.ts";
import { ShardTraffic, TOTALS_CALL } from "../../../src/kernel/object/shard-traffic.ts";
import { KnownRows } from "../../../src/kernel/store/known-rows.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { ObjectTimers } from "../../../src/kernel/object/timers.ts";
import { countOf, type RouteNumbers } from "../../../src/kernel/traffic/route-counters.ts";
import { type SentBatch, TrafficCounters, TRAFFIC_CALL } from "../../../src/kernel/traffic/traffic.ts";
import { Disk } from "../disk.ts";
import { storageOn } from "../stand-ins.ts";

/** Where objects count, and where the isolate does. */
const [OWN, ISOLATES] = ["/own", "/isolates"];

/** A timer of fake time may be late by a check of others (timers.ts). */
const COMMIT_MS = 100;

/** How long a row may be late after one could not be written. */
const AFTER_FAILURE_MS = 70_000;

export type CountStep =
  | { readonly type: "exchange"; readonly object: number; readonly times: number }
  | { readonly type: "fact"; readonly object: number; readonly isLost: boolean }
  | { readonly type: "isolate"; readonly times: number; readonly isUrgent: boolean; readonly isAnswerLost: boolean }
  | { readonly type: "wait"; readonly ms: number }
  /** What is not durable is lost. */
  | { readonly type: "crash"; readonly object: number }
  /** The platform takes an idle object out of memory. */
  | { readonly type: "evict"; readonly object: number }
  | { readonly type: "lose-disk"; readonly object: number }
  | { readonly type: "fail"; readonly object: number }
  | { readonly type: "scrape"; readonly silent: number | null };

class CountingObject {
  readonly name: string;
  traffic: ShardTraffic;
  disk = new Disk();
  /** By this world's own count: what the object knows of its disk's life, and when it was counted last. */
  exchanges: number[] = [];
  facts = 0;
  /** What it told at the last scrape. */
  reported = 0;
  #isAlive = { yes: true };

  constructor(name: string) {
    this.name = name;
    this.traffic = this.restart();
  }

  restart(): ShardTraffic {
    this.disk.crash();
    this.#isAlive.yes = false;
    const isAlive = (this.#isAlive = { yes: true });
    const storage = storageOn(
      this.disk,
      () => isAlive.yes,
      () => undefined,
    );
    this.traffic = new ShardTraffic({
      counts: new Ledger(storage).counts,
      totals: new KnownRows(storage.sql, "totals"),
      timers: new ObjectTimers(),
      isBusy: () => false,
      name: this.name,
    });
    this.disk.commit();
    return this.traffic;
  }

  async respond(request: Request): Promise<Response> {
    return new CallTable(this.traffic.calls).respond(request);
  }

  #rows(column: string): readonly unknown[] {
    const exists = this.disk.statement("SELECT 1 FROM sqlite_schema WHERE name = 'counts'").get() !== undefined;
    if (!exists) return [];
    return this.disk
      .statement(`SELECT ${column} AS text FROM counts`)
      .all()
      .map(({ text }) => JSON.parse(String(text)));
  }

  get stored(): readonly RouteNumbers[] {
    return this.#rows("routes").flatMap((routes): readonly RouteNumbers[] => JSON.parse(JSON.stringify(routes)));
  }

  hasTaken(id: string): boolean {
    return this.#rows("taken").some((ids) => JSON.stringify(ids).includes(id));
  }
}

export class CountedWorld {
  readonly #shards = [new CountingObject("shard-0-of-2"), new CountingObject("shard-1-of-2")];
  readonly #totals = new CountingObject(TOTALS);
  readonly #isolate = new TrafficCounters();
  /** What the isolate has sent and does not know to be counted. */
  #sent: SentBatch | null = null;
  /** The last batch that was stored. */
  #taken = "";
  /** All that the isolate has counted. */
  #isolateCounted = 0;
  /** All that has ever been counted. */
  #ever = 0;
  /** What scrapes were told by objects whose disks were lost. */
  #lost = 0;
  #reported: readonly RouteNumbers[] = [];

  async run(step: CountStep): Promise<void> {
    switch (step.type) {
      case "exchange":
        this.#count(this.#object(step.object), step.times);
        return;
      case "fact":
        return this.#fact(this.#object(step.object), step.isLost);
      case "isolate":
        for (let time = 0; time < step.times; time += 1) this.#isolate.exchange(reportOf(ISOLATES), Date.now());
        this.#isolateCounted += step.times;
        return this.#handOver(step.isUrgent, step.isAnswerLost);
      case "wait":
        return this.#wait(step.ms);
      case "crash":
        return this.#crash(this.#object(step.object));
      case "evict":
        // Not while a timer is pending.
        await this.#wait(EVERY_MS);
        return this.#crash(this.#object(step.object));
      case "lose-disk":
        return this.#loseDisk(this.#shards[step.object % 2]);
      case "fail":
        this.#object(step.object).disk.isFull = true;
        return;
      case "scrape":
        return this.#scrape(step.silent);
    }
  }

  /** What the isolate has counted arrives, once, however often it was sent. */
  async end(): Promise<void> {
    for (const { disk } of this.#all) disk.isFull = false;
    for (let round = 0; round < 3; round += 1) await this.#handOver(true, false);
    await this.#scrape(null);
    const counted = this.#reported.reduce(
      (sum, numbers) => sum + (numbers.route === ISOLATES ? firstIn([numbers]) : 0),
      0,
    );
    if (counted !== this.#isolateCounted) {
      throw new Error(`G13: isolates have counted ${this.#isolateCounted}, and ${counted} are told`);
    }
  }

  get #all(): readonly CountingObject[] {
    return [...this.#shards, this.#totals];
  }

  #object(number: number): CountingObject {
    return this.#all[number % 3] ?? this.#totals;
  }

  async #wait(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
    for (const { disk } of this.#all) disk.commit();
  }

  #count({ traffic, exchanges, disk }: CountingObject, times: number): void {
    for (let time = 0; time < times; time += 1) {
      traffic.own.exchange(reportOf(OWN), Date.now());
      exchanges.push(Date.now());
      this.#ever += 1;
    }
    disk.commit();
  }

  async #fact(object: CountingObject, isLost: boolean): Promise<void> {
    object.disk.isFull = false;
    object.traffic.own.givenUp(OWN);
    // The end of the turn.
    await Promise.resolve();
    if (!isLost) {
      object.facts += 1;
      object.disk.commit();
    }
    this.#crash(object);
  }

  async #handOver(isUrgent: boolean, isAnswerLost: boolean): Promise<void> {
    this.#sent ??= { id: crypto.randomUUID(), ...this.#isolate.take(), isUrgent };
    const body = JSON.stringify({ ...this.#sent, isUrgent });
    const answers: Response[] = [];
    void this.#totals
      .respond(new Request(TRAFFIC_CALL.url, { method: "POST", body }))
      .then((answer) => answers.push(answer));
    await this.#wait(EVERY_MS);
    this.#noteTaken();
    if (answers[0]?.ok === true && !isAnswerLost) this.#sent = null;
  }

  /** The batch on its way counts once it is stored, whatever the isolate knows. */
  #noteTaken(): void {
    if (this.#sent === null || this.#sent.id === this.#taken || !this.#totals.hasTaken(this.#sent.id)) return;
    this.#taken = this.#sent.id;
    for (let one = 0; one < firstIn(this.#sent.routes); one += 1) this.#totals.exchanges.push(Date.now());
    this.#ever += firstIn(this.#sent.routes);
  }

  #crash(object: CountingObject): void {
    this.#noteTaken();
    object.restart();
    const stored = firstIn(object.stored);
    const counted = object.exchanges.length;
    const mayBeLate = Date.now() - object.disk.refusedAtMs < AFTER_FAILURE_MS ? AFTER_FAILURE_MS : EVERY_MS;
    const [last = 0] = object.exchanges.slice(-1);
    const isQuiet = mayBeLate === EVERY_MS && last <= Date.now() - QUIET_MS - COMMIT_MS;
    const recent = isQuiet ? 0 : object.exchanges.filter((at) => at > Date.now() - mayBeLate).length;
    if (stored > counted) throw new Error(`G13: ${object.name} has stored ${stored} of ${counted} exchanges`);
    if (stored < counted - recent) {
      throw new Error(`G13: a crash has lost ${counted - stored} exchanges, and only ${recent} were counted lately`);
    }
    const facts = factsIn(object.stored);
    if (facts !== object.facts) throw new Error(`G13: ${facts} of ${object.facts} facts are stored with their commits`);
    object.exchanges = object.exchanges.slice(0, stored);
    if (object.stored.length > 0 || object.reported === 0) return;
    // It has stored nothing, and begins anew as after the loss of its disk.
    this.#lost += object.reported;
    object.reported = 0;
    vi.setSystemTime(Date.now() + 1);
  }

  #loseDisk(object: CountingObject | undefined): void {
    if (object === undefined) return;
    this.#lost += object.reported;
    object.disk = new Disk();
    object.exchanges = [];
    object.facts = 0;
    object.reported = 0;
    // The next object begins later.
    vi.setSystemTime(Date.now() + 1);
    object.restart();
  }

  async #scrape(silent: number | null): Promise<void> {
    // What it cannot remember it does not tell.
    this.#totals.disk.isFull = false;
    const answers = this.#shards.flatMap((object, number) => {
      if (number === silent) return [];
      try {
        return [{ object, answer: { shard: object.name, ...object.traffic.numbers() } }];
      } catch (error) {
        throw new Error(`G13: ${object.name} vanishes`, { cause: error });
      }
    });
    for (const { disk } of this.#all) disk.commit();
    const body = JSON.stringify(answers.map(({ answer }) => answer));
    let response: Response;
    try {
      response = await this.#totals.respond(new Request(TOTALS_CALL.url, { method: "POST", body }));
    } catch {
      // It could not write: nothing is told.
      return;
    }
    for (const { object, answer } of answers) object.reported = Math.max(object.reported, firstIn(answer.routes));
    this.#totals.disk.commit();
    this.#noteTaken();
    const reported: readonly RouteNumbers[] = await response.json();
    const [before, now] = [firstIn(this.#reported), firstIn(reported)];
    if (now < before) throw new Error(`G13: the total falls from ${before} to ${now}`);
    if (now > this.#ever) throw new Error(`G13: the total is ${now}, and ${this.#ever} have been counted`);
    if (answers.length === this.#shards.length) {
      // What was shown before a crash took it is remembered.
      const all = this.#all.reduce(
        (sum, { exchanges, reported: shown }) => sum + Math.max(exchanges.length, shown),
        this.#lost,
      );
      if (now !== all) throw new Error(`G13: the total is ${now}, and ${all} are known`);
    }
    this.#reported = reported;
  }
}

function firstIn(routes: readonly RouteNumbers[]): number {
  return routes.reduce((sum, numbers) => sum + countOf(numbers, "requests", "first"), 0);
}

function factsIn(routes: readonly RouteNumbers[]): number {
  return routes.reduce((sum, numbers) => sum + countOf(numbers, "givenUp", "given-up"), 0);
}

function reportOf(route: string): Parameters<TrafficCounters["exchange"]>[0] {
  const times = { durationMs: 8, originMs: 5, waitedMs: 0 };
  return { at: Date.now(), route, recordId: null, outcome: "first", status: 201, attempt: 1, ...times };
}
