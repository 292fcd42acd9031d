// Whose key it is.

import type { ConformanceCase } from "../case.ts";
import {
  notAlike,
  hasAnswerOf,
  isRefused,
  isSame,
  firstVerdict,
  statusOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { mustCase, sendStep, shouldCase } from "./define.ts";

const UNAUTHORIZED: ReadonlySet<number | null> = new Set([401, 403, 404]);

export const SCOPES: readonly ConformanceCase[] = [
  mustCase(
    {
      id: "scopes.callers",
      says: "Another caller with the same key and payload does not get the first caller's answer.",
      profile: "P13",
      needs: ["other-caller"],
      script: [sendStep("first"), sendStep("theirs", { caller: "other" })],
      judge: (seen) =>
        firstVerdict(replySucceeds(seen, "first", "the first caller"), () =>
          hasAnswerOf(seen, "theirs", "first") ? "the other caller got the first caller's answer" : null,
        ),
    },
    "5 SHOULD",
  ),
  mustCase(
    {
      id: "scopes.anonymous",
      says: "A request without the caller's credential does not get the caller's answer.",
      profile: "P13",
      needs: ["other-caller"],
      script: [sendStep("first"), sendStep("theirs", { caller: "none" })],
      judge: (seen) =>
        firstVerdict(replySucceeds(seen, "first", "the first caller"), () =>
          hasAnswerOf(seen, "theirs", "first") ? "a request without a credential got the caller's answer" : null,
        ),
    },
    "5 SHOULD",
  ),
  shouldCase({
    id: "scopes.separate",
    says: "The same key of two callers is two operations, each with its own answer.",
    profile: "P13",
    needs: ["other-caller"],
    script: [sendStep("first"), sendStep("theirs", { caller: "other" }), sendStep("again")],
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the first caller"),
        replySucceeds(seen, "theirs", "the other caller"),
        notAlike(seen, "first", "theirs"),
        isSame(seen, "again", "first", "the first caller's retry"),
      ),
  }),
  mustCase({
    id: "scopes.payload",
    says: "Another caller with another payload learns nothing of the first request.",
    profile: "P13",
    needs: ["other-caller", "other-body"],
    script: [sendStep("first"), sendStep("theirs", { caller: "other", body: "other" })],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the first caller"), () => {
        // It may be asked for a credential, as with any key.
        const isKeyKnown = isRefused(seen, "theirs") && !UNAUTHORIZED.has(statusOf(seen, "theirs"));
        return isKeyKnown
          ? `the other caller got ${replySummary(seen, "theirs")}: it learns that the key is in use`
          : null;
      }),
  }),
];
