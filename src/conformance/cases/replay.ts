// The first request, and what a retry of it gets.

import type { ConformanceCase } from "../case.ts";
import { wholeAnswerOf, notAlike, callCount, isSame, firstVerdict, markOf, replySucceeds } from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { mustCase, sendStep, shouldCase, twiceSteps } from "./define.ts";

const DESCRIBED = [
  ["Content-Type", "application/vnd.conformance+json"],
  ["Location", "/things/7"],
  ["ETag", '"v7"'],
  ["Link", '</one>; rel="next"'],
  ["Link", '</two>; rel="prev"'],
] as const;

export const REPLAY: readonly ConformanceCase[] = [
  mustCase(
    {
      id: "replay.first",
      says: "A first request is processed once.",
      profile: "P6",
      script: [sendStep("first")],
      judge: (seen) => firstVerdict(replySucceeds(seen, "first", "a first request"), callCount(seen, 1)),
    },
    "2.6 SHOULD",
  ),
  mustCase({
    id: "replay.request-unchanged",
    says: "The request reaches the application with its method, query and payload, and the answer comes back with its status and bytes.",
    profile: "P6",
    needs: ["origin"],
    origin: [{ status: 202, pieces: ['{"as":"it is"}'] }],
    script: [sendStep("first", { query: "currency=EUR&to=a%20b" })],
    judge: (seen) =>
      firstVerdict(
        callCount(seen, 1),
        () => {
          const call = seen.calls?.[0];
          if (call === undefined) return "it was not processed";
          if (!call.target.endsWith("?currency=EUR&to=a%20b")) return `its target became ${call.target}`;
          return call.body.equals(seen.sent) ? null : "its payload was changed on the way";
        },
        () => {
          const answer = wholeAnswerOf(seen, "first");
          if (answer?.status !== 202) return `the application's 202 became ${answer?.status ?? "no answer"}`;
          return answer.body.toString() === '{"as":"it is"}' ? null : "the answer's bytes were changed on the way";
        },
      ),
  }),
  mustCase(
    {
      id: "replay.same",
      says: "A retry after completion gets the first answer's status and bytes, and is not processed.",
      profile: "P7",
      script: twiceSteps,
      judge: (seen) =>
        firstVerdict(
          replySucceeds(seen, "first", "the first request"),
          isSame(seen, "again", "first", "the retry"),
          callCount(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  mustCase({
    id: "replay.headers",
    says: "A replay has the headers that describe the answer: Content-Type, Location, ETag, and each Link line.",
    profile: "P7",
    needs: ["origin"],
    origin: [{ headers: DESCRIBED }],
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(isSame(seen, "again", "first", "the retry"), () => {
        const again = wholeAnswerOf(seen, "again");
        const lost = DESCRIBED.filter(
          ([name, value]) => headerValue(again ?? { headers: [] }, name)?.includes(value) !== true,
        );
        return lost.length === 0
          ? null
          : `the replay lacks ${lost.map(([name, value]) => `${name}: ${value}`).join(", ")}`;
      }),
  }),
  shouldCase({
    id: "replay.cookies",
    says: "Set-Cookie goes to the first client, and is not in the replay.",
    profile: "P8",
    needs: ["origin"],
    origin: [{ headers: [["Set-Cookie", "session=secret; HttpOnly"]] }],
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(
        isSame(seen, "again", "first", "the retry"),
        () =>
          headerValue(wholeAnswerOf(seen, "first") ?? { headers: [] }, "set-cookie") === null
            ? "the first client got no cookie"
            : null,
        () =>
          headerValue(wholeAnswerOf(seen, "again") ?? { headers: [] }, "set-cookie") === null
            ? null
            : "the cookie was replayed",
      ),
  }),
  shouldCase({
    id: "replay.marked",
    says: "A replay says that it is one.",
    profile: "P9",
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(isSame(seen, "again", "first", "the retry"), () => {
        const again = wholeAnswerOf(seen, "again");
        return again !== null && markOf(again) !== null
          ? null
          : "no header marks the replay, such as Idempotent-Replayed: true";
      }),
  }),
  mustCase({
    id: "replay.first-unmarked",
    says: "A first answer does not say that it is a replay.",
    profile: "P9",
    script: [sendStep("first")],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the first request"), () => {
        const first = wholeAnswerOf(seen, "first");
        const mark = first === null ? null : markOf(first);
        return mark === null ? null : `the first answer has ${mark}`;
      }),
  }),
  mustCase(
    {
      id: "replay.always",
      says: "Each further retry gets that answer too.",
      profile: "P7",
      script: [sendStep("first"), ...["a", "b", "c", "d"].map((name) => sendStep(name))],
      judge: (seen) =>
        firstVerdict(
          replySucceeds(seen, "first", "the first request"),
          ...["a", "b", "c", "d"].map((name) => isSame(seen, name, "first", "a retry")),
          callCount(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  mustCase(
    {
      id: "replay.new-key",
      says: "Another key with the same payload is another operation.",
      profile: "P6",
      script: [sendStep("first"), sendStep("again", { key: "another" })],
      judge: (seen) =>
        firstVerdict(
          replySucceeds(seen, "first", "the first key"),
          replySucceeds(seen, "again", "the second key"),
          notAlike(seen, "first", "again"),
        ),
    },
    "2.6 SHOULD",
  ),
];
