// The origin's journal: each arrival from its first byte to the end of its connection, and each effect.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Arrival, Effect, OriginMarks, Verification } from "../history.ts";

/** Identifies an answer and records how far it has been written. */
export interface OpenAnswer {
  marks(bytes: number): OriginMarks;
  headWritten(status: number, headers: string, bytes: number): void;
  pieceWritten(): void;
  /** Called just before the last byte of a whole answer is written. */
  lastPiece(sha256: string): void;
}

/** What an arrival is known by when its head has been read. */
export type ArrivalHead = Pick<
  Arrival,
  "request" | "key" | "scope" | "credential" | "path" | "attempt" | "hasKey" | "step"
>;

export interface OpenArrival extends OpenAnswer {
  readonly seq: number;
  /** Takes effect, whether or not a client still waits. Returns the effect. */
  act(): Effect;
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
  open(head: ArrivalHead, response: ServerResponse): OpenArrival;
  /** Ends and reports the open arrivals. */
  closeAll(): void;
}

const UNANSWERED = {
  bodySha256: null,
  status: null,
  headAt: null,
  maxGapMs: 0,
  lastAt: null,
  headers: null,
  sha256: null,
  bytes: null,
  closedAt: 0,
  closedBy: "origin",
} as const;

type Draft = { -readonly [Name in keyof Arrival]: Arrival[Name] };

/** `earlier`: what an earlier process of this origin has reported. */
export function createArrivals(
  report: (event: Arrival | Effect) => void,
  earlier: readonly (Arrival | Effect | Verification)[] = [],
): Arrivals {
  const acts = earlier.filter((event) => event.type === "effect");
  const done = new Map(acts.map((act) => [`${recordName(act)} ${act.credential}`, act.id]));
  const open = new Set<(by: Arrival["closedBy"]) => void>();
  let arrived = Math.max(0, ...earlier.map((event) => (event.type === "effect" ? event.arrival : event.seq)));
  let effects = acts.length;

  const number = (): number => {
    arrived += 1;
    return arrived;
  };
  return {
    number,
    effectFor: (record, credential) => done.get(`${record} ${credential}`) ?? null,
    open(head, response) {
      const draft: Draft = { type: "arrival", seq: number(), ...head, at: Date.now(), ...UNANSWERED };
      const { seq, request, key, scope, credential, attempt } = draft;
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
        act() {
          effects += 1;
          effect = `e${effects}`;
          done.set(`${recordName(draft)} ${credential}`, effect);
          const at = Date.now();
          const acted = {
            type: "effect",
            id: effect,
            arrival: seq,
            request,
            key,
            scope,
            credential,
            attempt,
            at,
          } as const;
          report(acted);
          return acted;
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

/** Its number, from the header `Idempotency-Attempt`. */
export function attemptIn(request: IncomingMessage): number | null {
  const number = header(request, "idempotency-attempt");
  return /^[1-9]\d*$/.test(number) ? Number(number) : null;
}

/** The delivery of a message that caused the request, as the queue's consumer names it. */
export function deliveryIn(request: IncomingMessage): string {
  return `${header(request, "onceway-message-id")}/${header(request, "onceway-delivery")}`;
}

export function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}
