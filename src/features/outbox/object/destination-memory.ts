// What the relay of events remembers of a destination as long as this instance lives: a few numbers for each lane. Whatever must outlive
// it is stored (features/outbox/object/rests.ts).

import { LANES } from "../../../kernel/record/lanes.ts";

export class DestinationMemory {
  /** The lane that had its turn last. */
  lastLane = LANES;
  /** How many events whose time was over have failed in a row. */
  over = 0;
  /** The lanes that have failed since an event of theirs was taken. */
  readonly #failing = new Set<number>();
  /** The lanes whose calls had no answer since any call had one. */
  readonly #unanswered = new Set<number>();
  /** The most events of a lane's next batch, if these are fewer than the destination takes. */
  readonly #most = new Map<number, number>();

  hasFailed(lane: number): boolean {
    return this.#failing.has(lane);
  }

  get unanswered(): ReadonlySet<number> {
    return this.#unanswered;
  }

  /** How many events of a lane its next batch may have, if the destination takes `all`. */
  mostOf(lane: number, all: number): number {
    return this.#most.get(lane) ?? all;
  }

  /** A batch was taken: the next one may have twice as many events. */
  grow(lane: number, all: number): void {
    const doubled = 2 * this.mostOf(lane, all);
    if (doubled < all) this.#most.set(lane, doubled);
    else this.#most.delete(lane);
  }

  /** Events of the lane are taken. */
  works(lane: number): void {
    this.#failing.delete(lane);
    this.over = 0;
  }

  /** A call had an answer, whatever it says. */
  answers(): void {
    this.#unanswered.clear();
  }

  fails(lane: number, isAnswered: boolean): void {
    this.#failing.add(lane);
    if (!isAnswered) this.#unanswered.add(lane);
  }

  /** A batch was not taken: its events are sent alone. */
  failsTogether(lane: number): void {
    this.#most.set(lane, 1);
    this.#failing.add(lane);
  }
}
