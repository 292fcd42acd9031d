// What one object does while the layout changes: it asks its elders, the objects of older layouts, whether they have a record, and
// answers newer objects that ask it. kernel/record/home.ts decides what follows. Outside such a change nothing here costs anything: whether
// this object is sealed, and which elders it knows, is in memory (kernel/previous-shards/seal.ts, kernel/previous-shards/elder-rows.ts).

import { type Layout, layoutName } from "../config/layout.ts";
import { type Elder, type Home, homeOf, OWN } from "../record/home.ts";
import { type HeldKeys, LIST_DIGITS } from "../record/held-keys.ts";
import { type EpochMs, epochMs, keyHashOf } from "../record/units.ts";
import {
  type AbsentWord,
  Contradiction,
  type ElderAnswer,
  type ElderQuestion,
  type ElderReply,
  type Hop,
  type Located,
} from "./hops.ts";
import { type Homed, placingOf } from "../request/message.ts";
import type { AttemptsInFlight } from "../object/attempts-in-flight.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import type { ExchangeReporter } from "../traffic/exchange-reporter.ts";
import type { AskAnswer } from "../traffic/route-counters.ts";
import { type AskElder, ElderQuestions } from "./elder-questions.ts";
import type { RecordSteps } from "../object/record-steps.ts";
import { placeOf, type ShardPlace, shardTitle } from "../object/shard-place.ts";
import type { Ledger } from "../store/ledger.ts";
import { StoreError } from "../store/store-error.ts";

/** How soon an object tries to list keys again that were too many: each try reads some times as many rows as a list may have. */
const MANY_MS = 10_000;

/** What one exchange has been told about its key, by the names of the elders' layouts. */
export type Words = Map<string, AbsentWord>;

/** What the Worker brings. */
export function wordsIn({ absent = [] }: Homed): Words {
  return new Map(absent.map((word) => [layoutName(word.layout), word]));
}

/** An elder of one key, as core decides about it, with its layout. */
interface KeyElder extends Elder {
  readonly at: Layout;
  readonly nextLayout: Layout | null;
}

/** Where a key's new record begins, with what another object has to know of it. */
export interface Homing {
  readonly home: Home;
  /** The layout that `home` names, if it names one. */
  readonly other: Layout | null;
  readonly elders: readonly Layout[];
  /** All words, also those that follow from the elders' lists. */
  readonly absent: readonly AbsentWord[];
}

/** Outside a change of the layout. */
export const AT_HOME: Homing = { home: OWN, other: null, elders: [], absent: [] };

export class Elders {
  readonly #ledger: Ledger;
  readonly #steps: RecordSteps;
  readonly #attempts: AttemptsInFlight;
  readonly #questions: ElderQuestions;
  readonly #reporter: ExchangeReporter;
  /** Layouts by their stored texts. */
  readonly #read = new Map<string, Layout>();
  /** How many questions to objects of each layout are open. */
  readonly #asking = new Map<string, number>();
  /** The elders that are asked for a list at the moment. */
  readonly #listing = new Set<string>();
  /** When a list was last tried, by the first digits of keys that are too many and too much alike for one: at most 4,096. */
  readonly #tooManyAt = new Map<string, EpochMs>();

  constructor({ ledger, steps, attempts, askElder, reporter }: ElderPorts) {
    this.#ledger = ledger;
    this.#steps = steps;
    this.#attempts = attempts;
    this.#questions = new ElderQuestions(askElder);
    this.#reporter = reporter;
  }

  /** Where the key's new record begins, as known in this turn. For a record that exists it has no meaning. */
  homing(head: Homed, words: Words): Homing {
    const { seal, elders: known } = this.#ledger;
    if (seal.next === null && known.isEmpty && head.elders === undefined) return AT_HOME;
    const elders = this.#eldersOf(head, words);
    const next = seal.next === null ? null : this.#layout(seal.next);
    const home = homeOf({
      layout: head.layout === undefined ? "" : layoutName(head.layout),
      seal: next === null ? null : layoutName(next),
      elders,
    });
    const absent = elders.flatMap(({ at, isAbsent, nextLayout }) =>
      isAbsent && nextLayout !== null ? [{ layout: at, next: nextLayout }] : [],
    );
    const isSealed = next !== null && head.layout !== undefined;
    return {
      home,
      other: otherIn(home, next, elders),
      elders: [...elders.filter(({ isVisited }) => !isVisited).map(({ at }) => at), ...(isSealed ? [head.layout] : [])],
      absent: [...absent, ...(isSealed ? [{ layout: head.layout, next }] : [])],
    };
  }

