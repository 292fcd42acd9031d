// The response of an `encrypt_responses` route, as it is stored and as its caller gets it. Status, headers and the size of the body are
// encrypted together, so a body that lacks its end does not open either. An operator, or a copy of the database, has no key.

import { bytesOfHex, hexText } from "../request/digest.ts";
import { type CallersKey, type RequestEncryption, SECRET_ID_DIGITS } from "./encryption.ts";
import { type ExchangeHead, logNames, type NamedExchange } from "../request/message.ts";
import { BodyCipher, HEAD_PLACE, placeInChunk, PREFIX_BYTES } from "./body-cipher.ts";
import type { EncryptedResponse, StoredBody, StoredResponse } from "../store/response-rows.ts";

/**
 * The envelope: this byte, the id of the secret, the attempt's prefix, and the encrypted head. The version changes with
 * anything in it, or in how keys are derived or frames are made.
 */
const VERSION = 1;
const ID_BYTES = SECRET_ID_DIGITS / 2;
const BEGIN_BYTES = 1 + ID_BYTES + PREFIX_BYTES;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The status line and the headers. */
type ResponseHead = Pick<StoredResponse, "status" | "statusText" | "headers">;

/** What the envelope tells. */
interface EncryptedHead extends ResponseHead {
  /** Of the body: its bytes, and the chunks in which they are. */
  readonly size: number;
  readonly chunks: number;
}

/** Encrypts the response of one attempt. */
export class ResponseEncryption {
  readonly cipher: BodyCipher;
  readonly #begin: Uint8Array;

  private constructor(cipher: BodyCipher, secretId: string) {
    this.cipher = cipher;
    this.#begin = new Uint8Array(BEGIN_BYTES);
    this.#begin[0] = VERSION;
    this.#begin.set(bytesOfHex(secretId), 1);
    this.#begin.set(cipher.prefix, 1 + ID_BYTES);
  }

  static async of({ keys }: RequestEncryption): Promise<ResponseEncryption> {
    const [newest] = keys;
    if (newest === undefined) throw new TypeError("an encrypted route without a key");
    return new ResponseEncryption(await BodyCipher.withKey(bytesOfHex(newest.key)), newest.secretId);
  }

  /** A response whose body has come whole. */
  async whole(head: ResponseHead, bytes: Uint8Array): Promise<EncryptedResponse> {
    const [envelope, body] = await Promise.all([
      this.#envelope(head, bytes.byteLength, 0),
      this.cipher.encrypt(bytes, placeInChunk(0, 0)),
    ]);
    return { envelope, body: { kind: "inline", bytes: body } };
  }

  /** A response whose body, of so many bytes, has been stored encrypted. */
  async stored(head: ResponseHead, body: StoredBody, size: number): Promise<EncryptedResponse> {
    return { envelope: await this.#envelope(head, size, countOf(body)), body };
  }

  async #envelope({ status, statusText, headers }: ResponseHead, size: number, chunks: number): Promise<Uint8Array> {
    const head: EncryptedHead = { status, statusText, headers, size, chunks };
    const ciphertext = await this.cipher.encrypt(encoder.encode(JSON.stringify(head)), HEAD_PLACE, this.#begin);
    const envelope = new Uint8Array(BEGIN_BYTES + ciphertext.byteLength);
    envelope.set(this.#begin);
    envelope.set(ciphertext, BEGIN_BYTES);
    return envelope;
  }
}

/** A response that its caller may read. Bytes in memory are plain; `cipher` decrypts all others. */
export interface OpenedResponse {
  readonly stored: StoredResponse;
  readonly cipher: BodyCipher | null;
}

/** Opens a response with a request's keys; `null` when none of them is the right one, or a byte is not as it was. Logs why. */
export async function openResponse(
  { envelope, body }: EncryptedResponse,
  head: NamedExchange & Pick<ExchangeHead, "encryption">,
): Promise<OpenedResponse | null> {
  const { encryption } = head;
  const begin = envelope.subarray(0, BEGIN_BYTES);
  const secretId = hexText(begin.subarray(1, 1 + ID_BYTES));
  const fail = (reason: string): null => {
    console.error({ message: "an encrypted response does not open", ...logNames(head), secretId, reason });
    return null;
  };
  if (encryption === undefined) return fail("the request's route is not encrypted");
  const key = begin[0] === VERSION ? encryption.keys.find((one) => one.secretId === secretId) : undefined;
  if (key === undefined) return fail("its secret is not configured");
  try {
    return await openWith(key, begin, envelope.subarray(BEGIN_BYTES), body);
  } catch (error) {
    return fail(String(error));
  }
}

async function openWith(
  key: CallersKey,
  begin: Uint8Array,
  ciphertext: Uint8Array,
  body: StoredBody,
): Promise<OpenedResponse> {
  const cipher = await BodyCipher.withKey(bytesOfHex(key.key), begin.slice(1 + ID_BYTES));
  const text = await cipher.decrypt(ciphertext, HEAD_PLACE, begin);
  const head: EncryptedHead = JSON.parse(decoder.decode(text));
  const { status, statusText, headers, size, chunks } = head;
  if (body.kind === "inline") {
    const bytes = await cipher.decrypt(body.bytes, placeInChunk(0, 0));
    if (bytes.byteLength !== size) throw new Error("the body lacks its end");
    return { stored: { status, statusText, headers, body: { kind: "inline", bytes } }, cipher: null };
  }
  // The store has put a body that came whole into a chunk.
  if (countOf(body) !== Math.max(chunks, body.kind === "chunks" ? 1 : 0)) throw new Error("the body lacks chunks");
  return { stored: { status, statusText, headers, body: { ...body, size } }, cipher };
}

function countOf(body: StoredBody): number {
  return body.kind === "chunks" ? body.count : 0;
}
