// Requests with one key at the same time.

import type { Case, Observation } from "../case.ts";
import {
  wholeAnswerOf,
  called,
  type CaseFinding,
  isExplained,
  isSame,
  judged,
  statusOf,
  succeeds,
  summary,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { end, isCalled, look, must, open, release, send, should } from "./define.ts";

const COPIES = 10;
const NAMES = Array.from({ length: COPIES }, (_, at) => `copy.${at}`);

/** A duplicate while the first request runs, and a retry after it. */
const DUPLICATE = [
  open("first"),
  isCalled,
  open("copy"),
  look("copy"),
  release,
  end("first"),
  end("copy"),
  send("again"),
];

const CONFLICTS: ReadonlySet<number | null> = new Set([409, 425, 429, 503]);

const wasAsked = (seen: Observation) => (): CaseFinding =>
  seen.early.includes("copy") ? null : { skip: "duplicates wait for the first answer" };

export const CONCURRENCY: readonly Case[] = [
  must(
    {
      id: "concurrency.one",
      says: "Ten requests with one key at once are one operation: each gets its answer, or a conflict.",
      profile: "P12",
      script: [{ do: "burst", as: "copy", times: COPIES }, send("again")],
      judge: (seen) =>
        judged(
          called(seen, 1),
          () => {
            const odd = NAMES.find(
              (name) => !CONFLICTS.has(statusOf(seen, name)) && isSame(seen, name, "again", "")() !== null,
            );
            return odd === undefined
              ? null
              : `one of them got ${summary(seen, odd)}, neither the answer nor a conflict`;
          },
          succeeds(seen, "again", "a retry after all of them"),
        ),
    },
    "2.6 SHOULD",
  ),
  must(
    {
      id: "concurrency.in-flight",
      says: "A duplicate while the first request runs gets a conflict, or waits for the first answer. It is not processed.",
      profile: "P12",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        judged(succeeds(seen, "first", "the first request"), called(seen, 1), () =>
          seen.early.includes("copy")
            ? statusOf(seen, "copy") === 409
              ? null
              : `the duplicate got ${summary(seen, "copy")}, not 409`
            : isSame(seen, "copy", "first", "the duplicate that waited")(),
        ),
    },
    "2.6 SHOULD",
  ),
  must(
    {
      id: "concurrency.after",
      says: "After that, a retry gets the first answer.",
      profile: "P12",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        judged(
          succeeds(seen, "first", "the first request"),
          isSame(seen, "again", "first", "the retry"),
          called(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  should({
    id: "concurrency.retry-after",
    says: "The conflict says when to try again.",
    profile: "P23",
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: DUPLICATE,
    judge: (seen) =>
      judged(wasAsked(seen), () => {
        const copy = wholeAnswerOf(seen, "copy");
        if (copy?.status !== 409) return `the duplicate got ${summary(seen, "copy")}, no conflict`;
        return headerValue(copy, "retry-after") === null ? "the 409 has no Retry-After" : null;
      }),
  }),
  should(
    {
      id: "concurrency.form",
      says: "The conflict is a problem document, or links to the documentation.",
      profile: "P22",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        judged(
          wasAsked(seen),
          () => (statusOf(seen, "copy") === 409 ? null : `the duplicate got ${summary(seen, "copy")}, no conflict`),
          isExplained(seen, "copy"),
        ),
    },
    "2.7 SHOULD",
  ),
  must({
    id: "concurrency.lock",
    says: "A call that outlasts the server's lock is not made a second time.",
    profile: "P12",
    needs: ["origin", "lock"],
    origin: [{ hold: "head" }],
    script: [
      open("first"),
      isCalled,
      { do: "pause", until: "after the lock" },
      open("copy"),
      look("copy"),
      release,
      end("first"),
      end("copy"),
    ],
    judge: (seen) => judged(called(seen, 1)),
  }),
];
