// What the origin's answer to a question says of a lost attempt. That it knows of nothing counts only from the attempt's own
// client: to anybody else an origin says "not found" also of what he may not see, and to believe that would be a guess
// towards a second effect.

/**
 * Whether the origin can be asked for a key that stands in a path. A key that means something there, once an origin or a proxy
 * has decoded it, would ask for something else, and its answer would be taken for the operation's: steps, segments, the
 * path's end, parameters, and what is decoded a second time.
 */
export function isPlainInPath(key: string): boolean {
  return key !== "." && key !== ".." && !/[/\\?#;%]/.test(key);
}

/** Whose credential a question carries: the lost attempt's own, or that of another caller in the same scope. */
export type Asker = "claim" | "another";

/**
 * - `done`: the operation took effect, and the answer is its result from now on.
 * - `absent`: the origin knows of no such operation.
 * - `rejected`: the origin does not take the credential (any more), so it has said nothing.
 * - `open`: it has not said, for whatever reason.
 */
export type Finding = "done" | "absent" | "rejected" | "open";

/** `status` is `null` when no answer came. */
export function findingOf(status: number | null, asker: Asker): Finding {
  if (status === null) return "open";
  if (status >= 200 && status <= 299) return "done";
  if (status === 404 && asker === "claim") return "absent";
  return status === 401 || status === 403 ? "rejected" : "open";
}

/** Whether another caller's credential may still find what the claim's did not; `null`: it could not even be asked with. */
export function hasSecondChance(finding: Finding | null): boolean {
  return finding === null || finding === "rejected";
}
