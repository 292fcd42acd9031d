// The numbers of a JSON text, as decimal digits and an exponent, so that two spellings of one number become equal, and two different
// numbers never do. A number that a double cannot distinguish from its neighbours is refused: JSON readers may read either.

/** The most significant digits in the shortest spelling of a double (IEEE 754, binary64). */
const MAX_DIGITS = 17;

/** This many digits always survive the conversion to a double and back (DBL_DIG), except in subnormals. */
const PRECISE_DIGITS = 15;

/** Powers of ten well within the normal doubles, which end at about 2.2e-308 and 1.8e308. */
const NORMAL_EXPONENT = 300;

/** In bytes. A longer number is refused, so that reading one is always cheap. */
const MAX_BYTES = 1024;

/** Beyond any for which the zeros of such a number could make up. */
const MAX_EXPONENT = 1e6;

/** Bytes: a sign, 17 digits, and six zeros with a point, or an exponent. */
export const MAX_NUMBER = 32;

const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const LOWER_E = 0x65;
const UPPER_E = 0x45;

/** Reads one number after the other, and writes the last one that it read. */
export class JsonNumber {
  /** Where the bytes after the number begin. */
  end = 0;
  #isNegative = false;
  /** The significant digits: neither the first nor the last is a zero. None: the number is zero. */
  readonly #digits = new Uint8Array(MAX_DIGITS);
  #count = 0;
  /** Zeros that are significant when another digit follows. */
  #zeros = 0;
  /** The number is 0.ddd × 10 to this power. */
  #point = 0;

  /** Whether there is a number at `start` (RFC 8259, section 6) that a double distinguishes from every other. */
  read(text: Uint8Array, start: number): boolean {
    this.#count = 0;
    this.#zeros = 0;
    this.#isNegative = text[start] === MINUS;
    // If the number continues behind the limit, its next byte is refused there, since no digit may follow a number.
    const limit = Math.min(text.length, start + MAX_BYTES);
    const integer = this.#isNegative ? start + 1 : start;
    let at = this.#readDigits(text, integer, limit);
    if (at === integer || (text[integer] === ZERO && at > integer + 1)) return false;
    this.#point = this.#count + this.#zeros;
    const mark = text[at];
    if (mark === POINT || mark === LOWER_E || mark === UPPER_E) {
      if (mark === POINT) at = this.#readFraction(text, at + 1, limit);
      if (at !== -1 && (text[at] === LOWER_E || text[at] === UPPER_E)) at = this.#readExponent(text, at + 1, limit);
      if (at === -1) return false;
    }
    this.end = at;
    if (this.#count <= PRECISE_DIGITS && Math.abs(this.#point) < NORMAL_EXPONENT) return true;
    return this.#count === 0 || (this.#count <= MAX_DIGITS && this.#survives());
  }

  /** Writes it as ECMAScript does (RFC 8785, section 3.2.2.3). Returns where the bytes after it begin. */
  write(out: Uint8Array, start: number): number {
    const count = this.#count;
    const point = this.#point;
    let at = start;
    if (this.#isNegative && count > 0) out[at++] = MINUS;
    const isPlain = count === 0 || (point > -6 && point <= 21);
    // How many digits stand before the decimal point.
    const before = isPlain ? point : 1;
    if (before <= 0) out[at++] = ZERO;
    if (before <= 0 && count > 0) out[at++] = POINT;
    for (let zeros = before; zeros < 0; zeros++) out[at++] = ZERO;
    for (let index = 0; index < count; index++) {
      if (index === before && index > 0) out[at++] = POINT;
      out[at++] = this.#digits[index] ?? ZERO;
    }
    for (let index = count; index < before; index++) out[at++] = ZERO;
    if (isPlain) return at;
    out[at++] = LOWER_E;
    out[at++] = point > 0 ? PLUS : MINUS;
    for (const digit of String(Math.abs(point - 1))) out[at++] = digit.charCodeAt(0);
    return at;
  }

  /** Returns where the bytes after the digits begin. */
  #readDigits(text: Uint8Array, from: number, limit: number): number {
    let at = from;
    for (; at < limit; at++) {
      const digit = text[at] ?? 0;
      if (digit < ZERO || digit > NINE) break;
      if (digit === ZERO) {
        if (this.#count > 0) this.#zeros += 1;
      } else if (this.#count + this.#zeros < MAX_DIGITS) {
        for (; this.#zeros > 0; this.#zeros--) this.#digits[this.#count++] = ZERO;
        this.#digits[this.#count++] = digit;
      } else {
        // Too many digits: their values no longer matter.
        this.#count = MAX_DIGITS + 1;
      }
    }
    return at;
  }

  /** Returns where the bytes after the fraction begin; -1 when there is none. */
  #readFraction(text: Uint8Array, from: number, limit: number): number {
    const isBelowOne = this.#count === 0;
    const end = this.#readDigits(text, from, limit);
    if (end === from) return -1;
    if (isBelowOne && this.#count > 0) {
      let first = from;
      while (text[first] === ZERO) first += 1;
      this.#point = from - first;
    }
    return end;
  }

  /** The same of an exponent. */
  #readExponent(text: Uint8Array, from: number, limit: number): number {
    const sign = text[from];
    const digits = sign === MINUS || sign === PLUS ? from + 1 : from;
    let exponent = 0;
    let at = digits;
    for (; at < limit; at++) {
      const digit = text[at] ?? 0;
      if (digit < ZERO || digit > NINE) break;
      exponent = Math.min(MAX_EXPONENT, exponent * 10 + digit - ZERO);
    }
    if (at === digits) return -1;
    // Zero has only one spelling.
    if (this.#count > 0) this.#point += sign === MINUS ? -exponent : exponent;
    return at;
  }

  /** Whether a double keeps all of its digits and adds none: then no other number is spelled like that double. */
  #survives(): boolean {
    let digits = "";
    for (let index = 0; index < this.#count; index++) {
      if (index === 1) digits += ".";
      digits += String.fromCharCode(this.#digits[index] ?? ZERO);
    }
    const exponent = this.#point - 1;
    const text = `${digits}e${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
    return Number(text).toExponential() === text;
  }
}

/** Where the number at `start` ends (RFC 8259, section 6); -1 if there is none. */
export function numberEnd(body: Uint8Array, start: number): number {
  let at = body[start] === 0x2d ? start + 1 : start;
  const integer = at;
  at = digitsEnd(body, at);
  if (at === integer || (body[integer] === 0x30 && at > integer + 1)) return -1;
  if (body[at] === 0x2e) {
    const fraction = at + 1;
    at = digitsEnd(body, fraction);
    if (at === fraction) return -1;
  }
  if (body[at] === 0x65 || body[at] === 0x45) {
    const sign = body[at + 1];
    const exponent = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
    at = digitsEnd(body, exponent);
    if (at === exponent) return -1;
  }
  return at;
}

function digitsEnd(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0) >= ZERO && (body[at] ?? 0) <= NINE) at += 1;
  return at;
}
