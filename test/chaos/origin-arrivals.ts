// The origin's journal: what is known of each arrival from its first byte to the end of its connection, and how many came
// for a key before it.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Arrival, Effect, OriginMarks } from "./history.ts";
import { CALM, PLAN_HEADER, REQUEST_HEADER } from "./steps.ts";
import type { Step } from "./steps.ts";

export interface OpenArrival {
  readonly seq: number;
  /** What the plan has for it. */
  readonly step: Step;
  begin(name: Step["name"]): void;
  /** Acts, whether anybody still waits or not. */
  act(): void;
  /** The origin is about to end the connection. */
  breakOff(): void;
  marks(bytes: number): OriginMarks;
  headWritten(status: number, headers: string, bytes: number): void;
  pieceWritten(): void;
  /** Called just before the last byte of a whole answer is written. */
  lastPiece(sha256: string): void;
}

export interface Arrivals {
  open(request: IncomingMessage, response: ServerResponse): OpenArrival;
  /** Ends and reports those that are still open. */
  closeAll(): void;
}

type Draft = { -readonly [Name in keyof Arrival]: Arrival[Name] };

export function createArrivals(report: (event: Arrival | Effect) => void): Arrivals {
  const counts = new Map<string, number>();
  const open = new Set<(by: Arrival["closedBy"]) => void>();
  let arrived = 0;
  let effects = 0;

  /** How many came for this record before. */
  function count(record: string): number {
    const before = counts.get(record) ?? 0;
    counts.set(record, before + 1);
    return before;
  }

  return {
    open(request, response) {
      arrived += 1;
      const draft = describe(request, arrived);
      const { seq, key, scope } = draft;
      const plan: readonly Step[] = JSON.parse(header(request, PLAN_HEADER) || "[]");
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
        step: plan[Math.min(count(`${scope} ${key}`), plan.length - 1)] ?? CALM,
        begin: (name) => void (draft.step = name),
        act() {
          effects += 1;
          effect = `e${effects}`;
          report({ type: "effect", id: effect, arrival: seq, key, scope, at: Date.now() });
        },
        breakOff: () => void (endedHere = true),
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

function describe(request: IncomingMessage, seq: number): Draft {
  const key = header(request, "x-key");
  const number = header(request, "idempotency-attempt");
  return {
    type: "arrival",
    seq,
    request: header(request, REQUEST_HEADER),
    key,
    scope: header(request, "authorization"),
    path: request.url ?? "",
    attempt: /^[1-9]\d*$/.test(number) ? Number(number) : null,
    hasKey: header(request, "idempotency-key") === key,
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

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}
