// What a JSON text says, to the last digit: the yardstick for its canonical form. Slow, and made of other parts than the
// gateway's own: the platform's parser, the library for RFC 8785, and whole numbers for decimals.

import canonicalize from "canonicalize";

/** The strings and the numbers of a valid JSON text; with a colon, a string is a name. */
const TOKENS = /"(?:[^"\\]|\\.)*"\s*:?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The canonical form, or `null` where two readers could take the text for two things. */
export function referenceCanonical(body: Uint8Array): Uint8Array | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    let members = 0;
    const value: unknown = JSON.parse(text, (_name, member: unknown) => {
      if (typeof member === "object" && member !== null && !Array.isArray(member))
        members += Object.keys(member).length;
      return member;
    });
    const tokens = [...text.matchAll(TOKENS)].map(([token]) => token);
    if (members !== tokens.filter((token) => token.endsWith(":")).length) return null;
    const numbers = tokens.filter((token) => !token.startsWith('"'));
    if (numbers.some((number) => decimal(String(Number(number))) !== decimal(number))) return null;
    const canonical = canonicalize(value);
    return canonical === undefined ? null : new TextEncoder().encode(canonical);
  } catch {
    return null;
  }
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
  const decimals = text.replaceAll(TOKENS, (token) =>
    token.startsWith('"') ? token : JSON.stringify({ decimal: decimal(token) }),
  );
  return JSON.parse(decimals);
}
