// The strings of a JSON text: their values as UTF-8, and their canonical spelling. They are read piece by piece, because one string
// may be the whole text.

/** About how many bytes of a string are read at a time. */
const PIECE_BYTES = 16 * 1024;

/** Up to this size a loop is faster than a call. */
const SHORT_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;

/** The value of each character after a backslash (RFC 8259, section 7); 0 if it is not an escape. */
const UNESCAPED = new Uint8Array(256);
for (const letter of ['"', "\\", "/", "b", "f", "n", "r", "t"]) {
  UNESCAPED[letter.charCodeAt(0)] = String(JSON.parse(`"\\${letter}"`)).charCodeAt(0);
}

/** How each byte is written (RFC 8785, section 3.2.2.2); a byte that needs no escape is written as it is. */
const ESCAPED = Array.from({ length: 256 }, (_, byte) =>
  byte < 128 ? new TextEncoder().encode(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)) : Uint8Array.of(byte),
);

/** Reads one string after the other. The body must be UTF-8. */
export class JsonString {
  readonly #body: Uint8Array;
  /** The body. After the first escape, it is followed by the values of the strings with escapes. */
  text: Uint8Array;
  #textSize: number;
  /** Where the value read so far lies in `text`, and how much of it has been written. */
  from = 0;
  to = 0;
  #written = 0;
  /** Where the bytes that have not been read begin, in the body. */
  end = 0;
  isWhole = false;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.text = body;
    this.#textSize = body.byteLength;
  }

  /** Begins with a string whose opening quote stands before `start`. */
  begin(start: number): void {
    this.from = start;
    this.to = start;
    this.#written = start;
    this.end = start;
    this.isWhole = false;
  }

  /** Reads on. Returns whether this is still a valid string without unpaired surrogates. */
  read(): boolean {
    const body = this.#body;
    const limit = Math.min(body.length, this.end + PIECE_BYTES);
    while (this.end < limit) {
      const end = plainEnd(body, this.end, limit);
      if (this.#hasEscapes) this.to = copy(body, this.end, end, this.text, this.to);
      else this.to = end;
      this.end = end;
      if (end === limit) break;
      if (body[end] === QUOTE) {
        this.isWhole = true;
        this.end += 1;
        if (this.#hasEscapes) this.#textSize = this.to;
        return true;
      }
      if (body[end] !== BACKSLASH || !this.#unescape()) return false;
    }
    return this.end < body.length;
  }

  /** Writes what has been read since the last call. Returns where the bytes after it begin. */
  write(out: Uint8Array, start: number): number {
    const from = this.#written;
    this.#written = this.to;
    // A value without escapes in the body needs none here.
    if (!this.#hasEscapes) return copy(this.text, from, this.to, out, start);
    let at = start;
    for (let next = from; next < this.to; next++) {
      const byte = this.text[next] ?? 0;
      if (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH) out[at++] = byte;
      else for (const one of ESCAPED[byte] ?? []) out[at++] = one;
    }
    return at;
  }

  get #hasEscapes(): boolean {
    return this.from >= this.#body.length;
  }

  /** From its first escape on, a string's value is no longer a part of the body. */
  #leaveBody(): void {
    if (this.text === this.#body) {
      // The values of all strings take no more bytes than the strings themselves.
      this.text = new Uint8Array(2 * this.#body.length);
      this.text.set(this.#body);
    }
    const from = this.#textSize;
    const written = this.#written - this.from;
    this.to = copy(this.#body, this.from, this.to, this.text, from);
    this.from = from;
    this.#written = from + written;
  }

  /** Reads one escape. */
  #unescape(): boolean {
    if (!this.#hasEscapes) this.#leaveBody();
    const body = this.#body;
    const at = this.end;
    const letter = body[at + 1] ?? 0;
    if (letter !== LETTER_U) {
      const byte = UNESCAPED[letter] ?? 0;
      this.text[this.to++] = byte;
      this.end += 2;
      return byte !== 0;
    }
    const unit = hexadecimal(body, at + 2);
    let character = unit;
    this.end += 6;
    if (unit >= 0xd800 && unit <= 0xdbff && body[at + 6] === BACKSLASH && body[at + 7] === LETTER_U) {
      const low = hexadecimal(body, at + 8);
      if (low >= 0xdc00 && low <= 0xdfff) character = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
      this.end += 6;
    }
    if (character < 0 || (character >= 0xd800 && character <= 0xdfff)) return false;
    this.to = writeUtf8(character, this.text, this.to);
    return true;
  }
}

/** The position of the first byte that is not literal (a quote, a backslash, a control character), or the limit. */
function plainEnd(body: Uint8Array, from: number, limit: number): number {
  let at = from;
  for (; at < limit; at++) {
    const byte = body[at] ?? 0;
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) break;
  }
  return at;
}

/** Copies a piece of `source`. Returns where the bytes after it begin in `out`. */
export function copy(source: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  if (to - from > SHORT_BYTES) out.set(source.subarray(from, to), start);
  else for (let at = from; at < to; at++) out[start + at - from] = source[at] ?? 0;
  return start + to - from;
}

/** Four hexadecimal digits as a number; negative if these are not four such digits. */
function hexadecimal(body: Uint8Array, from: number): number {
  let value = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = body[at] ?? 0;
    const lower = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) value = value * 16 + byte - 0x30;
    else if (lower >= 0x61 && lower <= 0x66) value = value * 16 + lower - 0x57;
    else return -1;
  }
  return value;
}

function writeUtf8(character: number, out: Uint8Array, start: number): number {
  let at = start;
  if (character < 0x80) out[at++] = character;
  else {
    if (character < 0x800) out[at++] = 0xc0 | (character >> 6);
    else {
      if (character < 0x10000) out[at++] = 0xe0 | (character >> 12);
      else {
        out[at++] = 0xf0 | (character >> 18);
        out[at++] = 0x80 | ((character >> 12) & 0x3f);
      }
      out[at++] = 0x80 | ((character >> 6) & 0x3f);
    }
    out[at++] = 0x80 | (character & 0x3f);
  }
  return at;
}