  /** Where the key's home is, if it is not this object; otherwise what is known about the key. Claims nothing. */
  async locate(head: Homed): Promise<Hop | Located> {
    const words = wordsIn(head);
    for (;;) {
      const homing = this.homing(head, words);
      const { id, olderIds = [] } = head.record;
      const isHere = this.#steps.holdsAny([id, ...olderIds], epochMs(Date.now()));
      if (isHere || homing.home.kind === "own") return { absent: homing.absent };
      const hop = await this.leave(head, words, homing);
      if (hop !== null) return hop;
    }
  }

  /**
   * Sends a request without a record to the home of its key, as known in this turn, or asks an elder first; `null`: the elder has no
   * record.
   */
  async leave(head: Homed, words: Words, { home, other, elders, absent }: Homing): Promise<Hop | null> {
    // Its Worker would take a hop for the origin's answer.
    if (head.layout === undefined) throw new TypeError("a message without its layout, for a key of another object");
    if (other === null) return { kind: "again", elders, absent };
    const to = layoutName(other);
    const moved = {
      kind: "moved",
      to: other,
      elders: elders.filter((elder) => layoutName(elder) !== to),
      absent,
    } as const;
    if (home.kind !== "ask") {
      this.#count(head, null);
      return moved;
    }
    try {
      const isHere = await this.#askAbout(other, head, words);
      this.#count(head, isHere ? "here" : "absent");
      return isHere ? moved : null;
    } catch (error) {
      // The store's own failures are not the elder's.
      if (error instanceof StoreError) throw error;
      this.#count(head, "failed");
      console.error({ message: "an object of an older layout did not answer", reason: String(error) });
      return { kind: error instanceof Contradiction ? "contradiction" : "unreachable" };
    }
  }

