// What clients of MCP need of whatever protects their tool calls. `id.own` is MCP's own rule (a response has the id of its request, and ids are new in each try); the
// others are this project's, because MCP has no keys: they are what the official clients need to retry. Keys are in the header.

import { isDeepStrictEqual } from "node:util";
import type { CallBehaviour, CaseObservation, ConformanceCase } from "../case.ts";
import { callCount, firstVerdict, isSuccess, replySucceeds, replySummary, wholeAnswerOf } from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { FIRST_ID } from "../tool-call.ts";
import {
  burstStep,
  calledStep,
  COPY_NAMES,
  cutSteps,
  mustCase,
  openStep,
  releaseStep,
  sendStep,
  settleStep,
  shouldCase,
} from "./define.ts";
import {
  headerKeyCall,
  hasNoResult,
  hasResultOf,
  haveOneResult,
  respondsWith,
  resultIn,
  rpcAnswer,
} from "./rpc-findings.ts";

const RESULT = '{"content":[{"type":"text","text":"paid"}]}';

const paid = rpcAnswer(`"result":${RESULT}`);
/** Whatever is processed a second time is seen in its result. */
const paidAgain = rpcAnswer('"result":{"content":[{"type":"text","text":"paid again"}]}');

/** The same in an event stream, behind what is the first caller's alone. */
const streamed: CallBehaviour = {
  status: 200,
  headers: [["Content-Type", "text/event-stream"]],
  pieces: [
    'id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n',
    `id: 2\nevent: message\ndata: {"jsonrpc":"2.0","id":${FIRST_ID},"result":${RESULT}}\n\n`,
  ],
};

/** The client of the first call has left. */
const givesFirstResult = (seen: CaseObservation) =>
  firstVerdict(callCount(seen, 1), respondsWith(seen, "again", FIRST_ID, "result"), () =>
    isDeepStrictEqual(resultIn(seen, "again"), JSON.parse(RESULT)) ? null : "the response has not the first result",
  );

/** The first one's result, under the id of this call. */
const replays = (seen: CaseObservation, id: unknown) =>
  firstVerdict(
    replySucceeds(seen, "first", "the first call"),
    callCount(seen, 1),
    respondsWith(seen, "again", id, "result"),
    hasResultOf(seen, "again", "first"),
  );

/** An error that the SDKs read: under the call's own id, with HTTP 200; nothing is processed for it. */
const refuses = (seen: CaseObservation, id: unknown, calls: number) =>
  firstVerdict(callCount(seen, calls), respondsWith(seen, "again", id, "error"), () =>
    isSuccess(seen, "again") ? null : `got ${replySummary(seen, "again")}: the SDKs read an error with HTTP 200 alone`,
  );

const first = sendStep("first", headerKeyCall(FIRST_ID));
const again = sendStep("again", headerKeyCall("next"));
const shared = { profile: "keys", origin: [paid, paidAgain] } as const;

/** The first call has not this outcome for good: the next try is processed. */
const notKept = (id: string, says: string, behaviour: CallBehaviour, after = ""): ConformanceCase =>
  mustCase({
    ...shared,
    needs: ["origin"],
    id,
    says,
    origin: [behaviour, rpcAnswer(`"result":${RESULT}`)],
    script: [first, sendStep("again", headerKeyCall(FIRST_ID, { after }))],
    judge: (seen) => firstVerdict(callCount(seen, 2), respondsWith(seen, "again", FIRST_ID, "result")),
  });

