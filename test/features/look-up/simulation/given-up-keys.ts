// What an observer knows of keys that clients ask about and give up, and the rules for it. An answer counts when it leaves the object: then all that was
// written before it is durable.

import type { KeyReport } from "../../../../src/features/look-up/key-report.ts";
import type { OwnAnswer } from "../../../simulation/actors.ts";
import type { Asked } from "../../../simulation/answers.ts";
import type { AttemptFacts } from "../../../simulation/facts.ts";
import type { PlainResponse } from "../../../simulation/platform.ts";
import { LEAST_RETENTION_MS, LEAST_UNKNOWN_RETENTION_MS } from "../../../simulation/times.ts";
import type { World } from "../../../simulation/world.ts";

/** A client has been told that the key is given up. */
interface GivenUp {
  /** Nothing starts before, unless an operator forgets the key. */
  readonly untilMs: number;
  /** The attempts that had started before. */
  readonly before: ReadonlySet<AttemptFacts>;
}

/** What a client will be told, if the object is not lost before. */
interface Answering {
  readonly record: string;
  readonly what: string;
  readonly givenUp: GivenUp | null;
  readonly erasures: number;
  /** What contradicts it; `null`: nothing. */
  readonly contradiction: string | null;
}

export class GivenUpKeys {
  readonly #world: Pick<World, "facts" | "clock" | "rules" | "plan">;
  readonly #answering = new Map<string, Answering>();
  readonly #givenUp = new Map<string, GivenUp>();
  /** The keys that some client may have given up. */
  readonly #asked = new Set<string>();

  constructor(world: Pick<World, "facts" | "clock" | "rules" | "plan">) {
    this.#world = world;
  }

  /** An attempt that is in flight, or may have acted, of which the record must still know; `null`: there is none. */
  mayHaveActed(record: string): AttemptFacts | null {
    return this.#world.facts.of(record).find((attempt) => this.#isOpen(attempt)) ?? null;
  }

  #isOpen(attempt: AttemptFacts): boolean {
    const { rules, clock } = this.#world;
    const { isForgotten, isRefused, isReleased, absentAtMs, lockedUntilMs, answeredAtMs, resultAtMs } = attempt;
    // A released attempt counts for the gateway, which the observer cannot know.
    if (isForgotten || isReleased || rules.hasExpired(attempt)) return false;
    if (isRefused || absentAtMs !== null) return false;
    const settledMs = Math.min(lockedUntilMs, answeredAtMs ?? Number.POSITIVE_INFINITY);
    const keptMs = attempt.isUndecided && resultAtMs === null ? LEAST_UNKNOWN_RETENTION_MS : LEAST_RETENTION_MS;
    return clock.latestMs < settledMs + keptMs;
  }

  /** `acted`: the attempt that might have acted when the client asked. */
  reports(name: string, record: string, report: KeyReport | null, acted: AttemptFacts | null): void {
    const says = report === null ? "that the key is not known" : `${report.state}, ${report.next}`;
    const isWrong = acted !== null && report?.safeNewKey === true;
    const contradiction = isWrong ? `is told that a new key is safe, but ${acted.id} may have acted` : null;
    this.#answer(name, { record, what: says, givenUp: null, contradiction });
  }

  /** `hadNone`: there was no record of the key. */
  isGivenUp(name: string, record: string, acted: AttemptFacts | null, hadNone: boolean): void {
    const { facts, clock } = this.#world;
    this.#asked.add(record);
    const givenUp = { untilMs: clock.nowMs + LEAST_RETENTION_MS, before: new Set(facts.of(record)) };
    const why = hadNone ? "without a record" : "with one";
    const contradiction = acted === null ? null : `gives ${record} up, ${why}, but ${acted.id} may have acted`;
    this.#answer(name, { record, what: "that the key is given up", givenUp, contradiction });
  }

  isRefused(name: string, record: string): void {
    this.#answer(name, { record, what: "that the key is not given up", givenUp: null, contradiction: null });
  }

  #answer(name: string, answering: Omit<Answering, "erasures">): void {
    this.#answering.set(name, { ...answering, erasures: this.#world.facts.erasuresOf(answering.record) });
  }

  hears({ name, record }: Asked, { body }: PlainResponse): OwnAnswer | null {
    const { rules, facts } = this.#world;
    const isAbandoned = typeof body === "string" && body.includes('"code":"key-abandoned"');
    if (isAbandoned && !this.#asked.has(record))
      rules.broken("G6", `${name} hears key-abandoned of ${record}, which nobody gave up`);
    const answering = this.#answering.get(name);
    if (answering === undefined) return null;
    this.#answering.delete(name);
    const { what, givenUp, contradiction, erasures } = answering;
    if (contradiction !== null) rules.broken("G6", `${name} ${contradiction}`);
    if (givenUp !== null && erasures === facts.erasuresOf(record)) this.#givenUp.set(record, givenUp);
    return { what, replacesResult: false };
  }

  /** People have erased the record: the key may begin again, with number 1. */
  erased(record: string): () => void {
    const before = this.#givenUp.get(record);
    if (!this.#asked.has(record)) return () => undefined;
    this.#givenUp.delete(record);
    const forgotten = this.#world.facts.of(record).filter(({ isForgotten }) => !isForgotten);
    for (const attempt of forgotten) attempt.isForgotten = true;
    return () => {
      for (const attempt of forgotten) attempt.isForgotten = false;
      if (before !== undefined) this.#givenUp.set(record, before);
    };
  }

  /** No attempt has started of a key that was given up. */
  judge(): void {
    const { facts, clock, rules } = this.#world;
    for (const [record, { untilMs, before }] of this.#givenUp) {
      const started = facts.of(record).find((attempt) => !before.has(attempt) && attempt.startedAtMs < untilMs);
      if (started !== undefined) {
        rules.broken("G6", `${started.id} starts, and a client was told that ${record} is given up`);
        this.#givenUp.delete(record);
      } else if (clock.latestMs >= untilMs) this.#givenUp.delete(record);
    }
  }
}