  /** Counts a question by what the elder said, and a request that is sent on. `null`: no elder was asked. */
  #count({ record: { route } }: Homed, answer: AskAnswer | null): void {
    bookkeep("counting a question to an older layout", () => {
      const { traffic } = this.#reporter;
      if (answer !== null) traffic.asked(route, answer);
      if (answer === null || answer === "here") traffic.moved(route);
    });
  }

  /** Asks an elder, and notes what it says. Returns whether it has the record. Rejects when it does not answer. */
  async #askAbout(elder: Layout, head: Homed, words: Words): Promise<boolean> {
    const { layout: own, elders = [] } = head;
    const name = layoutName(elder);
    const recordIds = elders.find(({ layout }) => layoutName(layout) === name)?.recordIds;
    if (own === undefined || recordIds === undefined)
      throw new TypeError("an elder is asked for a record without a name");
    const placing = placingOf(head.record);
    const place = placeOf(placing, elder);
    const title = shardTitle(place);
    const wantsList = this.#wantsList(title, elder, own, keyHashOf(head.record.id));
    this.#asking.set(name, (this.#asking.get(name) ?? 0) + 1);
    if (wantsList) this.#listing.add(title);
    try {
      const question = { recordIds, next: own, ...(wantsList ? { wantsList } : null) };
      const answer = await this.#questions.ask(place, question);
      this.#note(place, elder, placing, layoutName(own), answer);
      if (!answer.here) words.set(name, { layout: elder, next: answer.next });
      return answer.here;
    } finally {
      if (wantsList) this.#listing.delete(title);
      const left = (this.#asking.get(name) ?? 1) - 1;
      if (left > 0) this.#asking.set(name, left);
      else this.#asking.delete(name);
    }
  }

  /** An object for each key has no other key to tell about, or to be told. One list at a time is enough. */
  #wantsList(title: string, elder: Layout, own: Layout, keyHash: string): boolean {
    if (elder.shards === "per-key" || own.shards === "per-key" || this.#listing.has(title)) return false;
    const held = this.#ledger.elders.get(title)?.held;
    return held === undefined || !(held.isFull || held.covers(keyHash));
  }

  /**
   * Answers an object of a newer layout, in one turn: seals this object, so that absence lasts, and then looks for the records. The
   * answer leaves when all of that is durable (output gate).
   */
  answer({ recordIds, next, wantsList }: ElderQuestion): ElderAnswer {
    const { seal, elders: known } = this.#ledger;
    const now = epochMs(Date.now());
    const asker = layoutName(next);
    if (seal.next === null && (this.#asking.has(asker) || this.#knownLayouts().has(asker))) {
      throw new Contradiction(
        `this object follows ${asker}, which follows this object: the configurations contradict each other`,
      );
    }
    const sealedFor = this.#layout(seal.close(JSON.stringify(next), now));
    const here = this.#steps.holdsAny(recordIds, now);
    const elders = known.isEmpty ? [] : [...this.#knownLayouts().values()];
    const [id] = recordIds;
    const held = wantsList === true && id !== undefined ? this.#held(keyHashOf(id), now) : null;
    return { here, next: sealedFor, elders, held };
  }

  /** The same for a message. */
  reply(question: ElderQuestion): ElderReply {
    try {
      return this.answer(question);
    } catch (error) {
      if (error instanceof Contradiction) return { contradiction: error.message };
      throw error;
    }
  }

  #eldersOf(head: Homed, words: Words): readonly KeyElder[] {
    const named = new Map((head.elders ?? []).map((elder) => [layoutName(elder.layout), elder]));
    const known = this.#knownLayouts();
    const all = new Map([...[...named].map(([name, { layout }]) => [name, layout] as const), ...known]);
    if (head.layout !== undefined) all.delete(layoutName(head.layout));
    return [...all].map(([layout, at]) => {
      const row = this.#ledger.elders.get(shardTitle(placeOf(placingOf(head.record), at)));
      const word = words.get(layout);
      const stored = row?.next ?? null;
      const nextLayout = word?.next ?? (stored === null ? null : this.#layout(stored));
      const mayBeHeld = row?.held.mayHold(keyHashOf(head.record.id)) ?? true;
      return {
        layout,
        at,
        next: nextLayout === null ? null : layoutName(nextLayout),
        nextLayout,
        isAbsent: word !== undefined || !mayBeHeld,
        isNamed: named.has(layout),
        isVisited: named.get(layout)?.isVisited === true && !known.has(layout),
      };
    });
  }

  /** An object for each key has no other key to ask about later, so nothing is stored about it. */
  #note(place: ShardPlace, elder: Layout, placing: string, own: string, { next, elders, held }: ElderAnswer): void {
    const { elders: known } = this.#ledger;
    const now = epochMs(Date.now());
    const names = this.#knownLayouts();
    for (const older of elders) {
      const name = layoutName(older);
      if (name === own || names.has(name) || older.shards === "per-key") continue;
      known.note(shardTitle(placeOf(placing, older)), { layout: JSON.stringify(older), next: null, held: null }, now);
    }
    if (elder.shards === "per-key") return;
    known.note(shardTitle(place), { layout: JSON.stringify(elder), next: JSON.stringify(next), held }, now);
  }

  #knownLayouts(): ReadonlyMap<string, Layout> {
    const layouts = [...this.#ledger.elders.layouts].map((text) => this.#layout(text));
    return new Map(layouts.map((layout) => [layoutName(layout), layout]));
  }

  #held(keyHash: string, now: EpochMs): HeldKeys | null {
    // Whoever chooses keys that begin alike must not keep others from being listed.
    const range = keyHash.slice(0, LIST_DIGITS);
    const triedAt = this.#tooManyAt.get(range);
    if (triedAt !== undefined && Math.abs(now - triedAt) < MANY_MS) return null;
    // Of a key that is not listed, another object may start an attempt.
    this.#attempts.cutOffAll(now);
    const held = this.#ledger.heldKeys.around(keyHash);
    if (held === null) this.#tooManyAt.set(range, now);
    else this.#tooManyAt.delete(range);
    return held;
  }

  #layout(text: string): Layout {
    let layout = this.#read.get(text);
    if (layout === undefined) {
      const parsed: Layout = JSON.parse(text);
      layout = parsed;
      this.#read.set(text, layout);
    }
    return layout;
  }
}

function otherIn(home: Home, sealedFor: Layout | null, elders: readonly KeyElder[]): Layout | null {
  switch (home.kind) {
    case "own":
    case "unnamed":
      return null;
    case "ask":
      return elders.find(({ layout }) => layout === home.elder)?.at ?? null;
    case "moved":
      return sealedFor ?? elders.find(({ next }) => next === home.to)?.nextLayout ?? null;
  }
}

export interface ElderPorts {
  readonly ledger: Ledger;
  readonly steps: RecordSteps;
  readonly attempts: AttemptsInFlight;
  readonly askElder: AskElder;
  readonly reporter: ExchangeReporter;
}
