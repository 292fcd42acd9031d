// Stops the process where the rig wants to kill it. It says so on its standard output, which workerd writes at once, and then
// goes no further at this place: a turn that must not end is kept busy, and a later step is simply never taken.

import { type Point, STRIKES_VARIABLE, type Strikes, STRUCK } from "../points.ts";

/** Longer than the rig takes to kill the process. */
const HELD_MS = 60_000;
const SPINS = 5e10;
/** What was written before a point between two turns is durable by then. */
const DURABLE_MS = 25;

export class Striker {
  readonly #left: Map<string, number>;

  constructor(env: Readonly<Record<string, unknown>>) {
    const text = env[STRIKES_VARIABLE];
    const strikes: Strikes = typeof text === "string" ? JSON.parse(text) : {};
    this.#left = new Map(Object.entries(strikes));
  }

  /** A point between two turns: all other requests go on. */
  async pass(point: Point): Promise<void> {
    if (!this.#strikes(point)) return;
    await new Promise((resolve) => setTimeout(resolve, DURABLE_MS));
    console.warn(`${STRUCK} ${point}`);
    await new Promise((resolve) => setTimeout(resolve, HELD_MS));
  }

  /** A point within a turn, which never ends. */
  passWithin(point: Point): void {
    if (!this.#strikes(point)) return;
    console.warn(`${STRUCK} ${point}`);
    for (let spin = 0; spin < SPINS; spin += 1);
  }

  #strikes(point: Point): boolean {
    const left = this.#left.get(point);
    if (left === undefined) return false;
    this.#left.set(point, left - 1);
    return left === 1;
  }
}
