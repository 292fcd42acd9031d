// Decisions in the object that keeps their records: several in one short turn, each record as it is changed alone (record-steps.ts).

import { rawCall, respondToCall } from "../../../kernel/call.ts";
import { changeRecord } from "../../../kernel/object/operator-calls.ts";
import type { RecordSteps } from "../../../kernel/object/record-steps.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import type { OperatorEvent } from "../../../kernel/record/events.ts";
import type { RecordState } from "../../../kernel/record/record.ts";
import { readNote } from "../../../kernel/record/request-note.ts";
import { timelineOf } from "../../../kernel/record/timeline.ts";
import { type EpochMs, epochMs, type RecordId } from "../../../kernel/record/units.ts";
import type { HeaderPairs } from "../../../kernel/request/headers.ts";
import { decodeMessage } from "../../../kernel/request/message.ts";
import type { BodyStore } from "../../../kernel/store/bodies.ts";
import type { Ledger } from "../../../kernel/store/ledger.ts";
import { RecordList, type SeenRecord } from "../../../kernel/store/record-list.ts";
import { isEncrypted, type KeptResponse, sizeOf, type StoredResponse } from "../../../kernel/store/response-rows.ts";
import { type RecordOutcome, recordOutcome } from "./record-outcome.ts";
import { readOrReport } from "../../../kernel/store/unreadable.ts";

/** Where such calls are sent. */
export const DECIDE_CALL = rawCall("decide");

export interface AskedDecision {
  /** A record's id, or the digest of a key, with which the ids of its records begin. A change needs an id. */
  readonly begin: string;
  readonly event: OperatorEvent;
  /** Of the response that it gives. */
  readonly headers: HeaderPairs;
  readonly bodyBytes: number;
}

/** The head of a message. Its body is those of the responses, one after the other. */
export interface DecideHead {
  readonly decisions: readonly AskedDecision[];
  /** Only says what would become of each. */
  readonly isPreview: boolean;
  /** What has begun, ended or been decided since is left. A Worker's time: by as much as the object's clock is behind, a change may be made twice. */
  readonly since: EpochMs;
}

export interface DecidedRecord {
  readonly id: RecordId;
  readonly key: string;
  /** Its key is not the idempotency key, which nobody but the caller can read. */
  readonly encrypted: boolean;
  /** What operators know the request by (`note.label`). */
  readonly label: string | null;
  readonly route: string;
  readonly state: RecordState;
  readonly outcome: RecordOutcome;
}

/** More records of one key are not worth naming. */
const MAX_OF_KEY = 10;

export interface RecordDecisionPorts {
  readonly ledger: Pick<Ledger, "find"> & { readonly bodies: Pick<BodyStore, "read"> };
  readonly list: Pick<RecordList, "page">;
  readonly steps: Pick<RecordSteps, "see" | "change" | "whyNot">;
}

/** Answers with the records of each decision, in their order: none, one, or those of one key. */
export async function answerDecisions(request: Request, ports: RecordDecisionPorts): Promise<Response> {
  const { head, body } = decodeMessage<DecideHead>(new Uint8Array(await request.arrayBuffer()));
  let at = 0;
  const answer = head.decisions.map((decision): readonly DecidedRecord[] => {
    const bytes = body.slice(at, at + decision.bodyBytes);
    at += decision.bodyBytes;
    const { event, headers } = decision;
    const response: StoredResponse | null =
      event.type === "resolve"
        ? { status: event.status, statusText: "", headers, body: { kind: "inline", bytes } }
        : null;
    return recordsOf(decision, ports).flatMap((seen) => decideOne(seen, event, response, head, ports) ?? []);
  });
  return Response.json(answer);
}

function recordsOf({ begin }: AskedDecision, { list, steps }: RecordDecisionPorts): readonly SeenRecord[] {
  const now = epochMs(Date.now());
  const anyOf = { keyHash: begin, states: [], route: null, since: null, until: null } as const;
  const page = { parts: null, part: null, direction: "after", position: null, limit: MAX_OF_KEY } as const;
  return list.page({ ...anyOf, ...page }, (id, record) => steps.see(id, record, now), now).records;
}

/** `null`: it has gone. */
function decideOne(
  { id, key, scopeDigest, note, route, record }: SeenRecord,
  event: OperatorEvent,
  response: StoredResponse | null,
  { isPreview, since }: DecideHead,
  { ledger, steps }: RecordDecisionPorts,
): DecidedRecord | null {
  // One that cannot be read stands in the way of no other: it can only be forgotten alone.
  const entry = readOrReport(() => ledger.find(id), { recordId: id });
  const whyNot = entry === null ? "none" : steps.whyNot(id, event);
  if (entry === null || whyNot === "none") return null;
  // The stored record says how an attempt was lost. One that is still started here shows that its attempt is alive.
  const timeline = timelineOf(entry.history, record.state === "started" ? record : entry.record, epochMs(Date.now()));
  const hasResponse = response !== null && isSame(entry.response, response, ledger.bodies);
  const outcome = recordOutcome({ record, timeline, hasResponse, whyNot }, event.type, since);
  const label = note === undefined ? null : readNote(note).label;
  const decided = { id, key, encrypted: scopeDigest !== undefined, label, route, state: record.state };
  if (isPreview || outcome !== "changed") return { ...decided, outcome };
  const why = changeRecord(steps, id, event, response);
  return why === "none" ? null : { ...decided, outcome: why ?? "changed" };
}

/** Whether a record has this response, byte for byte. A larger one is in chunks, which were written whole. */
function isSame(kept: KeptResponse | null, given: StoredResponse, bodies: Pick<BodyStore, "read">): boolean {
  if (kept === null || isEncrypted(kept) || kept.status !== given.status) return false;
  if (JSON.stringify(kept.headers) !== JSON.stringify(given.headers) || given.body.kind !== "inline") return false;
  const { bytes } = given.body;
  const { body } = kept;
  if (sizeOf(body) !== bytes.byteLength) return false;
  switch (body.kind) {
    case "inline":
      return areEqual(body.bytes, bytes);
    case "chunks": {
      let from = 0;
      for (let number = 0; number < body.count; number += 1) {
        const chunk = bodies.read(body.body, number);
        if (chunk === null || !areEqual(chunk, bytes.subarray(from, from + chunk.byteLength))) return false;
        from += chunk.byteLength;
      }
      return true;
    }
    case "remote":
      return false;
  }
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && one.every((byte, at) => byte === other[at]);
}

export function decisionsObject({ ledger, storage, steps }: ObjectKernel): ObjectFeature {
  const list = new RecordList(storage.sql, ledger.numbers);
  return {
    name: "decisions",
    calls: [respondToCall(DECIDE_CALL, (request) => answerDecisions(request, { ledger, list, steps }))],
  };
}
