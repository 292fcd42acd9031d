// The caller's id in JSON: in the claims of a token, or in an answer of the origin. What is not certainly an id is none.

/** Ids are remembered by the thousand, and nobody's is longer. */
const MAX_LENGTH = 1024;

/** Follows the names to an id; `null` if there is none. A number is one only if `numbers` says so, and if JSON has not rounded it. */
export function callerIdAt(json: unknown, names: readonly string[], numbers: "numbers" | "text-only"): string | null {
  let value = json;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    value = Reflect.get(value, name);
  }
  if (typeof value === "number") return numbers === "numbers" && Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== "string" || value === "" || value.length > MAX_LENGTH) return null;
  // Lone surrogates would all be digested as the same character.
  return value.isWellFormed() ? value : null;
}
