// Server-sent events (HTML standard, section 9.2): finds where a reader left off, which is after the event with the last id that it
// received. If more than one event has that id, the first counts: a repeated event is better than a missed one.

const LF = 0x0a;
const CR = 0x0d;
const NULL = 0x00;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_I = 0x69;
const LETTER_D = 0x64;
/** A byte order mark (U+FEFF) as UTF-8. */
const BOM = [0xef, 0xbb, 0xbf];

/** The state of the current line. Each byte decides the next state; most lines are OTHER from their first byte on. */
const EMPTY = 0;
const I = 1;
const ID = 2;
/** The colon of an id has been read, and no space yet. */
const ID_COLON = 3;
/** The value so far is the beginning of the wanted id. */
const VALUE = 4;
const OTHER_VALUE = 5;
const OTHER = 6;
/** Part of a byte order mark at the beginning of the stream; a complete one is ignored. */
const IN_BOM = 7;

/**
 * Searches for the end of the event with one id, in bytes that come in pieces. It reads each byte once and keeps none, so the cost of
 * a piece depends only on its size.
 */
export class EventSearch {
  readonly #id: Uint8Array;
  /** How many bytes of the id, or of a byte order mark, have matched. */
  #matched = 0;
  #line = EMPTY;
  #position = 0;
  #isFirstLine = true;
  #afterCr = false;
  /** Whether the current event has the id. */
  #matches = false;
  #offset: number | null = null;

  constructor(id: string) {
    this.#id = new TextEncoder().encode(id);
  }

  /** Where the bytes after that event begin; `null` until it has been found. */
  get offset(): number | null {
    return this.#offset;
  }

  /** Whether further bytes cannot change the result. After a CR they can: an LF still belongs to the line end. */
  get isDone(): boolean {
    return this.#offset !== null && !this.#afterCr;
  }

  feed(bytes: Uint8Array): void {
    let at = 0;
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === LF) {
        at = 1;
        if (this.#offset !== null) this.#offset += 1;
      }
    }
    while (at < bytes.length && this.#offset === null) {
      at = this.#readLine(bytes, at);
      const end = bytes[at];
      if (end === undefined) break;
      at += 1;
      if (end === CR && bytes[at] === LF) at += 1;
      else this.#afterCr = end === CR && at === bytes.length;
      this.#endLine(this.#position + at);
    }
    this.#position += bytes.length;
  }

  /** Reads to the end of the line or of the bytes. Returns that position. */
  #readLine(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === LF || byte === CR) return at;
      this.#line = this.#after(byte);
      if (this.#line !== OTHER) continue;
      for (at += 1; at < bytes.length; at++) if (bytes[at] === LF || bytes[at] === CR) return at;
    }
    return at;
  }

  /** The state of the line after one more byte. */
  #after(byte: number): number {
    switch (this.#line) {
      case EMPTY:
        if (byte === LETTER_I) return I;
        if (byte !== BOM[0] || !this.#isFirstLine || this.#matched > 0) return OTHER;
        this.#matched = 1;
        return IN_BOM;
      case IN_BOM:
        if (byte !== BOM[this.#matched]) return OTHER;
        this.#matched += 1;
        return this.#matched === BOM.length ? EMPTY : IN_BOM;
      case I:
        return byte === LETTER_D ? ID : OTHER;
      case ID:
        this.#matched = 0;
        return byte === COLON ? ID_COLON : OTHER;
      case ID_COLON:
        return byte === SPACE ? VALUE : this.#afterValue(byte);
      case VALUE:
        return this.#afterValue(byte);
      default:
        // An id that contains NULL is ignored (section 9.2.6).
        return byte === NULL ? OTHER : this.#line;
    }
  }

  #afterValue(byte: number): number {
    if (byte === NULL) return OTHER;
    if (byte !== this.#id[this.#matched]) return OTHER_VALUE;
    this.#matched += 1;
    return VALUE;
  }

  #endLine(position: number): void {
    const line = this.#line;
    this.#line = EMPTY;
    this.#isFirstLine = false;
    if (line === EMPTY) {
      if (this.#matches) this.#offset = position;
      this.#matches = false;
    } else if (line === ID || line === ID_COLON) this.#matches = this.#id.length === 0;
    else if (line === VALUE) this.#matches = this.#matched === this.#id.length;
    else if (line === OTHER_VALUE) this.#matches = false;
  }
}

/** The id in a `Last-Event-ID` header: sent as UTF-8, but the runtime gives one character for each byte. */
export function lastEventId(value: string | null): string | null {
  if (value === null) return null;
  const bytes = new Uint8Array(value.length);
  for (let at = 0; at < value.length; at++) bytes[at] = value.charCodeAt(at);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return value;
  }
}
