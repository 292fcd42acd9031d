// Enrolment: an object of a layout that nobody places enrols with the register when its first key begins, so that operators, scrapes and cron triggers ask
// only objects that clients have used. Otherwise each of them would create all the others, wherever it happens to run.

import { jsonCall } from "../../kernel/call.ts";
import type { Layout } from "../../kernel/config/layout.ts";
import { shardCount } from "../../kernel/config/layout.ts";

/** What the register learns of a layout. */
export interface EnrolmentNotice {
  /** Its title. */
  readonly layout: string;
  /** Numbers of objects that clients have used. */
  readonly numbers: readonly number[];
  /**
   * `older`: this object had records before it enrolled, so there may be others that do not enrol by themselves. `all`: these are all objects that have
   * anything.
   */
  readonly knows?: "older" | "all";
}

export interface EnrolledObjects {
  readonly numbers: readonly number[];
  /** Whether there may be other objects that hold something. */
  readonly isPartial: boolean;
}

/** Of the operators' object. Answered with `true` when the register has it. */
export const ENROL_CALL = jsonCall<EnrolmentNotice, boolean>("enrol");

/** By the layouts' titles. */
export const ENROLLED_CALL = jsonCall<readonly string[], Readonly<Record<string, EnrolledObjects>>>("enrolled");

/** Whether the objects of a layout enrol. Those of a jurisdiction are within it, whoever needs them first. */
export function isEnrolled({ shards, jurisdiction, locationHint }: Layout): boolean {
  return locationHint === "first-use" && jurisdiction === null && shardCount(shards) !== null;
}
