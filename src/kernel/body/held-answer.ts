// Holds an answer whose body decides what it means, until all of it is there: nothing of it is stored or sent before. What cannot be held flows on
// unchanged, and its status decides.

import type { BrokenOff } from "../record/verdict.ts";
import { joinBytes } from "../request/body.ts";
import { type NextPiece, WHOLE } from "../request/body-reader.ts";
import { ByteBudget, freeBytes } from "../request/byte-budget.ts";
import { MAX_PLACED_BYTES } from "../request/json-places.ts";
import type { OriginResponse } from "../object/origin-call.ts";

/** The memory that held answers share in an isolate. */
const SHARED_BYTES = 16 << 20;

/** As much of each is held without being counted. */
const UNCOUNTED_BYTES = 16 * 1024;

/** The platform allows no longer call. */
const MAX_MS = 15 * 60_000;

/** Counts the answers that the attempts of the isolate hold. */
export const answerMemory = new ByteBudget(SHARED_BYTES, MAX_MS);

export type HeldAnswer =
  /** `bytes`: the whole body; `null`: it is too large, or too much is held. The response has it all the same, from its first byte. */
  | { readonly kind: "there"; readonly bytes: Uint8Array | null; readonly response: OriginResponse }
  | { readonly kind: "broken"; readonly end: BrokenOff };

export async function holdAnswer(response: OriginResponse): Promise<HeldAnswer> {
  const pieces: Uint8Array[] = [];
  const lease = answerMemory.lease(Date.now());
  let size = 0;
  for (;;) {
    const piece = await response.next();
    if (piece.kind === "whole") {
      const bytes = joinBytes(pieces);
      return { kind: "there", bytes, response: readAgain(response, bytes, free) };
    }
    if (piece.kind !== "bytes") {
      free();
      return { kind: "broken", end: piece };
    }
    const { byteLength } = piece.bytes;
    size += byteLength;
    pieces.push(piece.bytes.slice());
    piece.release();
    const isHeld = size <= MAX_PLACED_BYTES && (size <= UNCOUNTED_BYTES || lease.take(byteLength));
    if (!isHeld) return { kind: "there", bytes: null, response: beginningWith(joinBytes(pieces), response, free) };
  }

  function free(): void {
    lease.shrinkTo(0);
  }
}

/** A response whose whole body has been read, from its first byte. `taken`: they are held no longer. */
export function readAgain(
  response: OriginResponse,
  bytes: Uint8Array,
  taken: () => void = () => undefined,
): OriginResponse {
  return beginningWith(bytes, { ...response, length: bytes.byteLength, next: ended }, taken);
}

function ended(): Promise<typeof WHOLE> {
  return Promise.resolve(WHOLE);
}

/** The response with these bytes before its other ones. `taken`: they are held no longer. */
function beginningWith(bytes: Uint8Array, rest: OriginResponse, taken: () => void): OriginResponse {
  let held: Uint8Array | null = bytes;
  const next = async (): Promise<NextPiece<BrokenOff>> => {
    const first = held;
    held = null;
    taken();
    if (first === null || first.byteLength === 0) return rest.next();
    return { kind: "bytes", bytes: first, release: () => freeBytes(first) };
  };
  const cancel = (): void => {
    taken();
    rest.cancel();
  };
  return { ...rest, next, cancel };
}
