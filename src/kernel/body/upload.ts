// Receives a large request. Its body is complete and durable before anything is claimed, so that neither a client that disconnects
// nor a slow origin can cut it off; it is never held whole in memory. If the route compares no bodies, the body flows through:
// then a client that disconnects cuts it off, and the attempt is ambiguous.

import type { ClientProblem } from "../record/problem.ts";
import { BROKEN_BODY, LATE_BODY, SMALL_BYTES } from "../request/body.ts";
import type { Fingerprint } from "../record/units.ts";
import type { BodyReader } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import type { ComparisonRule } from "../request/comparison.ts";
import {
  fingerprintDigested,
  fingerprintMultipart,
  type FingerprintParts,
  fingerprintRequest,
} from "../request/fingerprint.ts";
import { withFingerprints } from "../encryption/encryption.ts";
import { type ExchangeHead, WHOLE_BODY_BYTES } from "../request/message.ts";
import { MessageReader } from "../request/message-stream.ts";
import { ReadingPace, pacedBody } from "../request/pace.ts";
import type { BodyStore } from "../store/bodies.ts";
import type { ObjectTimers } from "../object/timers.ts";
import { placeInChunk } from "../encryption/body-cipher.ts";
import { chunkedBody, type RequestBody, streamedBody } from "./request-body.ts";
import { storeBody, type StoredUpload } from "./stored-body.ts";

export interface ReceivedUpload {
  readonly head: ExchangeHead;
  readonly body: RequestBody;
}

export type UploadReception = ReceivedUpload | { readonly head: ExchangeHead; readonly problem: ClientProblem };

/** A body that passes unchanged, and whose canonical form is digested meanwhile. */
export interface DigestedBody extends BodyReader {
  /** To be called when the whole body has been read. Returns `null` if it has no canonical form. */
  digest(): Promise<Uint8Array | null>;
}

export type DigestMultipart = (body: BodyReader, boundary: string) => DigestedBody;

export async function receiveUpload(
  stream: ReadableStream<Uint8Array>,
  bodies: BodyStore,
  timers: Pick<ObjectTimers, "firstOf">,
  digestMultipart?: DigestMultipart,
): Promise<UploadReception> {
  const reader = new MessageReader(stream);
  const head = await reader.head();
  const { upload } = head.request;
  if (upload === null) throw new TypeError("a streamed message without an upload");
  const idleMs = head.rules.idleTimeoutMs;
  // An accepted request is stored whole, also where bodies are not compared.
  if (upload.fingerprintParts === null && head.async?.accepts !== true) {
    // It ends in the origin, which may have to wait for it: any byte will do.
    return { head, body: streamedBody(pacedBody(reader, timers, new ReadingPace(idleMs, 1)), upload.length) };
  }
  const message = pacedBody(reader, timers, new ReadingPace(idleMs));
  const comparison: ComparisonRule = upload.comparison ?? { as: upload.compare };
  const multipart = comparison.as === "multipart" ? (digestMultipart?.(message, comparison.boundary) ?? null) : null;
  const isEncrypted = head.encryption?.isOn === true;
  const stored = await storeBody(bodies, multipart ?? message, { maxBytes: upload.maxBytes, isEncrypted });
  if (stored.kind !== "stored") return { head, problem: stored.kind === "late" ? LATE_BODY : BROKEN_BODY };
  if (stored.size > upload.maxBytes) {
    return { head, problem: { code: "body-too-large", limitBytes: upload.maxBytes } };
  }
  const body = chunkedBody(bodies, stored);
  if (upload.fingerprintParts === null) return { head, body };
  const canonical = multipart === null ? null : await multipart.digest();
  const fingerprint = await fingerprintUpload(upload.fingerprintParts, comparison, canonical, stored, bodies);
  return { head: { ...head, request: await withFingerprints(head.request, head.encryption, fingerprint) }, body };
}

/** `canonical` is the digest of a multipart body's canonical form, if it has one. */
async function fingerprintUpload(
  parts: FingerprintParts,
  comparison: ComparisonRule,
  canonical: Uint8Array | null,
  stored: StoredUpload,
  bodies: BodyStore,
): Promise<Fingerprint> {
  if (canonical !== null && comparison.as === "multipart") return fingerprintMultipart(parts, canonical, comparison);
  return stored.size <= mostInMemory(comparison)
    ? fingerprintRequest(parts, await readChunks(bodies, stored), comparison)
    : fingerprintDigested(parts, stored.digest, comparison);
}

/** How large a body is compared as a whole, at most. */
function mostInMemory(comparison: ComparisonRule): number {
  switch (comparison.as) {
    case "json":
    case "selected json":
    case "form":
      return WHOLE_BODY_BYTES;
    case "multipart":
    case "none":
    case "bytes":
    case "typed bytes":
      return SMALL_BYTES;
  }
}

/** The whole body, for a comparison that needs it in memory. */
async function readChunks(bodies: BodyStore, { body, count, size, cipher }: StoredUpload): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (let number = 0; number < count; number += 1) {
    const stored = bodies.read(body, number);
    if (stored === null) throw new Error(`chunk ${number} of a request is gone`);
    const bytes = cipher === null ? stored : await cipher.decrypt(stored, placeInChunk(number, 0));
    whole.set(bytes, at);
    at += bytes.byteLength;
    freeBytes(bytes);
  }
  return whole;
}
