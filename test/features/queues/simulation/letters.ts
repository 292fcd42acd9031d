// What becomes of parked messages (docs/guarantees.md, G9): each whose record ends without having settled it has exactly one dead
// letter, in the commit of that end, and no other has one.

import type { TryResult } from "../../../../src/kernel/record/outbox.ts";
import { isDone } from "../../../support/settling-status.ts";
import type { Disk } from "../../../simulation/disk.ts";
import type { DurableRow } from "../../../simulation/durable.ts";
import type { LetterQueue } from "../../outbox/simulation/destinations.ts";
import { letterRows } from "../../outbox/simulation/outbox-rows.ts";
import type { Facts } from "../../../simulation/facts.ts";
import type { Rules } from "../../../simulation/rules.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";

type Parked = DurableRow & { readonly messageId: string };

const ACCEPTED: TryResult = { kind: "accepted" };

export class LetterRules {
  readonly #facts: Facts;
  readonly #rules: Rules;
  /** What is durable: the parked messages by their records, and all letters that ever were, by their id and time. */
  #parked: ReadonlyMap<string, Parked> = new Map();
  readonly #ever = new Set<string>();
  readonly #taken = new Set<string>();

  constructor(facts: Facts, rules: Rules) {
    this.#facts = facts;
    this.#rules = rules;
  }

  /** The queue of dead letters. */
  readonly queue: LetterQueue = {
    takeLetters: (letters) => {
      const { promise, resolve } = Promise.withResolvers<TryResult>();
      this.#calls.push({ letters: letters.map(({ id, since }) => `${id} at ${since}`), resolve });
      return promise;
    },
  };

  /** Calls that are held until what they send is durable (output gate), and that the object is lost with. */
  #calls: { readonly letters: readonly string[]; readonly resolve: (sent: TryResult) => void }[] = [];

  crash(): void {
    this.#calls = [];
  }

  commits(disk: Disk, rows: ReadonlyMap<string, DurableRow>): void {
    const fresh: string[] = [];
    for (const { id, destination, due, since } of letterRows(disk).values()) {
      const letter = `${id} at ${since}`;
      if (due >= DEAD) this.#rules.broken("G9", `letter ${id} in ${destination} is dead`);
      if (!this.#ever.has(letter)) fresh.push(id);
      this.#ever.add(letter);
    }
    for (const { letters, resolve } of this.#calls) {
      for (const letter of letters) {
        if (!this.#ever.has(letter)) this.#rules.broken("G9", `letter ${letter} is sent, and it is not durable`);
        this.#taken.add(letter);
      }
      resolve(ACCEPTED);
    }
    this.#calls = [];
    const now = parkedIn(rows);
    for (const [record, before] of this.#parked) {
      const { messageId } = before;
      const letters = fresh.filter((id) => id.endsWith(`/${messageId}`)).length;
      const isKept = now.get(record)?.messageId === messageId;
      const expected = isKept ? 0 : this.#expected(before, rows.get(record));
      if (expected !== null && letters !== expected) {
        const what = `${messageId} of ${record}, ${isKept ? "still parked" : "parked until now"}`;
        this.#rules.broken("G9", `${what}, has ${letters} letters, expected ${expected}`);
      }
    }
    this.#parked = now;
  }

  /** How many letters the end of a parked message has; `null`: more has happened between two commits than can be told. */
  #expected({ id, attemptId }: Parked, after: DurableRow | undefined): number | null {
    // An operator may have decided and erased it in one commit.
    if (this.#facts.of(id).some(({ isForgotten, isResolved }) => isForgotten || isResolved)) return null;
    if (after?.state === "completed") return isDone(after.status) ? 0 : 1;
    // A result that was erased again in one commit.
    const last = this.#facts.of(id).findLast((attempt) => attempt.id === attemptId);
    return last?.resultAtMs === null && !last.isReleased ? 1 : null;
  }

  ends(): void {
    for (const letter of this.#ever)
      if (!this.#taken.has(letter)) this.#rules.broken("G9", `letter ${letter} was not sent`);
  }
}

function parkedIn(rows: ReadonlyMap<string, DurableRow>): ReadonlyMap<string, Parked> {
  return new Map(
    [...rows].flatMap(([record, row]) => {
      const messageId = row.accepted?.message?.messageId;
      return messageId === undefined ? [] : [[record, { ...row, messageId }]];
    }),
  );
}
