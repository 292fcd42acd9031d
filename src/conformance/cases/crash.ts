// What is left when the server's process is killed and started again.

import type { Behaviour, Case } from "../case.ts";
import {
  wholeAnswerOf,
  asksForLater,
  called,
  isRefused,
  isSame,
  judged,
  notRepeated,
  replyOf,
  succeeds,
  summary,
} from "../findings.ts";
import { end, isCalled, must, open, restart, send, settle, should } from "./define.ts";
import { isNoHalf, PIECES } from "./streaming.ts";

const HELD: Behaviour = [{ hold: "head" }, { status: 201 }];
const HELD_BODY: Behaviour = [{ status: 200, pieces: PIECES, hold: "body" }, { status: 201 }];

export const CRASH: readonly Case[] = [
  must({
    id: "crash.finished",
    says: "A result that a client has seen is replayed after a crash.",
    profile: "P20",
    needs: ["restart"],
    script: [send("first"), restart, send("again")],
    judge: (seen) =>
      judged(
        succeeds(seen, "first", "the first request"),
        isSame(seen, "again", "first", "the retry after the crash"),
        called(seen, 1),
      ),
  }),
  must({
    id: "crash.mismatch",
    says: "A reuse with another payload is refused after a crash too.",
    profile: "P20",
    needs: ["restart", "other-body"],
    script: [send("first"), restart, send("again", { body: "other" })],
    judge: (seen) =>
      judged(succeeds(seen, "first", "the first request"), called(seen, 1), () =>
        isRefused(seen, "again") ? null : `the other request got ${summary(seen, "again")}`,
      ),
  }),
  must({
    id: "crash.in-flight",
    says: "An operation whose call was in flight at the crash is not silently run again.",
    profile: "P20",
    needs: ["restart", "origin"],
    origin: HELD,
    script: [open("first"), isCalled, restart, end("first"), settle("again")],
    judge: (seen) => judged(notRepeated(seen)),
  }),
  should({
    id: "crash.not-stuck",
    says: "When the lock of that call has ended, its client is told something else than to come back later.",
    profile: "P20",
    needs: ["restart", "origin", "lock"],
    origin: HELD,
    script: [open("first"), isCalled, restart, end("first"), { do: "pause", until: "after the lock" }, send("again")],
    judge: (seen) =>
      judged(() => {
        const again = wholeAnswerOf(seen, "again");
        if (again === null) return `the retry got ${summary(seen, "again")}`;
        return asksForLater(again) ? `the retry still got ${summary(seen, "again")} and is told to come back` : null;
      }),
  }),
  must({
    id: "crash.stream",
    says: "After a crash in the middle of an answer, nobody gets the half of it as a whole, and the operation is not silently run again.",
    profile: "P20",
    needs: ["restart", "origin"],
    origin: HELD_BODY,
    script: [open("first"), isCalled, { do: "piece", as: "first" }, restart, end("first"), settle("again")],
    judge: (seen) =>
      judged(
        () => (isNoHalf(replyOf(seen, "first")) ? null : "the first client got half an answer that looks whole"),
        () => (isNoHalf(replyOf(seen, "again")) ? null : "the retry got half an answer that looks whole"),
        notRepeated(seen),
      ),
  }),
];
