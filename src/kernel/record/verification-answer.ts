// What the origin's answer to a verification says about a lost attempt. "Not found" counts only if the verification
// carried the credential of the attempt's own client: origins also say "not found" to callers who may not see a resource,
// and believing that could cause a second effect.

/**
 * Whether a key is safe in the path of a verification at the origin. After an origin or a proxy decodes the path, some characters
 * would ask for something else, whose answer would be mistaken for the operation's: dot segments, slashes, `?` and `#`,
 * `;` for parameters, and `%` for what is decoded a second time.
 */
export function isPlainInPath(key: string): boolean {
  return key !== "." && key !== ".." && !/[/\\?#;%]/.test(key);
}

/** Whose credential a verification carries: the lost attempt's own, or that of another caller in the same scope. */
export type VerificationCredential = "claim" | "another";

/**
 * - `done`: the operation took effect, and the answer is its result from now on.
 * - `absent`: the origin knows of no such operation.
 * - `rejected`: the origin does not accept the credential, or no longer does, so the answer says nothing.
 * - `open`: the answer does not tell, or none came.
 */
export type VerificationFinding = "done" | "absent" | "rejected" | "open";

/** `status` is that of the origin's answer; `null` when none came. */
export function verificationFindingOf(status: number | null, credential: VerificationCredential): VerificationFinding {
  if (status === null) return "open";
  if (status >= 200 && status <= 299) return "done";
  if (status === 404 && credential === "claim") return "absent";
  return status === 401 || status === 403 ? "rejected" : "open";
}

/** Whether it helps to ask again with another caller's credential; `null`: the claim's credential could not be used at all. */
export function hasSecondChance(finding: VerificationFinding | null): boolean {
  return finding === null || finding === "rejected";
}
