// Encrypts what an object stores for one attempt: AES-GCM in frames, each of which can be decrypted by itself, so that readers hold
// as little of an encrypted body as of any other. A frame's nonce is a random prefix of the attempt and the frame's place, so a
// frame that is moved, exchanged or cut does not open. Each place is encrypted once at most.

import { CHUNK_BYTES } from "../store/bodies.ts";

/** The most plain bytes in a frame, no more than any reader may hold; and what a frame takes in the store at most. */
export const FRAME_BYTES = 16 * 1024;
const TAG_BYTES = 16;
const STORED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES;

const FRAMES_PER_CHUNK = CHUNK_BYTES / FRAME_BYTES;

/** What a full chunk takes in the store. */
export const STORED_CHUNK_BYTES = FRAMES_PER_CHUNK * STORED_FRAME_BYTES;

/** A frame's place: two bits for what it belongs to, 30 for its number. With 26 bits for the chunk, four are left for the frame. */
const KIND = 2 ** 30;

/** The place of a response's head. */
export const HEAD_PLACE = 0;

export function placeInChunk(chunk: number, frame: number): number {
  return KIND + chunk * FRAMES_PER_CHUNK + frame;
}

export function placeInRemote(frame: number): number {
  return 2 * KIND + frame;
}

const NONCE_BYTES = 12;
export const PREFIX_BYTES = 8;

/** How many bytes the frames of so many plain bytes take. */
export function storedSize(bytes: number): number {
  return bytes + TAG_BYTES * Math.ceil(bytes / FRAME_BYTES);
}

/** How many plain bytes the frames hold of which the first stored bytes have a part. */
export function plainSizeAt(storedBytes: number): number {
  return Math.ceil(storedBytes / STORED_FRAME_BYTES) * FRAME_BYTES;
}

/** The frames that lie in so many stored bytes, and how many bytes these take. At least one. */
export function wholeFrames(bytes: number): { readonly frames: number; readonly bytes: number } {
  const frames = Math.max(1, Math.floor(bytes / FRAME_BYTES));
  return { frames, bytes: frames * STORED_FRAME_BYTES };
}

export class BodyCipher {
  readonly #key: CryptoKey;
  readonly prefix: Uint8Array;

  private constructor(key: CryptoKey, prefix: Uint8Array) {
    this.#key = key;
    this.prefix = prefix;
  }

  /** For an attempt with this key; each attempt needs a prefix of its own. */
  static async withKey(
    key: Uint8Array,
    prefix: Uint8Array = crypto.getRandomValues(new Uint8Array(PREFIX_BYTES)),
  ): Promise<BodyCipher> {
    return new BodyCipher(await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]), prefix);
  }

  /** With a key that only this instance has: for bytes that nobody needs after it. */
  static withOwnKey(): Promise<BodyCipher> {
    return BodyCipher.withKey(crypto.getRandomValues(new Uint8Array(32)));
  }

  /** `also` is authenticated with the frames, and not encrypted. */
  encrypt(bytes: Uint8Array, firstPlace: number, also?: Uint8Array): Promise<Uint8Array> {
    return inFrames(bytes, FRAME_BYTES, (frame, at) =>
      crypto.subtle.encrypt(this.#how(firstPlace + at, also), this.#key, frame),
    );
  }

  /** Rejects if a byte differs from what was encrypted for these places. */
  decrypt(bytes: Uint8Array, firstPlace: number, also?: Uint8Array): Promise<Uint8Array> {
    return inFrames(bytes, STORED_FRAME_BYTES, (frame, at) =>
      crypto.subtle.decrypt(this.#how(firstPlace + at, also), this.#key, frame),
    );
  }

  #how(place: number, also: Uint8Array | undefined): SubtleCryptoEncryptAlgorithm {
    const iv = new Uint8Array(NONCE_BYTES);
    iv.set(this.prefix);
    new DataView(iv.buffer).setUint32(PREFIX_BYTES, place);
    return also === undefined ? { name: "AES-GCM", iv } : { name: "AES-GCM", iv, additionalData: also };
  }
}

async function inFrames(
  bytes: Uint8Array,
  frameBytes: number,
  convert: (frame: Uint8Array, at: number) => Promise<ArrayBuffer>,
): Promise<Uint8Array> {
  if (bytes.byteLength <= frameBytes) return bytes.byteLength === 0 ? bytes : new Uint8Array(await convert(bytes, 0));
  const count = Math.ceil(bytes.byteLength / frameBytes);
  const frames = await Promise.all(
    Array.from({ length: count }, (_, at) => convert(bytes.subarray(at * frameBytes, (at + 1) * frameBytes), at)),
  );
  const whole = new Uint8Array(frames.reduce((sum, frame) => sum + frame.byteLength, 0));
  let at = 0;
  for (const frame of frames) {
    whole.set(new Uint8Array(frame), at);
    at += frame.byteLength;
  }
  return whole;
}
