// Which keys a sealed object still holds, as it tells newer objects, so that they need not ask about others. A sealed object takes no
// new keys: what a list lacks stays absent. A list that names a key too many only costs a question. Of each key it has 32 bits: one
// other key in a million is taken for one of a full list.

/** All keys of a sealed object whose hashes begin alike. No other such key is there, now or later. */
export interface HeldKeys {
  /** The first digits of their hashes, at most LIST_DIGITS; empty: all keys of the object. */
  readonly begin: string;
  /** Eight digits of each key's hash, those from `SHORT_HASH_FROM` on, with nothing in between. */
  readonly hashes: string;
}

/** By so many digits lists are told apart at most. */
export const LIST_DIGITS = 3;

/** The digits that a list has of each hash: other ones than those by which lists are told apart and objects are chosen. */
export const SHORT_HASH_FROM = 8;
export const SHORT_HASH_DIGITS = 8;

/** How many keys one object may remember, of all its elders: four megabytes. */
export const MAX_REMEMBERED = 1_000_000;

/** What is left of that. */
export interface Room {
  keys: number;
}

/** In a newer object: what one elder has listed. */
export class ListedKeys {
  readonly #lists = new Map<string, Uint32Array>();
  readonly #room: Room;
  #isFull = false;

  constructor(room: Room = { keys: MAX_REMEMBERED }) {
    this.#room = room;
  }

  /** Whether there was no room for a list: no other one should be asked for. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** A list takes the place of those for parts of its range. Returns it in order; `null`: there is one already, or no room. */
  add({ begin, hashes }: HeldKeys): Uint32Array<ArrayBuffer> | null {
    const given = new Uint32Array(hashes.length / SHORT_HASH_DIGITS);
    for (let at = 0; at < given.length; at += 1) given[at] = digitsAt(hashes, at * SHORT_HASH_DIGITS);
    const list = given.toSorted();
    return this.restore(begin, list) ? list : null;
  }

  /** Adds a list that is in order. Returns whether there was none, and room. */
  restore(begin: string, list: Uint32Array): boolean {
    if (this.#listFor(begin) !== undefined) return false;
    const replaced = [...this.#lists].filter(([part]) => part.startsWith(begin));
    const freed = replaced.reduce((sum, [, { length }]) => sum + length, 0);
    this.#isFull = list.length > this.#room.keys + freed;
    if (this.#isFull) return false;
    for (const [part] of replaced) this.#lists.delete(part);
    this.#room.keys += freed;
    this.#lists.set(begin, list);
    this.#room.keys -= list.length;
    return true;
  }

  /** Whether there is a list that would name the key. */
  covers(keyHash: string): boolean {
    return this.#listFor(keyHash) !== undefined;
  }

  /** `false`: the elder does not have the key, and will not. */
  mayHold(keyHash: string): boolean {
    const list = this.#listFor(keyHash);
    return list === undefined || includes(list, digitsAt(keyHash, SHORT_HASH_FROM));
  }

  #listFor(keyHash: string): Uint32Array | undefined {
    for (let digits = 0; digits <= LIST_DIGITS && digits <= keyHash.length; digits += 1) {
      const list = this.#lists.get(keyHash.slice(0, digits));
      if (list !== undefined) return list;
    }
    return undefined;
  }
}

function digitsAt(text: string, from: number): number {
  return Number.parseInt(text.slice(from, from + SHORT_HASH_DIGITS), 16);
}

/** By halving: the list is in order. */
function includes(list: Uint32Array, hash: number): boolean {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle] ?? 0) < hash) from = middle + 1;
    else to = middle;
  }
  return list[from] === hash;
}

// What else an object of a layout that was left may still hold. Without the layout nobody would find it.

export const HELD = ["records", "bodies", "events", "positions", "alerts", "audit entries"] as const;
export type HeldKind = (typeof HELD)[number];

/** So many of a kind are counted in an object at most: it is asked every few seconds, and the question is whether there are any. */
export const MAX_HELD = 100;

/** How many of one kind: MAX_HELD stands for more, too. */
export interface HeldRows {
  readonly what: HeldKind;
  readonly count: number;
}
