// What a request for a change asks for, read from its body: the reason, which every change needs, and with `resolve` the
// response that is replayed from now on.

import * as v from "valibot";

import type { Change } from "../core/timeline.ts";
import { isOriginsHeader } from "../http/headers.ts";
import { contradictionIn } from "./given-response.ts";
import type { Parsed } from "./list-request.ts";
import type { ChangeRequest, GivenResponse } from "./operator.ts";

/** Of a given response: it lies in its record's row, of which the platform takes 2 MB. */
const MOST_BODY_BYTES = 1 << 20;
const MOST_HEADERS = 100;
const MOST_HEADER_CHARACTERS = 32_768;

const LONGEST_REASON = 1000;

const reason = v.pipe(
  v.string('reason must be text: write {"reason":"…"}, why this is done.'),
  v.trim(),
  v.nonEmpty("reason must not be empty: write why this is done."),
  v.maxLength(LONGEST_REASON, `reason must have at most ${LONGEST_REASON} characters.`),
);

const STATUS = "response.status must be a whole number from 200 to 599.";
const HEADERS = 'response.headers must be a list of pairs: write [["content-type","application/json"]].';

const response = v.strictObject(
  {
    status: v.pipe(v.number(STATUS), v.integer(STATUS), v.minValue(200, STATUS), v.maxValue(599, STATUS)),
    headers: v.exactOptional(
      v.pipe(
        v.array(v.strictTuple([v.string(HEADERS), v.string(HEADERS)], HEADERS), HEADERS),
        v.maxLength(MOST_HEADERS, `response.headers must have at most ${MOST_HEADERS} entries.`),
      ),
    ),
    body: v.exactOptional(v.string("response.body must be text: for bytes write bodyBase64.")),
    bodyBase64: v.exactOptional(v.string("response.bodyBase64 must be text in base64.")),
  },
  "response must be an object with status, headers, and body or bodyBase64.",
);

const bare = v.strictObject({ reason }, 'The body must be JSON with nothing but a reason: write {"reason":"…"}.');
const resolving = v.strictObject(
  {
    reason,
    response,
    preview: v.exactOptional(v.boolean("preview must be true or false.")),
    confirm: v.exactOptional(v.boolean("confirm must be true or false.")),
  },
  'The body must be JSON: write {"reason":"…","response":{"status":201,"headers":[],"body":""},"preview":true}.',
);

export interface ParsedChange extends Omit<ChangeRequest, "by"> {
  /** Nothing is to be changed: only what would come of it is asked for. */
  readonly isPreview: boolean;
}

export function parseChange(action: Change, bytes: Uint8Array): Parsed<ParsedChange> {
  const json = parseJson(bytes);
  if (action !== "resolve") {
    const read = v.safeParse(bare, json);
    if (!read.success) return refuse(read.issues[0].message);
    return { ok: true, value: { action, reason: read.output.reason, response: null, isPreview: false } };
  }
  const read = v.safeParse(resolving, json);
  if (!read.success) return refuse(read.issues[0].message);
  const { preview = false, confirm = false } = read.output;
  if (preview === confirm) {
    return refuse(
      "Every retry would get this response. Write preview: true to see it, then confirm: true in its place to give it.",
    );
  }
  const given = givenResponse(read.output.response);
  if (!given.ok) return given;
  return { ok: true, value: { action, reason: read.output.reason, response: given.value, isPreview: preview } };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return null;
  }
}

function givenResponse(written: v.InferOutput<typeof response>): Parsed<GivenResponse> {
  const { status, headers = [], body: text, bodyBase64 } = written;
  if (text !== undefined && bodyBase64 !== undefined) return refuse("Write response.body or bodyBase64, not both.");
  const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (size > MOST_HEADER_CHARACTERS) return refuse(`response.headers exceed ${MOST_HEADER_CHARACTERS} characters.`);
  for (const [name, value] of headers) {
    if (!isPossible(name, value)) return refuse(`response.headers: "${name.slice(0, 60)}" cannot be sent as a header.`);
    if (!isOriginsHeader(name)) return refuse(`response.headers: "${name}" is not the origin's to say: leave it out.`);
  }
  const body = bodyBase64 === undefined ? new TextEncoder().encode(text ?? "") : decodeBase64(bodyBase64);
  if (body === null) return refuse("response.bodyBase64 is not base64.");
  if (body.byteLength > MOST_BODY_BYTES) return refuse(`The response's body exceeds ${MOST_BODY_BYTES} bytes.`);
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

function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function refuse(message: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason: message };
}
