// How long a key is remembered, and where a client can read that.

import type { ConformanceCase } from "../case.ts";
import {
  wholeAnswerOf,
  callCount,
  isSame,
  firstVerdict,
  hasAnswerOf,
  markOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { mayCase, mustCase, sendStep, shouldCase } from "./define.ts";

/** The name of the profile, as policies declare it: compared as text, and no address. */
export const PROFILE = "onceway-idempotency-1";

export const EXPIRY: readonly ConformanceCase[] = [
  // The draft (section 2.5.2) wants a policy published too, but in any place, for people.
  shouldCase({
    id: "expiry.published",
    says: "The policy is published at /.well-known/idempotency, with the retention of the route.",
    profile: "P24",
    script: [],
    judge: ({ policy }) =>
      firstVerdict(() => {
        if (policy === null) return "there is no JSON at /.well-known/idempotency with a route for this path";
        return policy.retentionSeconds === null ? "the policy has no retentionSeconds for this path" : null;
      }),
  }),
  mayCase({
    id: "expiry.profile",
    says: "The policy names the profile that the server follows.",
    profile: "P24",
    script: [],
    judge: ({ policy }) =>
      firstVerdict(() =>
        policy?.profile === PROFILE ? null : `its member "profile" is ${policy?.profile ?? "missing"}, not ${PROFILE}`,
      ),
  }),
  mayCase({
    id: "expiry.reported",
    says: "Answers say until when they are kept.",
    profile: "P21",
    script: [sendStep("first")],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the request"), () =>
        headerValue(wholeAnswerOf(seen, "first") ?? { headers: [] }, "idempotency-expires") === null
          ? "the answer has no Idempotency-Expires"
          : null,
      ),
  }),
  mustCase(
    {
      id: "expiry.kept",
      says: "Half-way through its retention, an answer is still replayed.",
      profile: "P21",
      needs: ["retention"],
      script: [sendStep("first"), { do: "pause", until: "half the retention" }, sendStep("again")],
      judge: (seen) =>
        firstVerdict(
          replySucceeds(seen, "first", "the first request"),
          isSame(seen, "again", "first", "the retry"),
          callCount(seen, 1),
        ),
    },
    "2.3 SHOULD",
  ),
  shouldCase(
    {
      id: "expiry.ended",
      says: "After its retention, an answer is no longer replayed: the key is free, or refused as expired.",
      profile: "P21",
      needs: ["retention"],
      script: [sendStep("first"), { do: "pause", until: "after the retention" }, sendStep("again")],
      judge: (seen) =>
        firstVerdict(replySucceeds(seen, "first", "the first request"), () => {
          const again = wholeAnswerOf(seen, "again");
          if (again === null) return `the request after it got ${replySummary(seen, "again")}`;
          return hasAnswerOf(seen, "again", "first") || markOf(again) !== null ? "the old answer was replayed" : null;
        }),
    },
    "2.3 SHOULD",
  ),
];
