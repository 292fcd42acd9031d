// The events of a stream of server-sent events (HTML standard, section 9.2), from bytes that come in pieces. Of an event it keeps the data alone, up to a
// limit, so that a stream of any length costs no more memory than its largest event.

/** One event that has been dispatched. */
export interface ReadEvent {
  /** The lines of its data, as they came; `null`: more than the limit. */
  readonly data: Uint8Array | null;
  /** Whether its type is `message`, which it is without one. */
  readonly isMessage: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = [0xef, 0xbb, 0xbf];

/** No name of a field that counts has more. */
const NAME_BYTES = 8;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

export class EventReader {
  readonly #limitBytes: number;
  /** The line that has begun. */
  readonly #line = new GrowingBytes();
  #isLineCut = false;
  #afterCr = false;
  #isFirstLine = true;
  readonly #data = new GrowingBytes();
  #isTooLarge = false;
  #hasData = false;
  #isMessage = true;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** How many bytes it holds. */
  get heldBytes(): number {
    return this.#line.size + this.#data.size;
  }

  /** The events that end in these bytes, which may be used again afterwards. */
  *feed(bytes: Uint8Array): Generator<ReadEvent, void> {
    let from = 0;
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === LF) from = 1;
    }
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte !== LF && byte !== CR) continue;
      this.#take(bytes.subarray(from, at));
      const event = this.#endLine();
      if (event !== null) yield event;
      if (byte === CR && bytes[at + 1] === LF) at += 1;
      else this.#afterCr = byte === CR && at + 1 === bytes.length;
      from = at + 1;
    }
    this.#take(bytes.subarray(from));
  }

  /** Copies bytes of the line, as far as they may count. */
  #take(bytes: Uint8Array): void {
    if (bytes.byteLength === 0 || this.#isLineCut) return;
    if (this.heldBytes + bytes.byteLength > this.#limitBytes) {
      this.#isLineCut = true;
      // Its beginning tells which field it is.
      if (this.#line.size < NAME_BYTES) this.#line.add(bytes.subarray(0, NAME_BYTES));
      return;
    }
    this.#line.add(bytes);
  }

  #endLine(): ReadEvent | null {
    const line = this.#isFirstLine ? withoutBom(this.#line.view) : this.#line.view;
    this.#isFirstLine = false;
    const event = line.byteLength === 0 ? this.#dispatch() : null;
    if (line.byteLength > 0) this.#takeLine(line);
    this.#line.clear();
    this.#isLineCut = false;
    return event;
  }

  #takeLine(line: Uint8Array): void {
    const colon = line.indexOf(COLON);
    const name = decoder.decode(colon === -1 ? line : line.subarray(0, colon));
    const start = colon === -1 ? line.byteLength : colon + (line[colon + 1] === SPACE ? 2 : 1);
    this.#field(name, line.subarray(start));
  }

  #field(name: string, value: Uint8Array): void {
    switch (name) {
      case "data":
        this.#isTooLarge ||= this.#isLineCut;
        if (this.#isTooLarge) this.#data.clear();
        else if (this.#hasData) this.#data.add(NEW_LINE);
        if (!this.#isTooLarge) this.#data.add(value);
        this.#hasData = true;
        return;
      case "event":
        this.#isMessage = value.byteLength === 0 || decoder.decode(value) === "message";
    }
  }

  /** Without data there is no event. */
  #dispatch(): ReadEvent | null {
    const event = this.#hasData
      ? { data: this.#isTooLarge ? null : this.#data.take(), isMessage: this.#isMessage }
      : null;
    this.#data.clear();
    this.#isTooLarge = false;
    this.#hasData = false;
    this.#isMessage = true;
    return event;
  }
}

/** A stream of this message alone, which is UTF-8. */
export function messageStream(message: Uint8Array): Uint8Array {
  const lines = decoder.decode(message).split(/\r\n|\r|\n/);
  return encoder.encode(`event: message\n${lines.map((line) => `data: ${line}\n`).join("")}\n`);
}

const NEW_LINE = new Uint8Array([LF]);
const EMPTY = new Uint8Array(0);
/** A larger buffer is not kept for the next line. */
const KEPT_BYTES = 16 * 1024;

function withoutBom(line: Uint8Array): Uint8Array {
  return BOM.every((byte, index) => line[index] === byte) ? line.subarray(BOM.length) : line;
}

/** Bytes that become more. A buffer for each line would cost a hundred times what the lines say. */
class GrowingBytes {
  #buffer = EMPTY;
  size = 0;

  /** They may be used again afterwards. */
  add(bytes: Uint8Array): void {
    const size = this.size + bytes.byteLength;
    if (size > this.#buffer.byteLength) {
      const larger = new Uint8Array(2 * size);
      larger.set(this.view);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.size);
    this.size = size;
  }

  /** Valid until the next change. */
  get view(): Uint8Array {
    return this.#buffer.subarray(0, this.size);
  }

  /** All of it, for good. */
  take(): Uint8Array {
    const all = this.view;
    this.#buffer = EMPTY;
    this.size = 0;
    return all;
  }

  clear(): void {
    if (this.#buffer.byteLength > KEPT_BYTES) this.#buffer = EMPTY;
    this.size = 0;
  }
}
