// SHA-256 over a list of parts. Each part has its length in front, so that bytes cannot move from one part to the next: the
// digests of ("ab", "c") and ("a", "bc") differ.

const encoder = new TextEncoder();

/** SHA-256 in hexadecimal. A `null` part is missing, which differs from an empty part. */
export async function digest(parts: readonly (string | Uint8Array | null)[]): Promise<string> {
  const chunks = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + 4 + (chunk?.byteLength ?? 0), 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const chunk of chunks) {
    // No part is anywhere near 4 GiB, so the largest length can stand for "missing".
    view.setUint32(at, chunk === null ? 0xffffffff : chunk.byteLength);
    at += 4;
    if (chunk !== null) {
      bytes.set(chunk, at);
      at += chunk.byteLength;
    }
  }
  return hex(await sha256(bytes));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Lower-case hexadecimal, two digits per byte. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
