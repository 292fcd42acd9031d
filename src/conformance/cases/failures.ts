// Errors of the application, calls that break off, and clients that leave.

import type { Behaviour, Case } from "../case.ts";
import { called, isSame, isSuccess, judged, notRepeated, statusOf, succeeds, summary } from "../findings.ts";
import { isCalled, must, open, release, send, settle, should, twice } from "./define.ts";

const NOT_NOW = [
  ["unavailable", 503],
  ["throttled", 429],
] as const;

const refusal = (status: number): Behaviour => [
  { status, headers: [["Retry-After", "1"]], pieces: ["not now"] },
  { status: 201 },
];

export const FAILURES: readonly Case[] = [
  should(
    {
      id: "failures.client-error",
      says: "An error that ends an operation (402) is its result: it is replayed, and nothing is processed again.",
      profile: "P14",
      needs: ["origin"],
      origin: [{ status: 402, pieces: ["declined"] }, { status: 201 }],
      script: twice,
      judge: (seen) =>
        judged(
          () => (statusOf(seen, "first") === 402 ? null : `the application's 402 became ${summary(seen, "first")}`),
          isSame(seen, "again", "first", "the retry"),
          called(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  must(
    {
      id: "failures.server-error",
      says: "An operation that ended with 500, and may have taken effect, is not silently run again.",
      profile: "P14",
      needs: ["origin"],
      origin: [{ status: 500, pieces: ["half done"] }, { status: 201 }],
      script: twice,
      judge: (seen) => judged(notRepeated(seen)),
    },
    "2.6 SHOULD",
  ),
  ...NOT_NOW.map(([name, status]) =>
    must({
      id: `failures.${name}`,
      says: `A ${status} with Retry-After is passed on and not kept: the next try is processed.`,
      profile: "P14",
      needs: ["origin"],
      origin: refusal(status),
      script: [send("first"), send("again")],
      judge: (seen) =>
        judged(
          () =>
            statusOf(seen, "first") === status ? null : `the application's ${status} became ${summary(seen, "first")}`,
          succeeds(seen, "again", "the next try"),
          called(seen, 2),
        ),
    }),
  ),
  must({
    id: "failures.dropped",
    says: "When the call breaks off after the request was sent, the operation is not silently run again.",
    profile: "P15",
    needs: ["origin"],
    origin: [{ drop: "head" }, { status: 201 }],
    script: [send("first"), settle("again")],
    judge: (seen) =>
      judged(
        () =>
          isSuccess(seen, "first") ? `the first client got ${summary(seen, "first")} for a call that broke off` : null,
        notRepeated(seen),
      ),
  }),
  should({
    id: "failures.dropped-told",
    says: "The client of a call that broke off is told so, with 502 or 504.",
    profile: "P15",
    needs: ["origin"],
    origin: [{ drop: "head" }, { status: 201 }],
    script: [send("first")],
    judge: (seen) =>
      judged(() => ([502, 504].includes(statusOf(seen, "first") ?? 0) ? null : `it got ${summary(seen, "first")}`)),
  }),
  must({
    id: "failures.leaver",
    says: "A client that leaves cancels nothing: its retry gets the result, and the operation runs once.",
    profile: "P16",
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: [open("first"), isCalled, { do: "leave", as: "first" }, release, settle("again")],
    judge: (seen) => judged(called(seen, 1), succeeds(seen, "again", "the retry")),
  }),
  should({
    id: "failures.unreachable",
    // The first request of an outage may break on a connection that was open: its outcome may be unknown.
    says: "During an outage that has been noticed, a request that cannot be sent to the application leaves its key free.",
    profile: "P17",
    needs: ["origin"],
    script: [
      { do: "origin", is: "down" },
      send("noticed", { key: "another" }),
      send("first"),
      { do: "origin", is: "up" },
      settle("again"),
    ],
    judge: (seen) =>
      judged(
        () => (isSuccess(seen, "first") ? "the first request succeeded without an application" : null),
        succeeds(seen, "again", "the retry"),
        called(seen, 1),
      ),
  }),
];
