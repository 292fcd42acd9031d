// A gathering object: asks objects of a large layout, remembers what each answered, and adds up what it knows of all (gathering.ts). It keeps no
// records, and no request of a client needs it.

import { type AnsweredCall, answerCall } from "../call.ts";
import type { Layout } from "../config/layout.ts";
import { firstOf } from "../request/first-of.ts";
import type { KnownRows } from "../store/known-rows.ts";
import { addedUp } from "../traffic/route-counters.ts";
import {
  GATHER_CALL,
  type GatherAnswer,
  gatherAnswer,
  type KnownObjects,
  type GatheredShard,
  type GatherQuestion,
  hoursTogether,
  nextToAsk,
  type ShardReport,
  withReport,
} from "./gathering.ts";
import type { HourOfShard } from "./kept-counts.ts";
import { numberedName, type ShardAddress } from "./shard-address.ts";
import type { ShardTotals } from "./totals.ts";

/**
 * Asks no further object after the first time, and waits no longer than the second for one. Together less than an operator's request waits for a gathering
 * object: one that hangs, or a slow machine, hides no other.
 */
const ASKS_FOR_MS = 3_000;
const SILENT_AFTER_MS = 3_000;

/** Objects asked at the same time. The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 32;

interface AskedObject {
  readonly number: number;
  readonly triedAt: number;
  readonly report: ShardReport | null;
}

export interface GathererPorts {
  readonly rows: Pick<KnownRows, "get" | "put">;
  /** Of what the objects have counted. */
  readonly totals: ShardTotals;
  readonly ask: (address: ShardAddress, question: { readonly hoursFrom: number }) => Promise<ShardReport>;
}

export class ObjectGatherer {
  readonly #ports: GathererPorts;
  #shards: Map<number, GatheredShard> | null = null;
  #hours: readonly HourOfShard[] = [];
  /** Asked by a request that has not ended. */
  readonly #asking = new Set<number>();

  constructor(ports: GathererPorts) {
    this.#ports = ports;
  }

  get calls(): readonly AnsweredCall[] {
    return [answerCall(GATHER_CALL, (question) => this.gather(question))];
  }

  async gather(question: GatherQuestion): Promise<GatherAnswer> {
    const { rows, totals } = this.#ports;
    const since = Date.now();
    const known = this.#known();
    const asked = await this.#askNext(question, known, since);
    // From here on in one turn, so that what is answered is what is stored.
    const now = Date.now();
    const over: HourOfShard[] = [];
    for (const { number, triedAt, report } of asked) {
      const one = withReport(known.get(number), number, triedAt, report);
      known.set(number, one.known);
      over.push(...one.over);
    }
    this.#hours = hoursTogether([...this.#hours, ...over], now, addedUp);
    const gathered: KnownObjects = { shards: [...known.values()], hours: this.#hours };
    if (asked.length > 0) rows.put(JSON.stringify(gathered));
    const counted = asked.flatMap(({ number, report }) => {
      const shard = numberedName(number, question.layout.shards);
      return report === null ? [] : [{ shard, since: report.numbers.since, routes: report.numbers.routes }];
    });
    const answer = gatherAnswer(gathered, question, totals.addUp(counted, now), since);
    return { ...answer, hours: hoursTogether(answer.hours, now, addedUp) };
  }

  async #askNext(
    question: GatherQuestion,
    known: ReadonlyMap<number, GatheredShard>,
    since: number,
  ): Promise<readonly AskedObject[]> {
    const next = [...nextToAsk(known, question, this.#asking)];
    for (const number of next) this.#asking.add(number);
    const asked: AskedObject[] = [];
    const run = async (): Promise<void> => {
      for (let number = next.shift(); number !== undefined; number = next.shift()) {
        const triedAt = Date.now();
        if (triedAt < since + ASKS_FOR_MS) {
          const hoursFrom = known.get(number)?.hoursFrom ?? 0;
          asked.push({ number, triedAt, report: await this.#report(question.layout, number, hoursFrom) });
        }
        this.#asking.delete(number);
      }
    };
    await Promise.all(Array.from({ length: SHARDS_AT_ONCE }, run));
    return asked;
  }

  /** `null`: the object does not answer. */
  async #report(
    { jurisdiction, locationHint, shards }: Layout,
    number: number,
    hoursFrom: number,
  ): Promise<ShardReport | null> {
    const address = { name: numberedName(number, shards), jurisdiction, locationHint };
    try {
      const report = await firstOf(this.#ports.ask(address, { hoursFrom }), SILENT_AFTER_MS);
      if (report === null) throw new Error(`no answer within ${SILENT_AFTER_MS} ms`);
      return report;
    } catch (error) {
      console.warn({ message: "shard unreachable", shard: address.name, reason: String(error) });
      return null;
    }
  }

  #known(): Map<number, GatheredShard> {
    if (this.#shards !== null) return this.#shards;
    const text = this.#ports.rows.get();
    const { shards, hours }: KnownObjects = text === null ? { shards: [], hours: [] } : JSON.parse(text);
    this.#hours = hours;
    return (this.#shards = new Map(shards.map((one) => [one.shard, one])));
  }
}
