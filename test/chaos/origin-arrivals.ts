// The origin's journal: each arrival from its first byte to the end of its connection, and the number of earlier arrivals
// for the same key.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Arrival, Effect, OriginMarks } from "../guarantees/history.ts";
import { planOfMessage } from "./queues.ts";
import { isKeyInBody, TIMEOUT_MS } from "./routes.ts";
import { CALM, PLAN_HEADER, REQUEST_HEADER, TENANT_HEADER } from "./steps.ts";
import type { Step } from "./steps.ts";

/** Identifies an answer and records how far it has been written. */
export interface OpenAnswer {
  marks(bytes: number): OriginMarks;
  headWritten(status: number, headers: string, bytes: number): void;
  pieceWritten(): void;
  /** Called just before the last byte of a whole answer is written. */
  lastPiece(sha256: string): void;
}

export interface OpenArrival extends OpenAnswer {
  readonly seq: number;
  /** Its step of the plan. */
  readonly step: Step;
  begin(name: Step["name"]): void;
  /** Takes effect, whether or not a client still waits. */
  act(): void;
  /** Notes that the origin is about to close the connection. */
  breakOff(): void;
  /** The whole request body has been read. */
  readWhole(sha256: string): void;
}

export interface Arrivals {
  /** The number of the next arrival or question. */
  number(): number;
  /** The latest effect for a credential; null if none. */
  effectFor(record: string, credential: string): string | null;
  open(request: IncomingMessage, response: ServerResponse): OpenArrival;
  /** Ends and reports the open arrivals. */
  closeAll(): void;
}

type Draft = { -readonly [Name in keyof Arrival]: Arrival[Name] };

export function createArrivals(report: (event: Arrival | Effect) => void): Arrivals {
  const counts = new Map<string, number>();
  const done = new Map<string, string>();
  const open = new Set<(by: Arrival["closedBy"]) => void>();
  let arrived = 0;
  let effects = 0;

  /** The number of earlier arrivals for this record. */
  function count(record: string): number {
    const before = counts.get(record) ?? 0;
    counts.set(record, before + 1);
    return before;
  }

  const number = (): number => {
    arrived += 1;
    return arrived;
  };
  return {
    number,
    effectFor: (record, credential) => done.get(`${record} ${credential}`) ?? null,
    open(request, response) {
      const draft = describe(request, number());
      const { seq, key, scope, credential } = draft;
      const plan: readonly Step[] = isOfMessage(request)
        ? planOfMessage(key, TIMEOUT_MS)
        : JSON.parse(header(request, PLAN_HEADER) || "[]");
      let effect: string | null = null;
      let endedHere = false;
      let lastPieceAt: number | null = null;

      const close = (by: Arrival["closedBy"]): void => {
        if (!open.delete(close)) return;
        report({ ...draft, closedAt: Date.now(), closedBy: by });
      };
      open.add(close);
      response.on("close", () => close(endedHere || response.writableFinished ? "origin" : "peer"));

      const piece = (): void => {
        const now = Date.now();
        draft.maxGapMs = Math.max(draft.maxGapMs, now - (lastPieceAt ?? draft.headAt ?? now));
        lastPieceAt = now;
      };
      return {
        seq,
        step: plan[Math.min(count(recordName(draft)), plan.length - 1)] ?? CALM,
        begin: (name) => void (draft.step = name),
        act() {
          effects += 1;
          effect = `e${effects}`;
          done.set(`${recordName(draft)} ${credential}`, effect);
          report({ type: "effect", id: effect, arrival: seq, key, scope, at: Date.now() });
        },
        breakOff: () => void (endedHere = true),
        readWhole: (sha256) => void (draft.bodySha256 = sha256),
        marks: (bytes) => ({ arrival: seq, request: draft.request, key, scope, effect, bytes }),
        headWritten(status, headers, bytes) {
          Object.assign(draft, { status, headers, bytes, headAt: Date.now() });
        },
        pieceWritten: piece,
        lastPiece(sha256) {
          piece();
          if (open.has(close)) Object.assign(draft, { lastAt: lastPieceAt, sha256 });
        },
      };
    },
    closeAll() {
      for (const close of open) close("origin");
    },
  };
}

export function recordName({ key, scope }: { readonly key: string; readonly scope: string }): string {
  return `${scope} ${key}`;
}

/** Whether it comes from a queue, or is a question about a message. */
export function isOfMessage(request: IncomingMessage): boolean {
  return header(request, "x-key") === "";
}

/** Key, scope and credential from the headers of the client, or of the queue. */
export function describeCaller(request: IncomingMessage): Pick<Arrival, "key" | "scope" | "credential"> {
  return {
    key: header(request, isOfMessage(request) ? "idempotency-key" : "x-key"),
    scope: header(request, TENANT_HEADER),
    credential: header(request, "authorization"),
  };
}

function describe(request: IncomingMessage, seq: number): Draft {
  const caller = describeCaller(request);
  const number = header(request, "idempotency-attempt");
  const delivery = `${header(request, "onceway-message-id")}/${header(request, "onceway-delivery")}`;
  return {
    type: "arrival",
    seq,
    request: isOfMessage(request) ? delivery : header(request, REQUEST_HEADER),
    ...caller,
    path: request.url ?? "",
    attempt: /^[1-9]\d*$/.test(number) ? Number(number) : null,
    hasKey: header(request, "idempotency-key") === (isKeyInBody(request.url ?? "") ? "" : caller.key),
    bodySha256: null,
    step: "none",
    at: Date.now(),
    status: null,
    headAt: null,
    maxGapMs: 0,
    lastAt: null,
    headers: null,
    sha256: null,
    bytes: null,
    closedAt: 0,
    closedBy: "origin",
  };
}

export function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}
