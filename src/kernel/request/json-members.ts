// The names and positions of the members of all open objects while a JSON text is read, so that an object's members can be sorted
// (RFC 8785, section 3.2.3) at its end. Sorting is done in slices, because an object may have a hundred thousand members.

/** About how many bytes are compared between two pauses, and how many bytes each comparison counts in addition. */
const SLICE_BYTES = 128 * 1024;
const COMPARISON_BYTES = 8;

const PREFIX_BYTES = 4;

const FIRST_ROOM = 32;

/** Innermost objects last; the members of an object are dropped when it ends. */
export class JsonMembers {
  /** Where each name begins and ends, as UTF-8 without quotes and escapes, in the text that comes with each call. */
  #froms = new Int32Array(FIRST_ROOM);
  #tos = new Int32Array(FIRST_ROOM);
  /** Where each member begins in the canonical form. */
  #starts = new Int32Array(FIRST_ROOM);
  /** The beginning of each name as a number, which distinguishes most pairs. */
  #prefixes = new Uint32Array(FIRST_ROOM);
  #count = 0;
  #order = new Int32Array(FIRST_ROOM);
  #merged = new Int32Array(FIRST_ROOM);
  #work = 0;

  get count(): number {
    return this.#count;
  }

  add(text: Uint8Array, from: number, to: number, start: number): void {
    if (this.#count === this.#starts.length) this.#grow();
    this.#froms[this.#count] = from;
    this.#tos[this.#count] = to;
    this.#starts[this.#count] = start;
    let prefix = 0;
    for (let at = from; at < from + PREFIX_BYTES; at++) prefix = prefix * 256 + (at < to ? rankOf(text[at] ?? 0) : 0);
    this.#prefixes[this.#count] = prefix;
    this.#count += 1;
  }

  #grow(): void {
    this.#froms = doubled(this.#froms);
    this.#tos = doubled(this.#tos);
    this.#starts = doubled(this.#starts);
    const prefixes = new Uint32Array(2 * this.#prefixes.length);
    prefixes.set(this.#prefixes);
    this.#prefixes = prefixes;
  }

  /** Where a member begins in the canonical form. */
  startOf(member: number): number {
    return this.#starts[member] ?? 0;
  }

  /** Drops the members from `first` on. */
  dropFrom(first: number): void {
    this.#count = first;
  }

  /** The order of two members' names: negative, zero or positive. */
  compare(text: Uint8Array, one: number, other: number): number {
    this.#work += COMPARISON_BYTES;
    const difference = (this.#prefixes[one] ?? 0) - (this.#prefixes[other] ?? 0);
    return difference === 0 ? this.#compareWhole(text, one, other) : difference;
  }

  #compareWhole(text: Uint8Array, one: number, other: number): number {
    const start = this.#froms[one] ?? 0;
    const end = this.#tos[one] ?? 0;
    const otherEnd = this.#tos[other] ?? 0;
    let at = start;
    let otherAt = this.#froms[other] ?? 0;
    while (at < end && otherAt < otherEnd && text[at] === text[otherAt]) {
      at += 1;
      otherAt += 1;
    }
    this.#work += at - start;
    if (at === end || otherAt === otherEnd) return end - at - (otherEnd - otherAt);
    return rankOf(text[at] ?? 0) - rankOf(text[otherAt] ?? 0);
  }

  /**
   * Sorts the members from `first` on by merging runs of 1, 2, 4 … members; `inOrder` gives the result. Returns `false` when two
   * have the same name.
   */
  *sort(text: Uint8Array, first: number): Generator<undefined, boolean> {
    const count = this.#count - first;
    if (this.#order.length < count) {
      this.#order = new Int32Array(2 * count);
      this.#merged = new Int32Array(2 * count);
    }
    for (let index = 0; index < count; index++) this.#order[index] = first + index;
    for (let run = 1; run < count; run *= 2) {
      for (let from = 0; from < count; from += 2 * run) {
        const middle = Math.min(from + run, count);
        const end = Math.min(from + 2 * run, count);
        let left = from;
        let right = middle;
        for (let at = from; at < end; at++) {
          if (this.#work > SLICE_BYTES) {
            this.#work = 0;
            yield;
          }
          const one = this.#order[left] ?? 0;
          const other = this.#order[right] ?? 0;
          const difference = left === middle ? 1 : right === end ? -1 : this.compare(text, one, other);
          if (difference === 0) return false;
          this.#merged[at] = difference < 0 ? one : other;
          if (difference < 0) left += 1;
          else right += 1;
        }
      }
      [this.#order, this.#merged] = [this.#merged, this.#order];
    }
    return true;
  }

  /** The member at `index` of the last sort. */
  inOrder(index: number): number {
    return this.#order[index] ?? 0;
  }
}

/**
 * The rank of a UTF-8 byte when names are sorted by UTF-16 code units: the byte itself, except that U+E000 to U+FFFF come after all
 * four-byte characters, because the surrogates of those are smaller.
 */
function rankOf(byte: number): number {
  if (byte < 0xee) return byte;
  return byte < 0xf0 ? byte + 5 : byte - 2;
}

function doubled(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const more = new Int32Array(2 * numbers.length);
  more.set(numbers);
  return more;
}
