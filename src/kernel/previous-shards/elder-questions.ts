// The questions of one object to its elders. Requests that would ask the same share one question, and no number of them keeps more
// than so many open: each may last for seconds. An elder that has failed is left alone for a moment.

import { layoutName } from "../config/layout.ts";
import { Contradiction, type ElderAnswer, type ElderQuestion } from "./hops.ts";
import { type ShardPlace, shardTitle } from "../object/shard-place.ts";

/** Asks the object at a place. Rejects when it does not answer in time. */
export type AskElder = (place: ShardPlace, question: ElderQuestion) => Promise<ElderAnswer>;

/** Questions that one object has open at a time, of different keys. */
const MAX_OPEN = 100;

/** How long an elder is not asked again after it has failed: about as long as an object needs to start again. */
export const PAUSE_MS = 250;

/** Elders whose failures are remembered. With an object for each key they are many. */
const MAX_FAILED = 100;

export class ElderQuestions {
  readonly #ask: AskElder;
  readonly #open = new Map<string, Promise<ElderAnswer>>();
  /** When each elder has last failed. */
  readonly #failed = new Map<string, number>();

  constructor(ask: AskElder) {
    this.#ask = ask;
  }

  async ask(place: ShardPlace, question: ElderQuestion): Promise<ElderAnswer> {
    const title = shardTitle(place);
    const name = JSON.stringify([title, layoutName(question.next), question.recordIds]);
    const open = this.#open.get(name);
    if (open !== undefined) return open;
    const since = Date.now() - (this.#failed.get(title) ?? Number.NEGATIVE_INFINITY);
    // A clock that has gone back ends the pause.
    if (since >= 0 && since < PAUSE_MS) throw new Error("it has failed a moment ago");
    if (this.#open.size >= MAX_OPEN) throw new Error(`${MAX_OPEN} other questions are open`);
    const asked = this.#ask(place, question);
    this.#open.set(name, asked);
    try {
      const answer = await asked;
      this.#failed.delete(title);
      return answer;
    } catch (error) {
      if (!(error instanceof Contradiction)) this.#noteFailure(title);
      throw error;
    } finally {
      this.#open.delete(name);
    }
  }

  #noteFailure(title: string): void {
    if (this.#failed.size >= MAX_FAILED) this.#failed.clear();
    this.#failed.set(title, Date.now());
  }
}
