// Server-sent events (HTML standard, section 9.2), as far as it takes to find where a reader left off: after the event
// with the id that it saw last. Where more than one event has that id, the first counts: to see an event twice is better
// than to miss one.

const LF = 0x0a;
const CR = 0x0d;
const BOM = "\ufeff";
const LETTER_I = 0x69;

/** Looks for the end of the event with one id, in bytes that come in pieces. Holds no more of a line than such an id needs. */
export class EventSearch {
  readonly #id: string;
  /** The line that is being read, as far as it matters. */
  readonly #line: Uint8Array;
  #lineBytes = 0;
  #isLong = false;
  #position = 0;
  #isFirstLine = true;
  #afterCr = false;
  /** Whether the event that is being read has the id. */
  #matches = false;
  /** Where the bytes after that event begin; `null` as long as it has not been found. */
  offset: number | null = null;

  constructor(id: string) {
    this.#id = id;
    this.#line = new Uint8Array(new TextEncoder().encode(`${BOM}id: ${id}`).byteLength);
  }

  feed(bytes: Uint8Array): void {
    let lf = bytes.indexOf(LF);
    let cr = bytes.indexOf(CR);
    for (let at = 0; at < bytes.byteLength;) {
      if (lf !== -1 && lf < at) lf = bytes.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at);
      const isLfOfCrLf = this.#afterCr && lf === at;
      this.#afterCr = false;
      if (isLfOfCrLf) {
        at += 1;
        this.#position += 1;
        // It belongs to what was found, too.
        if (this.offset !== null) this.offset = this.#position;
        continue;
      }
      if (this.offset !== null) return;
      const end = lf === -1 || cr === -1 ? Math.max(lf, cr) : Math.min(lf, cr);
      this.#extendLine(bytes.subarray(at, end === -1 ? bytes.byteLength : end));
      if (end === -1) {
        this.#position += bytes.byteLength - at;
        return;
      }
      this.#position += end + 1 - at;
      at = end + 1;
      this.#afterCr = end === cr;
      this.#endLine();
    }
  }

  #extendLine(bytes: Uint8Array): void {
    const piece = bytes.subarray(0, this.#line.byteLength - this.#lineBytes);
    this.#line.set(piece, this.#lineBytes);
    this.#lineBytes += piece.byteLength;
    if (piece.byteLength < bytes.byteLength) this.#isLong = true;
  }

  #endLine(): void {
    const line = this.#line.subarray(0, this.#lineBytes);
    const isLong = this.#isLong;
    const isFirst = this.#isFirstLine;
    this.#lineBytes = 0;
    this.#isLong = false;
    this.#isFirstLine = false;
    // Most lines are data: only one that can be an id is worth decoding.
    if (line.byteLength > 0 && line[0] !== LETTER_I && !isFirst) return;
    const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(line);
    this.#take(isFirst && text.startsWith(BOM) ? text.slice(1) : text, isLong);
  }

  #take(line: string, isLong: boolean): void {
    if (line === "" && !isLong) {
      if (this.#matches) this.offset = this.#position;
      this.#matches = false;
      return;
    }
    const [, field, value = ""] = /^([^:]+)(?:: ?(.*))?$/s.exec(line) ?? [];
    // An id with a NULL is none (section 9.2.6); a line that is too long names another.
    if (field === "id" && !value.includes("\0")) this.#matches = !isLong && value === this.#id;
  }
}

/** The id in a `Last-Event-ID` header: sent as UTF-8, shown by the runtime as a character for each byte. */
export function lastEventId(value: string | null): string | null {
  if (value === null) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(value, (character) => character.charCodeAt(0)),
    );
  } catch {
    return value;
  }
}