export const MCP: readonly ConformanceCase[] = [
  mustCase({
    ...shared,
    id: "id.own",
    says: "A replay has the id of the call that gets it, as its client wrote it.",
    profile: "basic, responses",
    script: [first, again],
    judge: (seen) => replays(seen, "next"),
  }),
  mustCase({
    ...shared,
    id: "list.free",
    says: "tools/list needs no key, and passes each time.",
    script: ["first", "again"].map((as) =>
      sendStep(as, { body: { text: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}' }, key: null }),
    ),
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the first"),
        replySucceeds(seen, "again", "the second"),
        callCount(seen, 2),
      ),
  }),
  mustCase({
    ...shared,
    id: "retry.new-session",
    says: "A client that comes back in another session gets its result.",
    script: [first, sendStep("again", { ...headerKeyCall("next"), session: "another" })],
    judge: (seen) => replays(seen, "next"),
  }),
  mustCase({
    ...shared,
    id: "session.not-replayed",
    needs: ["origin"],
    says: "A replay has not the session of the first call.",
    origin: [
      {
        ...paid,
        headers: [
          ["Content-Type", "application/json"],
          ["Mcp-Session-Id", "first"],
        ],
      },
      paidAgain,
    ],
    script: [first, again],
    judge: (seen) =>
      firstVerdict(
        () => {
          const answer = wholeAnswerOf(seen, "again");
          return answer !== null && headerValue(answer, "mcp-session-id") !== null ? "the replay has a session" : null;
        },
        () => {
          const verdict = replays(seen, "next");
          return verdict.is === "failed" ? verdict.why : null;
        },
      ),
  }),
  notKept("session.dead", "A session that the server no longer has is no result: the next try is processed.", {
    ...rpcAnswer('"error":{"code":-32001,"message":"Session not found"}'),
    status: 404,
  }),
  notKept(
    "error.protocol",
    "An error of the protocol is no result: the next try is processed.",
    rpcAnswer('"error":{"code":-32602,"message":"Invalid params"}'),
  ),
  notKept(
    "mrtr.once",
    "A question of the server is no result: the call that answers it is processed.",
    rpcAnswer('"result":{"resultType":"input_required","inputRequests":{}}'),
    ',"inputResponses":{"a":{"action":"accept"}},"requestState":"s"',
  ),
  mustCase({
    ...shared,
    id: "stream.response-only",
    needs: ["origin"],
    says: "A replay of an event stream has the response alone, and nothing that was for the first caller.",
    origin: [streamed, paidAgain],
    script: [first, again],
    judge: (seen) => replays(seen, "next"),
  }),
  mustCase({
    ...shared,
    id: "conflict.json-rpc",
    needs: ["other-arguments"],
    says: "Other arguments under the key get a JSON-RPC error under the call's own id, and are not processed.",
    script: [first, sendStep("again", headerKeyCall("next", { input: "other" }))],
    judge: (seen) => refuses(seen, "next", 1),
  }),
  mustCase({
    ...shared,
    id: "key.missing",
    says: "A call without a key gets a JSON-RPC error under its own id, and is not processed.",
    script: [sendStep("again", { ...headerKeyCall("next"), key: null })],
    judge: (seen) => refuses(seen, "next", 0),
  }),
  mustCase({
    ...shared,
    id: "members.twice",
    says: "A call that two servers could read in two ways is not processed.",
    script: [sendStep("again", headerKeyCall("next", { before: '"method":"tools/list",' }))],
    judge: (seen) => firstVerdict(callCount(seen, 0), hasNoResult(seen, "again")),
  }),
  shouldCase({
    ...shared,
    id: "batch",
    says: "A batch with such a call is refused as a whole: one key stands for one call.",
    script: [sendStep("again", { body: { call: [{ id: "next" }, { id: "other" }] } })],
    judge: (seen) => firstVerdict(callCount(seen, 0), hasNoResult(seen, "again")),
  }),
  mustCase({
    ...shared,
    id: "burst.ten",
    says: "Of ten equal calls at once one is processed, and each of those that are answered has its result.",
    script: [burstStep],
    judge: (seen) => firstVerdict(callCount(seen, 1), haveOneResult(seen, COPY_NAMES)),
  }),
  mustCase({
    ...shared,
    id: "cut.reply",
    needs: ["origin"],
    says: "A client whose line breaks before the response gets it by calling again, and nothing is processed twice.",
    origin: [{ ...paid, hold: "head" }, paidAgain],
    script: cutSteps,
    judge: givesFirstResult,
  }),
  mustCase({
    ...shared,
    id: "leave.once",
    needs: ["origin"],
    says: "A client that closes its stream calls nothing off: it gets the response by calling again, and nothing is processed twice.",
    profile: "basic/transports",
    origin: [{ ...streamed, hold: "body" }, paidAgain],
    script: [
      openStep("first"),
      calledStep,
      { do: "piece", as: "first" },
      { do: "leave", as: "first" },
      releaseStep,
      settleStep("again"),
    ],
    judge: givesFirstResult,
  }),
];
