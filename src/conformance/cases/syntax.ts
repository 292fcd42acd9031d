// What a key may look like, and what a server does with one that may not.

import type { ConformanceCase, CaseObservation } from "../case.ts";
import {
  notAlike,
  callCount,
  hasAnswerOf,
  isExplained,
  isRefused,
  isSame,
  firstVerdict,
  statusOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { mustCase, sendStep, shouldCase } from "./define.ts";

/** Refused with 400, and not processed. */
const isInvalid = (seen: CaseObservation) =>
  firstVerdict(
    () => (statusOf(seen, "first") === 400 ? null : `got ${replySummary(seen, "first")}, not 400`),
    callCount(seen, 0, "the request"),
  );

/** Two keys that a server may refuse, but must not take for one. */
const areTwoOrRefused = (seen: CaseObservation) =>
  firstVerdict(() => {
    if (isRefused(seen, "first") && isRefused(seen, "again")) return callCount(seen, 0, "a refused request")();
    const isOne = hasAnswerOf(seen, "again", "first") || (seen.calls?.length ?? 2) < 2;
    return isOne ? `the second key was taken for the first: it got ${replySummary(seen, "again")}` : null;
  });

const LONG = "x".repeat(260);

export const SYNTAX: readonly ConformanceCase[] = [
  mustCase(
    {
      id: "syntax.quoted",
      says: "A structured-field string is accepted as the key.",
      profile: "P1",
      script: [sendStep("first", { key: ['"{key}"'] })],
      judge: (seen) => firstVerdict(replySucceeds(seen, "first", "a quoted key")),
    },
    "2.1 MUST",
  ),
  shouldCase({
    id: "syntax.bare",
    says: "The same value without quotes is accepted.",
    profile: "P2",
    script: [sendStep("first", { key: ["{key}"] })],
    judge: (seen) => firstVerdict(replySucceeds(seen, "first", "a bare key")),
  }),
  mustCase({
    id: "syntax.one-key",
    says: "The quoted and the bare form of a key name one operation.",
    profile: "P2",
    script: [sendStep("first", { key: ['"{key}"'] }), sendStep("again", { key: ["{key}"] })],
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the quoted key"),
        () => (statusOf(seen, "again") === 400 ? { skip: "the server refuses bare keys" } : null),
        isSame(seen, "again", "first", "the bare form"),
        callCount(seen, 1),
      ),
  }),
  mustCase({
    id: "syntax.escapes",
    says: "Keys that differ only in an escaped character are two keys, or refused.",
    profile: "P1",
    script: [
      sendStep("first", { key: [String.raw`"{key}\\x"`] }),
      sendStep("again", { key: [String.raw`"{key}\"x"`] }),
    ],
    judge: areTwoOrRefused,
  }),
  mustCase({
    id: "syntax.letter-case",
    says: "Keys that differ only in the case of letters are two keys, or refused.",
    profile: "P4",
    script: [sendStep("first", { key: ['"{key}-a"'] }), sendStep("again", { key: ['"{key}-A"'] })],
    judge: areTwoOrRefused,
  }),
  mustCase({
    id: "syntax.long",
    says: "Long keys that differ only at their end are two keys, or refused.",
    profile: "P4",
    script: [sendStep("first", { key: [`"{key}${LONG}a"`] }), sendStep("again", { key: [`"{key}${LONG}b"`] })],
    judge: areTwoOrRefused,
  }),
  shouldCase({
    id: "syntax.length",
    says: "A key of 64 characters is accepted.",
    profile: "P4",
    script: [sendStep("first", { key: [`"{key}${"x".repeat(28)}"`] })],
    judge: (seen) => firstVerdict(replySucceeds(seen, "first", "a key of 64 characters")),
  }),
  ...(
    [
      ["unfinished", "A string without its end", ['"{key}']],
      ["trailing", "A string with something behind it", ['"{key}"x']],
      ["list", "A list of two strings", ['"{key}", "{key}-2"']],
      ["bad-escape", "A string with an escape that does not exist", [String.raw`"{key}\x"`]],
      ["repeated", "A header that is repeated with another key", ["{key}", "{key}-2"]],
    ] as const
  ).map(([name, what, key]) =>
    shouldCase({
      id: `syntax.${name}`,
      says: `${what} is refused with 400, and not processed.`,
      profile: "P3",
      script: [sendStep("first", { key })],
      judge: isInvalid,
    }),
  ),
  mustCase({
    id: "syntax.empty",
    says: "Requests with an empty key never get each other's answers.",
    profile: "P3",
    script: [sendStep("first", { key: ['""'] }), sendStep("again", { key: ['""'] })],
    judge: (seen) =>
      firstVerdict(() =>
        isRefused(seen, "first") && isRefused(seen, "again")
          ? callCount(seen, 0, "the request")()
          : notAlike(seen, "first", "again")(),
      ),
  }),
  shouldCase(
    {
      id: "syntax.missing",
      says: "Where a key is required, a request without one gets 400, and is not processed.",
      profile: "P5",
      needs: ["requires-key"],
      script: [sendStep("first", { key: null })],
      judge: isInvalid,
    },
    "2.7 SHOULD",
  ),
  shouldCase(
    {
      id: "syntax.missing-form",
      says: "That 400 is a problem document, or links to the documentation.",
      profile: "P22",
      needs: ["requires-key"],
      script: [sendStep("first", { key: null })],
      judge: (seen) =>
        firstVerdict(
          () => (isRefused(seen, "first") ? null : `got ${replySummary(seen, "first")}, no refusal`),
          isExplained(seen, "first"),
        ),
    },
    "2.7 SHOULD",
  ),
];
