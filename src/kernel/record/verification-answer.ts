// What the origin's answer to a verification says about a lost attempt. That nothing happened counts only if the verification
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
 * What came of asking the origin. `happened`: the operation took effect. `not-happened`: it did not, and that counts; `too-early`: it did
 * not, as far as could be seen before that counts. `pending`: the state says neither, `contradictory`: both. `doubled`: more than one element
 * of a list is this operation's. `near-miss`: an element differs only in how its values are written. `incomplete`: it is not in a part of a
 * list. `stale`: a cache says that nothing happened; `foreign`: it says so to another caller. `missing`: there is no such resource. `unreadable`:
 * the answer cannot be judged. `rejected`: the credential is not accepted, or no longer. `unanswered`: there was no answer, or one that says nothing.
 */
export const VERIFICATION_FINDINGS = [
  "happened",
  "not-happened",
  "too-early",
  "pending",
  "contradictory",
  "doubled",
  "near-miss",
  "incomplete",
  "stale",
  "foreign",
  "missing",
  "unreadable",
  "rejected",
  "unanswered",
] as const;
export type VerificationFinding = (typeof VERIFICATION_FINDINGS)[number];

/** What of an answer led to a finding, for operators: a place in it, and what is there, shortened. */
export interface FindingEvidence {
  readonly at: string;
  readonly value: string;
}

/** `Age`, in seconds (RFC 9111, section 5.1): an answer with more than 0 comes from a cache. */
export function isAged(age: string | null): boolean {
  return age !== null && !/^0+$/.test(age.trim());
}

/** What an answer means that says that nothing happened: it counts only to the claim's own caller, and from no cache. */
export function negativeFinding(credential: VerificationCredential, age: string | null): VerificationFinding {
  if (credential === "another") return "foreign";
  return isAged(age) ? "stale" : "not-happened";
}

/** What the status alone says; `status` is `null` when no answer came. `says404`: what a 404 means. */
export function findingOfStatus(
  status: number | null,
  credential: VerificationCredential,
  age: string | null,
  says404: "open" | "not_happened",
): VerificationFinding {
  if (status === 404) return says404 === "open" ? "missing" : negativeFinding(credential, age);
  return status === 401 || status === 403 ? "rejected" : "unanswered";
}

/** Whether it helps to ask again with another caller's credential; `null`: the claim's credential could not be used at all. */
export function hasSecondChance(finding: VerificationFinding | null): boolean {
  return finding === null || finding === "rejected";
}
