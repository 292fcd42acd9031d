// The exact meaning of a JSON text, as a reference for its canonical form. Slow, and built from other parts than the
// gateway's own: the platform's parser, a library for RFC 8785, and big integers for decimals.

import canonicalize from "canonicalize";

/** The tokens of a valid JSON text. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{}]/g;

/** The canonical form, or `null` if two parsers could read the text differently. */
export function referenceCanonical(body: Uint8Array): Uint8Array | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    JSON.parse(text);
    const canonical = canonicalize(valueOf(text.match(TOKENS)?.values() ?? [].values(), withinDouble));
    return canonical === undefined ? null : new TextEncoder().encode(canonical);
  } catch {
    return null;
  }
}

/**
 * The value of a valid text's tokens. The platform parses each string separately, because it sometimes misreads escaped
 * member names of objects (V8 13.6: `{"A":null,"\u0061":[],"a":1}` may have a member called "\\").
 */
function valueOf(
  tokens: Iterator<string>,
  numberOf: (token: string) => unknown,
  token: unknown = tokens.next().value,
): unknown {
  if (typeof token !== "string") throw new TypeError("a text that ends early");
  if (token === "[") {
    const elements: unknown[] = [];
    for (let next = tokens.next().value; next !== "]"; next = tokens.next().value)
      elements.push(valueOf(tokens, numberOf, next));
    return elements;
  }
  if (token === "{") {
    const members = new Map<string, unknown>();
    for (let next: unknown = tokens.next().value; next !== "}"; next = tokens.next().value) {
      const name = String(valueOf(tokens, numberOf, next));
      if (members.has(name)) throw new RangeError("a repeated member");
      members.set(name, valueOf(tokens, numberOf));
    }
    return Object.fromEntries(members);
  }
  return /^[-\d]/.test(token) ? numberOf(token) : JSON.parse(token);
}

/** @throws {RangeError} if a double has not all of its digits. */
function withinDouble(token: string): number {
  const value = Number(token);
  if (decimal(String(value)) !== decimal(token)) throw new RangeError("beyond a double");
  return value;
}

/** A number's value as text: the same for all spellings of the number, different for every other number. */
export function decimal(source: string): string {
  const [, sign = "", integer = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = (integer + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return integer === "" ? `no number: ${source}` : "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** The value of a text with its numbers as exact decimals, for comparison in any order of members. */
export function exactly(text: string): unknown {
  return valueOf(text.match(TOKENS)?.values() ?? [].values(), (token) => ({ decimal: decimal(token) }));
}
