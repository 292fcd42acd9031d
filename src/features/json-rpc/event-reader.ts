// The events of a stream of server-sent events (HTML standard, section 9.2), from bytes that come in pieces. Of an event it keeps the data alone, up to a
// limit, so that a stream of any length costs no more memory than its largest event.

/** One event that has been dispatched. */
export interface ReadEvent {
  /** The lines of its data, as they came; `null`: more than the limit. */
  readonly data: Uint8Array | null;
  /** Whether its type is `message`, which it is without one. */
  readonly isMessage: boolean;
  /** Whether it has an id. */
  readonly hasId: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = [0xef, 0xbb, 0xbf];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

export class EventReader {
  readonly #limitBytes: number;
  /** Of the line that has begun. */
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #isLineCut = false;
  #afterCr = false;
  #isFirstLine = true;
  #data: Uint8Array[] = [];
  #dataBytes = 0;
  #isTooLarge = false;
  #hasData = false;
  #isMessage = true;
  #hasId = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** How many bytes it holds. */
  get heldBytes(): number {
    return this.#lineBytes + this.#dataBytes;
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
    if (this.#lineBytes + this.#dataBytes + bytes.byteLength > this.#limitBytes) {
      this.#isLineCut = true;
      // Its beginning tells which field it is.
      if (this.#line.length === 0) this.#line = [bytes.slice(0, 8)];
      return;
    }
    this.#line.push(bytes.slice());
    this.#lineBytes += bytes.byteLength;
  }

  #endLine(): ReadEvent | null {
    const line = this.#isFirstLine ? withoutBom(joined(this.#line)) : joined(this.#line);
    const isCut = this.#isLineCut;
    this.#line = [];
    this.#lineBytes = 0;
    this.#isLineCut = false;
    this.#isFirstLine = false;
    if (line.byteLength === 0) return this.#dispatch();
    const colon = line.indexOf(COLON);
    const name = decoder.decode(colon === -1 ? line : line.subarray(0, colon));
    const start = colon === -1 ? line.byteLength : colon + (line[colon + 1] === SPACE ? 2 : 1);
    this.#field(name, line.subarray(start), isCut);
    return null;
  }

  #field(name: string, value: Uint8Array, isCut: boolean): void {
    switch (name) {
      case "data":
        this.#isTooLarge ||= isCut;
        if (this.#hasData) this.#data.push(NEW_LINE);
        this.#hasData = true;
        this.#data.push(value);
        this.#dataBytes += value.byteLength + 1;
        return;
      case "event":
        this.#isMessage = value.byteLength === 0 || decoder.decode(value) === "message";
        return;
      case "id":
        this.#hasId = true;
    }
  }

  /** Without data there is no event. */
  #dispatch(): ReadEvent | null {
    const event = this.#hasData
      ? { data: this.#isTooLarge ? null : joined(this.#data), isMessage: this.#isMessage, hasId: this.#hasId }
      : null;
    this.#data = [];
    this.#dataBytes = 0;
    this.#isTooLarge = false;
    this.#hasData = false;
    this.#isMessage = true;
    // An event without data still sets the id that a client would come back with.
    if (event !== null) this.#hasId = false;
    return event;
  }
}

/** A stream of this message alone, which is UTF-8. */
export function messageStream(message: Uint8Array): Uint8Array {
  const lines = decoder.decode(message).split("\n");
  return encoder.encode(`event: message\n${lines.map((line) => `data: ${line}\n`).join("")}\n`);
}

const NEW_LINE = new Uint8Array([LF]);

function withoutBom(line: Uint8Array): Uint8Array {
  return BOM.every((byte, index) => line[index] === byte) ? line.subarray(BOM.length) : line;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (only === undefined) return new Uint8Array();
  if (pieces.length === 1) return only;
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}
