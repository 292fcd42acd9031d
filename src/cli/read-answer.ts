// Reads an answer from the network within a limit on its size: whatever answers at a URL may never end. Its time is limited by the
// request's signal.

import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

/** More than any list, or any policy, of a gateway has. */
export const MAX_LIST_BYTES = 32 << 20;

/** More than `max_response_body` allows. */
export const MAX_FILE_BYTES = 1 << 30;

/** The pieces of a body. Throws a Failure as soon as there are more than `maxBytes`. */
export async function* piecesOf(response: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  for await (const piece of response.body ?? []) {
    left -= piece.byteLength;
    if (left < 0) {
      throw new CommandFailure(
        EXIT_UNUSABLE,
        `${response.url} answers with more than ${maxBytes >> 20} MiB. Check --url: it must name the gateway.`,
      );
    }
    yield piece;
  }
}

export async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(response, MAX_LIST_BYTES)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
