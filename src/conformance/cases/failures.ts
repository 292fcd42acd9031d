// Errors of the application, calls that break off, and clients that leave.

import type { CaseBehaviour, ConformanceCase } from "../case.ts";
import {
  callCount,
  firstVerdict,
  isSame,
  isSuccess,
  notRepeated,
  replySucceeds,
  replySummary,
  statusOf,
} from "../findings.ts";
import { cutSteps, mustCase, sendStep, settleStep, shouldCase, twiceSteps } from "./define.ts";

const NOT_NOW = [
  ["unavailable", 503],
  ["throttled", 429],
] as const;

const refusal = (status: number): CaseBehaviour => [
  { status, headers: [["Retry-After", "1"]], pieces: ["not now"] },
  { status: 201 },
];

export const FAILURES: readonly ConformanceCase[] = [
  shouldCase(
    {
      id: "failures.client-error",
      says: "An error that ends an operation (402) is its result: it is replayed, and nothing is processed again.",
      profile: "P14",
      needs: ["origin"],
      origin: [{ status: 402, pieces: ["declined"] }, { status: 201 }],
      script: twiceSteps,
      judge: (seen) =>
        firstVerdict(
          () =>
            statusOf(seen, "first") === 402 ? null : `the application's 402 became ${replySummary(seen, "first")}`,
          isSame(seen, "again", "first", "the retry"),
          callCount(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  mustCase(
    {
      id: "failures.server-error",
      says: "An operation that ended with 500, and may have taken effect, is not silently run again.",
      profile: "P14",
      needs: ["origin"],
      origin: [{ status: 500, pieces: ["half done"] }, { status: 201 }],
      script: twiceSteps,
      judge: (seen) => firstVerdict(notRepeated(seen)),
    },
    "2.6 SHOULD",
  ),
  ...NOT_NOW.map(([name, status]) =>
    mustCase({
      id: `failures.${name}`,
      says: `A ${status} with Retry-After is passed on and not kept: the next try is processed.`,
      profile: "P14",
      needs: ["origin"],
      origin: refusal(status),
      script: [sendStep("first"), sendStep("again")],
      judge: (seen) =>
        firstVerdict(
          () =>
            statusOf(seen, "first") === status
              ? null
              : `the application's ${status} became ${replySummary(seen, "first")}`,
          replySucceeds(seen, "again", "the next try"),
          callCount(seen, 2),
        ),
    }),
  ),
  mustCase({
    id: "failures.dropped",
    says: "When the call breaks off after the request was sent, the operation is not silently run again.",
    profile: "P15",
    needs: ["origin"],
    origin: [{ drop: "head" }, { status: 201 }],
    script: [sendStep("first"), settleStep("again")],
    judge: (seen) =>
      firstVerdict(
        () =>
          isSuccess(seen, "first")
            ? `the first client got ${replySummary(seen, "first")} for a call that broke off`
            : null,
        notRepeated(seen),
      ),
  }),
  shouldCase({
    id: "failures.dropped-reported",
    says: "The client of a call that broke off learns that, from 502 or 504.",
    profile: "P15",
    needs: ["origin"],
    origin: [{ drop: "head" }, { status: 201 }],
    script: [sendStep("first")],
    judge: (seen) =>
      firstVerdict(() =>
        [502, 504].includes(statusOf(seen, "first") ?? 0) ? null : `it got ${replySummary(seen, "first")}`,
      ),
  }),
  mustCase({
    id: "failures.leaver",
    says: "A client that leaves cancels nothing: its retry gets the result, and the operation runs once.",
    profile: "P16",
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: cutSteps,
    judge: (seen) => firstVerdict(callCount(seen, 1), replySucceeds(seen, "again", "the retry")),
  }),
  shouldCase({
    id: "failures.unreachable",
    // The first request of an outage may break on a connection that was open: its outcome may be unknown.
    says: "During an outage that has been noticed, a request that cannot be sent to the application leaves its key free.",
    profile: "P17",
    needs: ["origin"],
    script: [
      { do: "origin", is: "down" },
      sendStep("noticed", { key: "another" }),
      sendStep("first"),
      { do: "origin", is: "up" },
      settleStep("again"),
    ],
    judge: (seen) =>
      firstVerdict(
        () => (isSuccess(seen, "first") ? "the first request succeeded without an application" : null),
        replySucceeds(seen, "again", "the retry"),
        callCount(seen, 1),
      ),
  }),
];
