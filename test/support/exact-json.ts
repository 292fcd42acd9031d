// What a JSON text says, to the last digit: the yardstick for its canonical form. Slow, and made of other parts than the
// gateway's own: the platform's parser, the library for RFC 8785, and whole numbers for decimals.

import canonicalize from "canonicalize";

/** What a valid JSON text is made of. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{}]/g;

/** The canonical form, or `null` where two readers could take the text for two things. */
export function referenceCanonical(body: Uint8Array): Uint8Array | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    JSON.parse(text);
    const canonical = canonicalize(valueOf(text.match(TOKENS)?.values() ?? [].values()));
    return canonical === undefined ? null : new TextEncoder().encode(canonical);
  } catch {
    return null;
  }
}

/**
 * The value of a valid text's tokens. The platform reads each string by itself: of objects it reads some escaped names
 * wrongly, now and then (V8 13.6: `{"A":null,"\u0061":[],"a":1}` may have a member called "\\").
 */
function valueOf(tokens: Iterator<string>, token: unknown = tokens.next().value): unknown {
  if (typeof token !== "string") throw new TypeError("a text that ends early");
  if (token === "[") {
    const elements: unknown[] = [];
    for (let next = tokens.next().value; next !== "]"; next = tokens.next().value) elements.push(valueOf(tokens, next));
    return elements;
  }
  if (token === "{") {
    const members = new Map<string, unknown>();
    for (let next: unknown = tokens.next().value; next !== "}"; next = tokens.next().value) {
      const name = String(valueOf(tokens, next));
      if (members.has(name)) throw new RangeError("a repeated member");
      members.set(name, valueOf(tokens));
    }
    return Object.fromEntries(members);
  }
  const value: unknown = JSON.parse(token);
  if (typeof value === "number" && decimal(String(value)) !== decimal(token)) throw new RangeError("beyond a double");
  return value;
}

/** A number's value as text, the same for all of its spellings and for no other number. */
export function decimal(source: string): string {
  const [, sign = "", integer = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = (integer + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return integer === "" ? `no number: ${source}` : "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** What a text says, with its numbers as decimals; members may stand in any order. */
export function exactly(text: string): unknown {
  const plain = text.replaceAll(TOKENS, (token) => {
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token));
    return /\d/.test(token) ? JSON.stringify({ decimal: decimal(token) }) : token;
  });
  return JSON.parse(plain);
}
