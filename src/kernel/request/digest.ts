// SHA-256 over a list of parts. Each part has its length in front, so that bytes cannot move from one part to the next: the
// digests of ("ab", "c") and ("a", "bc") differ.

const encoder = new TextEncoder();

/** SHA-256 in hexadecimal. A `null` part is missing, which differs from an empty part. */
export async function digest(parts: readonly (string | Uint8Array | null)[]): Promise<string> {
  return hexText(await digestBytes(parts));
}

/** The same as bytes. */
export function digestBytes(parts: readonly (string | Uint8Array | null)[]): Promise<Uint8Array> {
  return sha256(joinParts(parts));
}

/** Room for short parts, used again for each digest: the runtime copies its input when it is called. */
const ROOM = new Uint8Array(4096);
const ROOM_VIEW = new DataView(ROOM.buffer);

function joinParts(parts: readonly (string | Uint8Array | null)[]): Uint8Array {
  let mostLength = 0;
  for (const part of parts) mostLength += LENGTH_BYTES + mostBytes(part);
  const bytes = mostLength <= ROOM.byteLength ? ROOM : new Uint8Array(mostLength);
  const view = bytes === ROOM ? ROOM_VIEW : new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    const begin = at + LENGTH_BYTES;
    // No part is anywhere near 4 GiB, so the largest length can stand for "missing".
    const length = part === null ? 0xffffffff : writePart(part, bytes, begin);
    view.setUint32(at, length);
    at = part === null ? begin : begin + length;
  }
  return bytes.subarray(0, at);
}

const LENGTH_BYTES = 4;

/** UTF-8 has at most three bytes for a UTF-16 code unit. */
function mostBytes(part: string | Uint8Array | null): number {
  if (part === null) return 0;
  return typeof part === "string" ? 3 * part.length : part.byteLength;
}

/** Returns how many bytes it wrote. Most texts are ASCII, and short: to write them here is faster than to call the runtime (measured). */
function writePart(part: string | Uint8Array, bytes: Uint8Array, begin: number): number {
  if (typeof part !== "string") {
    bytes.set(part, begin);
    return part.byteLength;
  }
  for (let at = 0; at < part.length; at += 1) {
    const code = part.codePointAt(at) ?? 0;
    if (code > 0x7f) return encoder.encodeInto(part, bytes.subarray(begin)).written;
    bytes[begin + at] = code;
  }
  return part.length;
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Lower-case hexadecimal, two digits per byte. */
export function hexText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** The bytes that `hexText` has written. */
export function bytesOfHex(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Base64 (RFC 4648, section 4). */
export function base64Text(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
}
