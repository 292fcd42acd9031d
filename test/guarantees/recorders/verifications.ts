// The origin's answers when the gateway asks what it knows about a key (`unknown = "verify"`). It reports only what it did
// for the credential that asks. At times it answers late, one byte at a time, incompletely, or not at all. It reports each
// question once it is over.

import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { HeaderPair } from "../../support/http.ts";
import type { OriginMarks, Verification } from "../history.ts";
import { type Arrivals, header, recordName } from "./arrivals.ts";
import { bodyOf, digestHead, MARKS_HEADER, REQUEST_HEADER, sha256 } from "./marks.ts";

/** How the origin answers one question for a key. */
export type VerificationMode =
  /** Truthfully: reports what it did for the credential that asks. */
  | "truth"
  /** Truthfully, just before the gateway gives up. */
  | "slow"
  /** Never. */
  | "hang"
  /** Truthfully, but one byte at a time, for longer than any timeout. */
  | "trickle"
  /** Breaks off in the middle of a truthful answer. */
  | "cut"
  | "reset"
  /** With a status that says nothing about the key. */
  | "401"
  | "403"
  | "302"
  | "503"
  // Whole answers about a state that say neither:
  /** From a cache, of before anything happened. */
  | "stale"
  /** In part: a list that is cut, or a state between the others. */
  | "part"
  /** With values that differ in how they are written. */
  | "near"
  /** JSON that readers understand differently. */
  | "odd"
  /** Truthfully, after somebody else has done the same. */
  | "foreign";

/** A question about a record. */
export type Asked = Pick<Verification, "key" | "scope" | "credential"> & { readonly mode: VerificationMode };

/** A whole answer, and what it says. */
export interface Said extends Pick<Verification, "effect" | "state"> {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

/** What an answer says that is being written now. `seq`: its number; `request`: whose claim asks. */
export type Say = (asked: Asked, seq: number, request: string) => Said;

export interface Verifications {
  /** `say`: what it knows about the key, unless the question is about something else. */
  answer(asked: Asked, request: IncomingMessage, response: ServerResponse, say?: Say): Promise<void>;
  /** Ends and reports the open questions. */
  closeAll(): void;
}

const BYTES = 200;
/** Below the gateway's `timeout`. */
const SLOW_MS = 500;
/** Below the gateway's `idle_timeout`. */
const TRICKLE_MS = 300;
/** The origin ends trickling and hanging answers itself, long after the gateway should have given up. */
const STALL_MS = 7_000;

type Draft = { -readonly [Name in keyof Verification]: Verification[Name] };

export function createQuestions(arrivals: Arrivals, report: (event: Verification) => void): Verifications {
  const open = new Set<(by: Verification["closedBy"]) => void>();

  const sayByKey: Say = ({ key, scope, credential }, seq, request) => {
    const effect = arrivals.effectFor(recordName({ key, scope }), credential);
    const marks: OriginMarks = { arrival: seq, request, key, scope, effect, bytes: BYTES };
    return {
      effect,
      status: effect === null ? 404 : 200,
      headers: [
        ["Content-Type", "application/octet-stream"],
        ...(effect === null ? [] : [[MARKS_HEADER, JSON.stringify(marks)] as const]),
      ],
      body: effect === null ? Buffer.from("{}") : bodyOf(marks),
    };
  };

  return {
    async answer(asked, request, response, say = sayByKey) {
      const { mode, ...caller } = asked;
      const draft: Draft = {
        type: "verification",
        seq: arrivals.number(),
        ...caller,
        mode,
        at: Date.now(),
        effect: null,
        status: null,
        lastAt: null,
        headers: null,
        sha256: null,
        closedAt: 0,
        closedBy: "origin",
      };
      let endedHere = false;
      const close = (by: Verification["closedBy"]): void => {
        if (open.delete(close)) report({ ...draft, closedAt: Date.now(), closedBy: by });
      };
      open.add(close);
      response.on("close", () => close(endedHere || response.writableFinished ? "origin" : "peer"));
      const reset = (): void => {
        endedHere = true;
        request.socket.resetAndDestroy();
      };
      const told = (): Said => say(asked, draft.seq, header(request, REQUEST_HEADER));
      request.resume();
      switch (mode) {
        case "truth":
        case "stale":
        case "part":
        case "near":
        case "odd":
        case "foreign":
          return tell(draft, told(), response, "whole");
        case "slow": {
          // It was read when the question came, and may be old when it is told.
          const said = told();
          await pause(SLOW_MS);
          return tell(draft, said, response, "whole");
        }
        case "trickle":
          await tell(draft, told(), response, "trickle");
          return reset();
        case "cut":
          await tell(draft, told(), response, "half");
          return reset();
        case "hang":
          await pause(STALL_MS);
          return reset();
        case "reset":
          return reset();
        case "401":
        case "403":
        case "302":
        case "503":
          response.writeHead(Number(mode), { Location: "/elsewhere", "Content-Length": "0" }).end();
      }
    },
    closeAll() {
      for (const close of open) close("origin");
    },
  };
}

async function tell(
  draft: Draft,
  { status, headers, body, ...said }: Said,
  response: ServerResponse,
  extent: "whole" | "half" | "trickle",
): Promise<void> {
  const all: HeaderPair[] = [...headers, ["Content-Length", String(body.length)]];
  response.sendDate = false;
  response.writeHead(status, "Chaos", all.flat());
  Object.assign(draft, { ...said, status, headers: digestHead(status, "Chaos", all) });
  response.flushHeaders();
  if (extent === "whole") {
    Object.assign(draft, { lastAt: Date.now(), sha256: sha256(body) });
    response.end(body);
    return;
  }
  response.write(body.subarray(0, 1));
  const endAt = Date.now() + (extent === "trickle" ? STALL_MS : 0);
  for (let at = 1; at < body.length && Date.now() < endAt && !response.destroyed; at += 1) {
    await pause(TRICKLE_MS);
    response.write(body.subarray(at, at + 1));
  }
}
