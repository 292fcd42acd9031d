// The body of an answer that is passed on and not kept: read as far as it is small, so that the record can be settled and
// the answer shared, and streamed from there.

import type { AttemptEnd } from "../core/verdict.ts";
import { joinBytes } from "../http/body.ts";
import { bytePipe, type Patience, type Piece } from "./byte-pipe.ts";
import type { OriginResponse } from "./origin-call.ts";
import { heldPiece } from "./read-memory.ts";

export type SmallBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** There is more than was asked for. */
  | { readonly kind: "more"; readonly bytes: Uint8Array }
  | Extract<AttemptEnd, { kind: "dropped" | "timed-out" }>;

export async function readSmall(response: OriginResponse, limitBytes: number): Promise<SmallBody> {
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= limitBytes;) {
    const piece = await response.next();
    switch (piece.kind) {
      case "bytes":
        pieces.push(piece.bytes.slice());
        size += piece.bytes.byteLength;
        break;
      case "whole":
        return { kind: "whole", bytes: joinBytes(pieces) };
      case "dropped":
      case "timed-out":
        return piece;
    }
  }
  return { kind: "more", bytes: joinBytes(pieces) };
}

/** What has been read of a body that is not kept, and then the rest as it comes. A break breaks it for the client too. */
export function continued(bytes: Uint8Array, response: OriginResponse, patience: Patience): ReadableStream<Uint8Array> {
  let first: Uint8Array | null = bytes;
  const next = async (): Promise<Piece | null> => {
    if (first !== null) {
      const piece = heldPiece(first);
      first = null;
      return piece;
    }
    const piece = await response.next();
    if (piece.kind === "bytes") return pieceOf(piece.bytes);
    if (piece.kind === "whole") return null;
    throw new Error("the origin's response broke off");
  };
  return bytePipe({ next, close: () => response.cancel() }, response.length, patience).readable;
}

function pieceOf(bytes: Uint8Array): Piece {
  return { bytes, release: () => undefined };
}
