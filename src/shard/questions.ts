// Which questions are at the origin, and whose turn is next: one at a time for each record, those of the alarm a few at a
// time, and each route has its turn, so that an origin that does not answer for one route delays no other. The alarm begins
// them and waits for none; each that ends lets the next one go.

import type { Policy } from "../core/record.ts";
import { durationMs, earliest, epochMs, type EpochMs, later, latest, type RecordId } from "../core/units.ts";
import type { Verification } from "../http/message.ts";
import type { Alarm } from "./alarm.ts";
import type { Ledger } from "./store/ledger.ts";
import { QUESTION_MS } from "./verification.ts";

/** How many questions of the alarm are at the origin at a time: fewer than the six connections that a shard has. */
const MOST_AT_ONCE = 4;

/** And how many of one route: the others' turns come, whatever it does. */
const MOST_OF_ROUTE = 2;

/** An instance may be lost with its questions; when they must have been answered, the alarm looks after them. */
const LOOK_AFTER_MS = durationMs(QUESTION_MS + 5000);

/** After the store has failed. */
const PAUSE_MS = durationMs(5000);

export interface QuestionPorts {
  readonly ledger: Ledger;
  readonly alarm: Pick<Alarm, "moveTo">;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  /** Asks what became of a record's last attempt, and settles the record if the origin knows. Rejects when the store fails. */
  readonly ask: (id: RecordId, policy: Policy, own: Verification | null) => Promise<void>;
}

export class Questions {
  readonly #ports: QuestionPorts;
  /** All that are at the origin, also those of duplicates. */
  readonly #running = new Map<RecordId, Promise<void>>();
  /** Those that the alarm has begun, by their route. */
  readonly #begun = new Map<RecordId, string>();
  /** The route that had its turn last. */
  #lastRoute = "";
  #pausedUntil = epochMs(0);

  constructor(ports: QuestionPorts) {
    this.#ports = ports;
  }

  /** The question about a record, with what the asking client would say; joins the one that is at the origin already. */
  run(id: RecordId, policy: Policy, own: Verification | null): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const question = this.#ports.ask(id, policy, own).finally(() => {
      this.#running.delete(id);
      this.#begun.delete(id);
    });
    this.#running.set(id, question);
    this.#ports.waitUntil(
      question.then(
        () => this.#goOn(),
        (error: unknown) => this.#pause(error),
      ),
    );
    return question;
  }

  /** Begins those that are due, as many as may be at the origin at a time. */
  askDue(now: EpochMs): void {
    if (now < this.#pausedUntil) return;
    const { ledger } = this.#ports;
    for (;;) {
      let hasBegun = false;
      for (const route of inTurn(ledger.questions.routes(), this.#lastRoute)) {
        if (this.#isFull(route)) continue;
        const due = this.#first(route, now);
        if (due === null || due.isAsked || due.at > now) continue;
        const entry = ledger.find(due.id);
        if (entry === null) continue;
        this.#begun.set(due.id, route);
        // Whoever waits for nothing hears of no failure: it is logged.
        this.run(due.id, entry.record.policy, null).catch(() => undefined);
        this.#lastRoute = route;
        hasBegun = true;
      }
      if (!hasBegun) return;
    }
  }

  /** When the alarm has to come for the next of them; `null` when there is none. */
  nextAt(now: EpochMs): EpochMs | null {
    let next: EpochMs | null = null;
    for (const route of this.#ports.ledger.questions.routes()) {
      const first = this.#first(route, now);
      // What is at the origin, or waits for its turn, is gone on with when a question ends.
      const isBusy = first === null || first.isAsked || this.#isFull(route);
      const at = isBusy ? later(now, LOOK_AFTER_MS) : first.at;
      next = next === null ? at : earliest(next, at);
    }
    return next === null ? null : latest(next, this.#pausedUntil);
  }

  #isFull(route: string): boolean {
    const ofRoute = [...this.#begun.values()].filter((one) => one === route).length;
    return this.#begun.size >= MOST_AT_ONCE || ofRoute >= MOST_OF_ROUTE;
  }

  /** The first of a route that is not at the origin, or one that is when all are that have waited so long. */
  #first(
    route: string,
    now: EpochMs,
  ): { readonly id: RecordId; readonly at: EpochMs; readonly isAsked: boolean } | null {
    const rows = this.#ports.ledger.questions
      .first(route, this.#running.size + 1)
      .map(({ id, at }) => ({ id, at, isAsked: at <= now && this.#running.has(id) }));
    return rows.find(({ isAsked }) => !isAsked) ?? rows[0] ?? null;
  }

  /** A question has ended: another takes its place, and the alarm comes for those that are not due yet. */
  #goOn(): void {
    try {
      const now = epochMs(Date.now());
      this.askDue(now);
      const next = this.nextAt(now);
      if (next !== null) this.#ports.alarm.moveTo(next);
    } catch (error) {
      this.#pause(error);
    }
  }

  /** The alarm tries again. */
  #pause(error: unknown): void {
    console.error({ message: "the origin could not be asked", reason: String(error) });
    this.#pausedUntil = later(epochMs(Date.now()), PAUSE_MS);
    this.#ports.alarm.moveTo(this.#pausedUntil);
  }
}

/** The routes after `last`, and then the others. */
function inTurn(routes: readonly string[], last: string): readonly string[] {
  return [...routes.filter((route) => route > last), ...routes.filter((route) => route <= last)];
}
