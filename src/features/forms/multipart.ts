// The canonical form of a multipart body (RFC 7578): the same body without its boundary, so that two bodies with the same parts
// and other boundaries are equal. It is made while the body arrives, piece by piece, and holds at most one boundary of it.
//
// It reads no part: names, file names, types and contents count as they are written. All it must know is where the boundaries are,
// and it insists that they are nowhere else, not even without dashes, since some parsers look for that (undici). Then no parser can
// read two bodies differently that have one canonical form. The parsers on npm accept much more, and each reads that in its own way.

import { joinBytes } from "../../kernel/request/body.ts";

/** Bytes as one number. */
const DASHES = 0x2d2d;
const CRLF = 0x0d0a;
const CRLF_DASHES = 0x0d0a2d2d;

/** The smallest part: a line end after the boundary, and a line end and two dashes before the next. */
const MIN_PART_BYTES = 6;

/** Each section of the canonical form ends with its length, so it can be read from its end in one way only. */
const LENGTH_BYTES = 8;

const EMPTY = new Uint8Array(0);

/** About how many bytes of a body in memory are read between two pauses; the first slice is small (json.ts). */
const SLICE_BYTES = 64 * 1024;
const FIRST_SLICE_BYTES = 1024;

/** Pauses after each slice of its work. Returns `null` where there is no canonical form. */
export function* canonicalMultipart(body: Uint8Array, boundary: string): Generator<undefined, Uint8Array | null> {
  const splitter = new MultipartSplitter(boundary);
  const pieces: Uint8Array[] = [];
  let slice = body.length > SLICE_BYTES ? FIRST_SLICE_BYTES : SLICE_BYTES;
  for (let at = 0; at < body.length; at += slice, slice = Math.min(2 * slice, SLICE_BYTES)) {
    if (at > 0) yield;
    pieces.push(splitter.push(body.subarray(at, at + slice)));
  }
  const end = splitter.end();
  return end === null ? null : joinBytes([...pieces, end]);
}

/**
 * Splits a body at its boundaries. Before the first are two dashes, between each two is a part that begins with a line end and ends
 * with a line end and two dashes, and after the last are two dashes and at most a line end. Any other body has no canonical form.
 */
export class MultipartSplitter {
  readonly #boundary: Uint8Array;
  readonly #firstByte: number;
  /** For each length of its beginning, how long a beginning that beginning ends with (Knuth, Morris and Pratt). */
  readonly #fallbacks: readonly number[];
  /** How many bytes of a boundary have been read; they are not part of the section yet. */
  #matched = 0;
  #isGood = true;
  #sections = 0;
  /** Of the section that is being read: its size, its first two bytes and its last four. */
  #size = 0;
  #first = 0;
  #last = 0;
  /** The canonical form of the piece that is being read. */
  #out: Uint8Array = EMPTY;
  #outSize = 0;

  constructor(boundary: string) {
    this.#boundary = new TextEncoder().encode(boundary);
    this.#firstByte = this.#boundary[0] ?? 0;
    this.#fallbacks = fallbacksOf(this.#boundary);
  }

  /** Reads the next piece of the body. Returns the next piece of the canonical form. */
  push(bytes: Uint8Array): Uint8Array {
    if (!this.#isGood) return EMPTY;
    const { length } = this.#boundary;
    // The first may end a section that began earlier, and the last may be a bad one.
    const mostSections = 2 + Math.floor(bytes.length / (length + MIN_PART_BYTES));
    this.#out = new Uint8Array(length + bytes.length + mostSections * LENGTH_BYTES);
    this.#outSize = 0;
    for (let at = 0; at < bytes.length; at++) {
      if (this.#matched === 0) {
        const next = bytes.indexOf(this.#firstByte, at);
        const to = next === -1 ? bytes.length : next;
        this.#write(bytes, at, to);
        at = to;
        if (next === -1) break;
      }
      this.#isGood = this.#read(bytes, at);
      if (!this.#isGood) break;
    }
    return this.#taken();
  }

  /** The last piece of the canonical form; `null` if there is no such form. */
  end(): Uint8Array | null {
    this.#out = new Uint8Array(this.#boundary.length + LENGTH_BYTES);
    this.#outSize = 0;
    this.#write(this.#boundary, 0, this.#matched);
    const isClosed = this.#sections > 0 && this.#size >= 2 && this.#first === DASHES;
    const isAtEnd = this.#size === 2 || (this.#size === 4 && (this.#last & 0xffff) === CRLF);
    if (!this.#isGood || !isClosed || !isAtEnd) return null;
    this.#endSection();
    return this.#taken();
  }

  #taken(): Uint8Array {
    const taken = this.#out.subarray(0, this.#outSize);
    this.#out = EMPTY;
    return taken;
  }

  /** Reads a byte that may belong to a boundary. Returns `false` if there is a boundary where none may be. */
  #read(bytes: Uint8Array, at: number): boolean {
    const boundary = this.#boundary;
    const byte = bytes[at];
    while (this.#matched > 0 && boundary[this.#matched] !== byte) {
      const fallback = this.#fallbacks[this.#matched - 1] ?? 0;
      this.#write(boundary, 0, this.#matched - fallback);
      this.#matched = fallback;
    }
    if (boundary[this.#matched] !== byte) {
      this.#write(bytes, at, at + 1);
      return true;
    }
    this.#matched += 1;
    if (this.#matched < boundary.length) return true;
    this.#matched = 0;
    const isGood = this.#mayEnd();
    this.#endSection();
    return isGood;
  }

  /** Whether a boundary may follow the section. */
  #mayEnd(): boolean {
    if (this.#sections === 0) return this.#size === 2 && this.#first === DASHES;
    return this.#size >= MIN_PART_BYTES && this.#first === CRLF && this.#last === CRLF_DASHES;
  }

  /** Adds bytes to the section. */
  #write(source: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to && this.#size + at - from < 2; at++) this.#first = withByte(this.#first, source[at]);
    for (let at = Math.max(from, to - 4); at < to; at++) this.#last = withByte(this.#last, source[at]);
    this.#outSize = copy(source, from, to, this.#out, this.#outSize);
    this.#size += to - from;
  }

  #endSection(): void {
    new DataView(this.#out.buffer).setFloat64(this.#outSize, this.#size);
    this.#outSize += LENGTH_BYTES;
    this.#sections += 1;
    this.#size = 0;
    this.#first = 0;
    this.#last = 0;
  }
}

/** The last four bytes, when another comes. */
function withByte(before: number, byte = 0): number {
  return (before << 8) | byte;
}

function fallbacksOf(boundary: Uint8Array): readonly number[] {
  const fallbacks = [0];
  let length = 0;
  for (let at = 1; at < boundary.length; at++) {
    while (length > 0 && boundary[at] !== boundary[length]) length = fallbacks[length - 1] ?? 0;
    if (boundary[at] === boundary[length]) length += 1;
    fallbacks.push(length);
  }
  return fallbacks;
}

/** Up to this size a loop is faster than a call. */
const SHORT_BYTES = 64;

/** Copies a piece of `source`. Returns where the bytes after it begin in `out`. */
function copy(source: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  if (to - from > SHORT_BYTES) out.set(source.subarray(from, to), start);
  else for (let at = from; at < to; at++) out[start + at - from] = source[at] ?? 0;
  return start + to - from;
}
