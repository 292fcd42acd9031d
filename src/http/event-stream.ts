// Server-sent events (HTML standard, section 9.2), as far as it takes to find where a reader left off: after the event
// with the id that it saw last. Where more than one event has that id, the first counts: to see an event twice is better
// than to miss one.

const LF = 0x0a;
const CR = 0x0d;
const BOM = "\ufeff";

/** Looks for the end of the event with one id, in bytes that come in pieces. Holds no more of a line than such an id needs. */
export class EventSearch {
  readonly #id: string;
  readonly #most: number;
  #position = 0;
  #line: number[] = [];
  #isLong = false;
  #isFirstLine = true;
  #afterCr = false;
  /** Whether the event that is being read has the id. */
  #matches = false;
  /** Where the bytes after that event begin; `null` as long as it has not been found. */
  offset: number | null = null;

  constructor(id: string) {
    this.#id = id;
    this.#most = new TextEncoder().encode(`${BOM}id: ${id}`).byteLength;
  }

  feed(bytes: Uint8Array): void {
    for (const byte of bytes) {
      // One more byte may belong to what was found: the LF of a CR LF.
      if (this.offset !== null && !(this.#afterCr && byte === LF)) {
        this.#afterCr = false;
        return;
      }
      this.#position += 1;
      const endsCrLf = byte === LF && this.#afterCr;
      this.#afterCr = byte === CR;
      if (endsCrLf) {
        if (this.offset !== null) this.offset = this.#position;
      } else if (byte === LF || byte === CR) this.#endLine();
      else if (this.#line.length < this.#most) this.#line.push(byte);
      else this.#isLong = true;
    }
  }

  #endLine(): void {
    const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(new Uint8Array(this.#line));
    const line = this.#isFirstLine && text.startsWith(BOM) ? text.slice(1) : text;
    const isLong = this.#isLong;
    this.#line = [];
    this.#isLong = false;
    this.#isFirstLine = false;
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
