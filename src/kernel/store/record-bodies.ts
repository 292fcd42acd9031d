// The bodies that belong to records, apart from their rows: of responses and of stored requests, in chunks and in R2. To be called
// in one transaction with the change of the record.

import { type IdempotencyRecord, promiseIn } from "../record/record.ts";
import { bodyNumber, type RecordId } from "../record/units.ts";
import { type BodyStore, CHUNK_BYTES } from "./bodies.ts";
import type { Entry } from "./ledger.ts";
import type { RowLocation } from "./record-numbers.ts";
import type { FoundRow } from "./record-row.ts";
import type { RecordRows } from "./record-rows.ts";
import type { RemoteBodies } from "../overflow/remote-bodies.ts";
import { type ChunkedBody, fitsRow, storedHeadText, isEncrypted, type KeptResponse } from "./response-rows.ts";
import { IN_ROW_REQUEST_BYTES, type StoredRequest } from "./stored-request.ts";

export class RecordBodies {
  readonly #bodies: BodyStore;
  readonly #remote: RemoteBodies;
  readonly #rows: RecordRows;

  constructor(bodies: BodyStore, remote: RemoteBodies, rows: RecordRows) {
    this.#bodies = bodies;
    this.#remote = remote;
    this.#rows = rows;
  }

  /** Discards those of a response that no longer belongs to its record. */
  discard({ record, body }: Entry): void {
    if (body !== null) this.#bodies.discard(body);
    this.#remote.discard(record.attempt.id);
  }

  /** Those that the row of a record names that cannot be read. */
  discardUnreadable(id: RecordId, rowLocation: RowLocation, row: Pick<FoundRow, "body_number" | "attempt_id">): void {
    const request = this.#rows.request(id, rowLocation);
    if (request?.body.kind === "chunks") this.#bodies.discard(request.body.body);
    if (row.body_number !== null) this.#bodies.discard(bodyNumber(row.body_number));
    this.#remote.discard(row.attempt_id);
  }

  /** The body of the request that the row keeps, if it has chunks: the row is about to lose it. */
  discardRequest(id: RecordId, { record, rowLocation }: Entry): void {
    const request = promiseIn(record) === null ? null : this.#rows.request(id, rowLocation);
    if (request?.body.kind === "chunks") this.#bodies.discard(request.body.body);
  }

  /** A request with a body that its record owns: what is too large for the row is put into chunks, unless it is there already. */
  ownRequest({ head, body }: StoredRequest): StoredRequest {
    if (body.kind === "chunks") {
      this.#bodies.own(body.body);
      return { head, body };
    }
    const { bytes } = body;
    if (bytes.byteLength <= IN_ROW_REQUEST_BYTES) return { head, body };
    const number = this.#bodies.allot();
    const count = Math.ceil(bytes.byteLength / CHUNK_BYTES);
    for (let at = 0; at < count; at += 1) {
      this.#bodies.append(number, at, bytes.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES));
    }
    return { head, body: { kind: "chunks", body: number, count, size: bytes.byteLength } };
  }

  /** Stores a whole body in chunks. Its record, written in the same transaction, names it. */
  putApart({ response, bytes }: LargeBody): KeptResponse {
    const body = this.#bodies.allot();
    const size = bytes.byteLength;
    // An encrypted body that has come whole had no more plain bytes than a chunk.
    const chunkBytes = isEncrypted(response) ? size : CHUNK_BYTES;
    const head = isEncrypted(response) ? null : storedHeadText(response);
    // A response that has large headers and no body needs a chunk too.
    const count = Math.max(1, Math.ceil(size / chunkBytes));
    for (let number = 0; number < count; number += 1) {
      const chunk = bytes.subarray(number * chunkBytes, (number + 1) * chunkBytes);
      this.#bodies.append(body, number, chunk, number === 0 ? head : null);
    }
    return { ...response, body: { kind: "chunks", body, count, size } };
  }
}

/** A whole body that is too large for its record's row, with its response. */
export interface LargeBody {
  readonly response: KeptResponse;
  readonly bytes: Uint8Array;
}

export function largeBody(response: KeptResponse | null): LargeBody | null {
  if (response?.body.kind !== "inline") return null;
  const { bytes } = response.body;
  // An encrypted head stays in the row, whatever its size.
  const isInRow = fitsRow(response, bytes.byteLength) || (isEncrypted(response) && bytes.byteLength === 0);
  return isInRow ? null : { response, bytes };
}

export function chunksOf(response: KeptResponse | null): ChunkedBody | null {
  return response?.body.kind === "chunks" ? response.body : null;
}

/** Whether the chunks of `before`, if any, still belong to `after`. */
export function needsBody(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  if (after === null || after.attempt.id !== before.attempt.id) return false;
  // A request that is delivered again after its record has expired starts an attempt with the same id.
  if (after.state === "started") return before.state === "started";
  return after.state === "completed" && after.kept;
}
