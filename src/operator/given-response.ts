// Checks a response that an operator gives instead of the origin. Every retry would get it, so contradictions are refused;
// what is only unusual becomes a warning in the preview.

import type * as v from "valibot";

import { type HeaderPairs, isOriginsHeader, NULL_BODY_STATUSES } from "../kernel/request/headers.ts";
import type { PreviewView } from "./change-schema.ts";
import { decodeBase64, type givenResponseSchema, type ParsedRequest } from "./request-schema.ts";

export interface GivenResponse {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** The limit for a given response's body. It is stored in its record's row, which the platform limits to 2 MB. */
const MAX_BODY_BYTES = 1 << 20;
const MAX_HEADER_CHARACTERS = 32_768;

/** A second one of these changes or breaks the message. */
const SINGLE = ["content-type", "content-encoding", "location", "etag", "content-range"];

/** Type and subtype as in RFC 9110, section 8.3.1. */
const MEDIA_TYPE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:;.*)?$/;

export function givenResponse(written: v.InferOutput<typeof givenResponseSchema>): ParsedRequest<GivenResponse> {
  const { status, headers = [], body: text, bodyBase64 } = written;
  if (text !== undefined && bodyBase64 !== undefined) return refuse("Write response.body or bodyBase64, not both.");
  const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (size > MAX_HEADER_CHARACTERS) return refuse(`response.headers exceed ${MAX_HEADER_CHARACTERS} characters.`);
  for (const [name, value] of headers) {
    if (!isPossible(name, value)) return refuse(`response.headers: "${name.slice(0, 60)}" cannot be sent as a header.`);
    if (!isOriginsHeader(name))
      return refuse(`response.headers: "${name}" is set by the gateway, not by the origin: leave it out.`);
  }
  const body = bodyBase64 === undefined ? new TextEncoder().encode(text ?? "") : decodeBase64(bodyBase64);
  if (body === null) return refuse("response.bodyBase64 is not base64.");
  if (body.byteLength > MAX_BODY_BYTES) return refuse(`The response's body exceeds ${MAX_BODY_BYTES} bytes.`);
  const given = { status, headers, body };
  const contradiction = contradictionIn(given, bodyBase64 === undefined);
  return contradiction === null ? { ok: true, value: given } : refuse(contradiction);
}

function isPossible(name: string, value: string): boolean {
  // Visible Latin-1, spaces and tabs within (RFC 9110, section 5.5).
  return (
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) &&
    /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/.test(value)
  );
}

function refuse(message: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason: message };
}

/** Why a response contradicts itself; `null` when it does not. `isText`: its body was given as text. */
export function contradictionIn({ status, headers, body }: GivenResponse, isText: boolean): string | null {
  const twice = SINGLE.find((name) => valuesOf(headers, name).length > 1);
  if (twice !== undefined) return `response.headers: ${twice} is given more than once: write it once.`;
  if (body.byteLength > 0 && NULL_BODY_STATUSES.has(status)) {
    return `A response with status ${status} has no body: leave it out.`;
  }
  const [type] = valuesOf(headers, "content-type");
  const [, subtype] = type === undefined ? [] : (MEDIA_TYPE.exec(type) ?? []);
  if (type !== undefined && subtype === undefined) {
    return 'response.headers: content-type is not a media type: write "application/json".';
  }
  const coding = codingOf(headers);
  if (coding !== null) {
    if (isText) {
      return `The body is given as text, but content-encoding says "${coding}": leave that out, or write bodyBase64.`;
    }
    return coding === "gzip" && !(body[0] === 0x1f && body[1] === 0x8b) && body.byteLength > 0
      ? "The body is not gzip, but content-encoding says it is: leave that out, or give the encoded bytes."
      : null;
  }
  if (subtype === undefined || NULL_BODY_STATUSES.has(status) || !isJson(subtype)) return null;
  const text = textOf(body);
  return text !== null && parses(text)
    ? null
    : `The body is not JSON, but content-type says it is (${type ?? ""}): give JSON, or another content-type.`;
}

/** `omitHeaders`: names that the record's route omits from replays, in lower case. */
export function previewOf(given: GivenResponse, omitHeaders: readonly string[]): PreviewView["preview"] {
  const { status, headers, body } = given;
  const isOmitted = (name: string): boolean => omitHeaders.includes(name.toLowerCase());
  return {
    status,
    headers: headers.filter(([name]) => !isOmitted(name)),
    omittedHeaders: [...new Set(headers.map(([name]) => name).filter(isOmitted))],
    sizeBytes: body.byteLength,
    body: textOf(body),
    warnings: warningsOf(given),
  };
}

function warningsOf({ status, headers, body }: GivenResponse): readonly string[] {
  const has = (name: string): boolean => valuesOf(headers, name).length > 0;
  const coding = codingOf(headers);
  return [
    ...(status >= 400
      ? [`Status ${status} tells every retry that the operation failed, although it took effect.`]
      : []),
    ...([301, 302, 303, 307, 308].includes(status) && !has("location")
      ? ["A redirect without a location header."]
      : []),
    ...(body.byteLength > 0 && !has("content-type") ? ["A body without a content-type header."] : []),
    ...(body.byteLength === 0 && !NULL_BODY_STATUSES.has(status) ? ["The body is empty."] : []),
    ...(coding === null ? [] : [`The body is encoded ("${coding}"), so its content was not checked.`]),
  ];
}

function valuesOf(headers: HeaderPairs, wanted: string): readonly string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

function codingOf(headers: HeaderPairs): string | null {
  const coding = valuesOf(headers, "content-encoding")[0]?.trim().toLowerCase() ?? "identity";
  return coding === "identity" || coding === "" ? null : coding;
}

/** RFC 6839, section 3.1: also `application/problem+json`. */
function isJson(subtype: string): boolean {
  return /^(?:.*\+)?json$/i.test(subtype);
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
