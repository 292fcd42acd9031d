// What an answer of the origin means: by its status and, where its status says that it is a result, by its body, if a feature reads that. Such a body is
// held whole until it has been read; an event stream flows, and is known at its end. One that cannot be read is the result that its status says: what nobody has read never lets a second
// attempt start.

import { holdAnswer } from "../body/held-answer.ts";
import type { RouteRules } from "../config/resolved.ts";
import type { BodyQuestion, JudgeBody, MessageWatch, WatchMessages } from "../judge-body.ts";
import { type BrokenOff, type EndReason, judgeAttempt, type NoResult } from "../record/verdict.ts";
import { WHOLE } from "../request/body-reader.ts";
import type { BodyPiece, OriginResponse } from "./origin-call.ts";
import type { ObjectTimers } from "./timers.ts";

export interface JudgingPorts {
  /** `null`: a status alone decides. */
  readonly judgeBody: JudgeBody | null;
  /** `null`: an event stream is whole when it ends. */
  readonly watchMessages: WatchMessages | null;
  /** A body that would have counted could not be read. */
  readonly unreadable: () => void;
  readonly timers: ObjectTimers;
}

/** The response has all of its body, also what has been read of it. */
export type JudgedResponse =
  /** `atEnd`: to be asked when its whole body has been read; `null`: it is a result. */
  | { readonly kind: "result"; readonly response: OriginResponse; readonly atEnd?: () => Promise<PassedStream | null> }
  | { readonly kind: NoResult; readonly reason: EndReason; readonly response: OriginResponse }
  /** It broke off before it was known. */
  | { readonly kind: "broken"; readonly end: BrokenOff };

/** An event stream that is no result. `answer`: what those who have waited for it get of it. */
export interface PassedStream {
  readonly type: NoResult;
  readonly reason: EndReason;
  readonly answer: Uint8Array;
}

export function judgeResponse(
  response: OriginResponse,
  rules: RouteRules,
  ports: JudgingPorts,
): JudgedResponse | Promise<JudgedResponse> {
  const { judgeBody, watchMessages, unreadable } = ports;
  const { status } = response;
  const kind = judgeAttempt({ kind: "answered", status }, rules.lists);
  if (kind !== "result") return { kind, reason: { kind: "status", status }, response };
  const watch = watchMessages === null ? null : watchMessages(response, rules);
  if (watch !== null) return watched(response, watch, rules, ports);
  const question = judgeBody === null ? null : judgeBody(response, rules);
  if (question === null) return { kind, response };
  if (question === "unreadable") {
    unreadable();
    return { kind, response };
  }
  return judgeHeld(response, question, unreadable);
}

/** By its body, of which something counts. */
async function judgeHeld(
  response: OriginResponse,
  question: BodyQuestion,
  unreadable: () => void,
): Promise<JudgedResponse> {
  const { status } = response;
  const kind = "result";
  const held = await holdAnswer(response);
  if (held.kind === "broken") return held;
  const said = held.bytes === null ? "unreadable" : await question(held.bytes);
  if (said === "unreadable") unreadable();
  if (said === "unreadable" || said.is === "result") return { kind, response: held.response };
  return { kind: said.is, reason: { kind: "body", at: said.at, status }, response: held.response };
}

const EMPTY = new Uint8Array();

/** The message alone is judged, as the JSON that it is. */
const JSON_HEADERS = [["content-type", "application/json"]] as const;

function watched(
  response: OriginResponse,
  watch: MessageWatch,
  rules: RouteRules,
  { judgeBody, unreadable, timers }: JudgingPorts,
): JudgedResponse {
  const { status } = response;
  let endsAt = Number.POSITIVE_INFINITY;
  const next = async (): Promise<BodyPiece> => {
    const reading = response.next();
    const leftMs = endsAt - performance.now();
    const piece = leftMs === Number.POSITIVE_INFINITY ? await reading : await timers.firstOf(reading, leftMs);
    if (piece === null) {
      response.cancel();
      reading.catch(ignore);
      return ended(WHOLE);
    }
    if (piece.kind === "whole") return ended(piece);
    // The message has come: what else the stream would have brought is nobody's.
    if (piece.kind !== "bytes") return ended(watch.message instanceof Uint8Array ? WHOLE : piece);
    const taking = watch.take(piece.bytes);
    if (taking instanceof Promise) await taking;
    if (watch.message instanceof Uint8Array) endsAt = Math.min(endsAt, performance.now() + AFTER_MESSAGE_MS);
    return piece;
  };
  const ended = (piece: BodyPiece): BodyPiece => {
    watch.free();
    return piece;
  };
  const cancel = (): void => {
    watch.free();
    response.cancel();
  };
  const atEnd = async (): Promise<PassedStream | null> => {
    const { message } = watch;
    if (message === null) return { type: "ambiguous", reason: { kind: "dropped" }, answer: EMPTY };
    const question = judgeBody === null ? null : judgeBody({ status, headers: JSON_HEADERS }, rules);
    if (message === "unreadable") unreadable();
    if (message === "unreadable" || question === null || question === "unreadable") return null;
    const said = await question(message);
    if (said === "unreadable") unreadable();
    if (said === "unreadable" || said.is === "result") return null;
    return { type: said.is, reason: { kind: "body", at: said.at, status }, answer: watch.asStream(message) };
  };
  // Its length is not used: a stream whose whole body comes at once is judged like any other.
  return { kind: "result", response: { ...response, length: null, next, cancel }, atEnd };
}

/** Servers close the stream behind the message. One that does not, and still sends signs of life, must not keep the record from its end. */
const AFTER_MESSAGE_MS = 2000;

function ignore(): void {
  // Nobody reads the rest.
}
