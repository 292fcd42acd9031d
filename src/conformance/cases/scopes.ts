// Whose key it is.

import type { Case } from "../case.ts";
import { notAlike, hasAnswerOf, isRefused, isSame, judged, statusOf, succeeds, summary } from "../findings.ts";
import { must, send, should } from "./define.ts";

const UNAUTHORIZED: ReadonlySet<number | null> = new Set([401, 403, 404]);

export const SCOPES: readonly Case[] = [
  must(
    {
      id: "scopes.callers",
      says: "Another caller with the same key and payload does not get the first caller's answer.",
      profile: "P13",
      needs: ["other-caller"],
      script: [send("first"), send("theirs", { caller: "other" })],
      judge: (seen) =>
        judged(succeeds(seen, "first", "the first caller"), () =>
          hasAnswerOf(seen, "theirs", "first") ? "the other caller got the first caller's answer" : null,
        ),
    },
    "5 SHOULD",
  ),
  must(
    {
      id: "scopes.anonymous",
      says: "A request without the caller's credential does not get the caller's answer.",
      profile: "P13",
      needs: ["other-caller"],
      script: [send("first"), send("theirs", { caller: "none" })],
      judge: (seen) =>
        judged(succeeds(seen, "first", "the first caller"), () =>
          hasAnswerOf(seen, "theirs", "first") ? "a request without a credential got the caller's answer" : null,
        ),
    },
    "5 SHOULD",
  ),
  should({
    id: "scopes.separate",
    says: "The same key of two callers is two operations, each with its own answer.",
    profile: "P13",
    needs: ["other-caller"],
    script: [send("first"), send("theirs", { caller: "other" }), send("again")],
    judge: (seen) =>
      judged(
        succeeds(seen, "first", "the first caller"),
        succeeds(seen, "theirs", "the other caller"),
        notAlike(seen, "first", "theirs"),
        isSame(seen, "again", "first", "the first caller's retry"),
      ),
  }),
  must({
    id: "scopes.payload",
    says: "Another caller with another payload learns nothing of the first request.",
    profile: "P13",
    needs: ["other-caller", "other-body"],
    script: [send("first"), send("theirs", { caller: "other", body: "other" })],
    judge: (seen) =>
      judged(succeeds(seen, "first", "the first caller"), () => {
        // It may be asked for a credential, as with any key.
        const isKeyKnown = isRefused(seen, "theirs") && !UNAUTHORIZED.has(statusOf(seen, "theirs"));
        return isKeyKnown ? `the other caller got ${summary(seen, "theirs")}: it learns that the key is in use` : null;
      }),
  }),
];
