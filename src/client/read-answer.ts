// Reads an answer's body with a limit: an address that answers something else than the gateway may send bytes for as long as anybody
// reads. The time is limited by the signal of the call.

/** A claim's answer has a result of 64 KiB, which JSON may write in six times as many bytes. */
export const MAX_CLAIM_BYTES = 1 << 20;

/** A problem has a few hundred bytes. */
export const MAX_PROBLEM_BYTES = 1 << 16;

/** Reads the body to its end; `null` if it has more bytes than that. Rejects when it breaks off. */
export async function readAtMost({ body }: Response, maxBytes: number): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  if (!(await readPieces(body, maxBytes, (piece) => pieces.push(piece)))) return null;
  const bytes = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}

/** Whether the whole body has come, and has no more bytes than that. Rejects when it breaks off. */
export async function comesWhole({ body }: Response, maxBytes: number): Promise<boolean> {
  return body === null || readPieces(body, maxBytes, () => undefined);
}

async function readPieces(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  take: (piece: Uint8Array) => void,
): Promise<boolean> {
  const reader = body.getReader();
  let left = maxBytes;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    left -= value.byteLength;
    if (left < 0) {
      // Not awaited: half of a body that is read twice ends only with the other half.
      reader.cancel().catch(() => {});
      return false;
    }
    take(value);
  }
}

/** The body as JSON. Rejects if it breaks off, is larger than an answer of the gateway, or is no JSON. */
export async function readAnswerJson(response: Response): Promise<unknown> {
  const bytes = await readAtMost(response, MAX_CLAIM_BYTES);
  if (bytes === null) throw new TypeError(`the answer has more than ${MAX_CLAIM_BYTES} bytes`);
  return JSON.parse(new TextDecoder().decode(bytes));
}
