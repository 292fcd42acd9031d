// Answers that come piece by piece, and those that break off.

import type { CaseBehaviour, ConformanceCase, CaseStep } from "../case.ts";
import {
  wholeAnswerOf,
  callCount,
  isSame,
  firstVerdict,
  notRepeated,
  replyOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import {
  endStep,
  calledStep,
  lookStep,
  mustCase,
  openStep,
  releaseStep,
  sendStep,
  settleStep,
  shouldCase,
  twiceSteps,
} from "./define.ts";

const EVENTS = [["Content-Type", "text/event-stream"]] as const;
export const PIECES = ["data: one\n\n", "data: two\n\n", "data: three\n\n"] as const;
const WHOLE = PIECES.join("");
const STREAM: CaseBehaviour = [{ status: 200, headers: EVENTS, pieces: PIECES }];
const HELD: CaseBehaviour = [{ status: 200, headers: EVENTS, pieces: PIECES, hold: "body" }];
const BROKEN: CaseBehaviour = [{ status: 200, headers: EVENTS, pieces: PIECES, drop: "body" }, { status: 201 }];
const piece: CaseStep = { do: "piece", as: "first" };

/** Whether a reply says that it is all there, and is not. */
export const isNoHalf = (reply: ReturnType<typeof replyOf>): boolean => {
  if ("lost" in reply || !reply.complete || reply.status >= 300) return true;
  const text = reply.body.toString("latin1");
  return text === WHOLE || text === "" || !WHOLE.startsWith(text);
};

export const STREAMING: readonly ConformanceCase[] = [
  shouldCase({
    id: "streaming.progressive",
    says: "The client gets the first piece of a streamed answer before its end.",
    profile: "P18",
    needs: ["origin"],
    origin: HELD,
    script: [openStep("first"), calledStep, piece, releaseStep, endStep("first")],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the request"), () =>
        seen.early.includes("first") ? null : "nothing came until the whole answer was there",
      ),
  }),
  mustCase({
    id: "streaming.replayed",
    says: "A streamed answer is replayed whole.",
    profile: "P18",
    needs: ["origin"],
    origin: STREAM,
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(
        () =>
          wholeAnswerOf(seen, "first")?.body.toString("latin1") === WHOLE
            ? null
            : `the first request got ${replySummary(seen, "first")}`,
        isSame(seen, "again", "first", "the retry"),
        callCount(seen, 1),
      ),
  }),
  mustCase({
    id: "streaming.duplicate",
    says: "A duplicate while the answer streams is not processed.",
    profile: "P18",
    needs: ["origin"],
    origin: HELD,
    script: [
      openStep("first"),
      calledStep,
      piece,
      openStep("copy"),
      lookStep("copy"),
      releaseStep,
      endStep("first"),
      endStep("copy"),
    ],
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () =>
        isNoHalf(replyOf(seen, "copy")) ? null : "the duplicate got half an answer that looks whole",
      ),
  }),
  mustCase({
    id: "streaming.leaver",
    says: "A client that leaves while its answer streams finds all of it when it comes back.",
    profile: "P16",
    needs: ["origin"],
    origin: HELD,
    script: [openStep("first"), calledStep, piece, { do: "leave", as: "first" }, releaseStep, settleStep("again")],
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), replySucceeds(seen, "again", "the retry"), () =>
        wholeAnswerOf(seen, "again")?.body.toString("latin1") === WHOLE
          ? null
          : "the retry got another answer, or half of it",
      ),
  }),
  mustCase({
    id: "streaming.cut",
    says: "An answer that breaks off on its way to the server never reaches the client as a whole one.",
    profile: "P18",
    needs: ["origin"],
    origin: BROKEN,
    script: [sendStep("first")],
    judge: (seen) =>
      firstVerdict(() => (isNoHalf(replyOf(seen, "first")) ? null : "the client got half an answer that looks whole")),
  }),
  mustCase({
    id: "streaming.cut-retry",
    says: "A retry after that gets no half answer that looks whole, and does not silently run the operation again.",
    profile: "P15",
    needs: ["origin"],
    origin: BROKEN,
    script: [sendStep("first"), settleStep("again")],
    judge: (seen) =>
      firstVerdict(
        () => (isNoHalf(replyOf(seen, "again")) ? null : "the retry got half an answer that looks whole"),
        notRepeated(seen),
      ),
  }),
];
