// The values of a request at single places: which places in a body its type may have, and what is there. Where readers could take
// different values, there is none, but a reason.

import { describePart, type KeyPart, type KeySource, partsOf } from "../config/key-source.ts";
import type { Route } from "../config/resolved.ts";
import { type FieldValue, findInForm, findInQuery } from "./form-fields.ts";
import type { HeadersView } from "./headers.ts";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, type UnreadJson } from "./json.ts";
import { findInJson, type JsonValue } from "./json-pointer.ts";
import { type InvalidKey, invalidKey, MAX_VALUE_LENGTH } from "./key.ts";
import { type WaitingCaller, TimeSlicer } from "./time-slicer.ts";

/** The parts of a request without its body in which a key may be. */
export interface KeyPlaces {
  readonly headers: HeadersView;
  /** Begins with the question mark; empty if the URL has no query. */
  readonly search: string;
}

/** What is at one place. */
export type PartValue = { readonly kind: "text"; readonly text: string } | { readonly kind: "absent" } | InvalidKey;

/** What the body has at the places that the route names, by the names of the places. */
export type BodyValues = ReadonlyMap<string, PartValue>;

/** A body without any of the values. */
export const NO_VALUES: BodyValues = new Map();

export const ABSENT = { kind: "absent" } as const;

/** A CloudEvent in structured mode, as JSON (CloudEvents 1.0, HTTP binding, section 3.2). */
export const STRUCTURED_EVENT = "application/cloudevents+json";
const SOURCE: KeyPart = { kind: "json", name: "/source", tokens: ["source"] };
const ID: KeyPart = { kind: "json", name: "/id", tokens: ["id"] };
export const EVENT_PARTS = [SOURCE, ID];

/** The places in the body from which a source is read, as far as a body of this type may have them. */
export function bodyParts(source: KeySource, headers: HeadersView): readonly KeyPart[] {
  const type = mediaType(headers);
  if (source.kind === "graphql") return [source];
  if (source.kind === "cloudevent") return type === STRUCTURED_EVENT ? EVENT_PARTS : [];
  return partsOf(source).filter(
    ({ kind }) => (kind === "json" && mayBeJson(type)) || (kind === "form" && type === FORM),
  );
}

export const FORM = "application/x-www-form-urlencoded";

/** Some senders of JSON call it text, and a popular command line calls every body a form. */
export function mayBeJson(type: string): boolean {
  return isCalledJson(type) || type.startsWith("text/") || type === FORM;
}

function isCalledJson(type: string): boolean {
  return type === "" || /[/+]json$/.test(type);
}

/** Without parameters, in lower case; empty if there is none. */
export function mediaType(headers: HeadersView): string {
  const [type = ""] = (headers.get("content-type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}

/** The parameter that names a charset other than UTF-8, in which a server would read other text: in UTF-7, `+AG0-` is the letter m. */
export function otherCharset(headers: HeadersView): string | null {
  const [, ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  const other = parameters.find((text) => text.includes("charset") && !/^\s*charset\s*=\s*"?utf-?8"?\s*$/.test(text));
  return other?.trim() ?? null;
}

/** The value at a place, as it is: a header's is not taken apart. */
export function readPart(part: KeyPart, { headers, search }: KeyPlaces, body: BodyValues): PartValue {
  switch (part.kind) {
    case "header": {
      const text = headers.get(part.name);
      return text === null ? ABSENT : usableValue(text, part);
    }
    case "query":
      return fieldValue(findInQuery(search, [part.name], MAX_VALUE_LENGTH).get(part.name), part);
    case "form":
    case "json":
    case "graphql":
      return body.get(nameOf(part)) ?? ABSENT;
  }
}

export function nameOf({ kind, name }: KeyPart): string {
  return `${kind}:${name}`;
}

/** Whether a source is one value, which another source may carry too. */
export function isSingle(source: KeySource): source is KeyPart {
  return source.kind !== "all" && source.kind !== "template" && source.kind !== "cloudevent";
}

/** The runtime, and decoders of UTF-8, replace what is invalid with this: two different values could look the same. */
const REPLACEMENT = "\ufffd";

/** Values of which no other value has the same text. */
export function usableValue(text: string, part: KeyPart): PartValue {
  if (text === "") return wrongKey(part, "is empty.");
  if (text.length > MAX_VALUE_LENGTH) return wrongKey(part, TOO_LONG);
  if (!text.isWellFormed() || text.includes(REPLACEMENT)) return wrongKey(part, "is not valid Unicode.");
  return { kind: "text", text };
}

const TOO_LONG = `is longer than ${MAX_VALUE_LENGTH} characters.`;

/** How problems name a source. */
export function placeOf(source: KeySource): string {
  if (!isSingle(source)) return "the key";
  return source.kind === "header" ? source.name : describePart(source);
}

/** The same at the beginning of a sentence. */
export function startOf(source: KeySource): string {
  return placeOf(source).replace(/^the /, "The ");
}

export function wrongKey(source: KeySource, what: string): InvalidKey {
  return invalidKey(`${startOf(source)} ${what}`);
}

const SPACE = 0x20;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Shared by all bodies of this isolate. */
export const bodySlicer = new TimeSlicer();

/** What the body has at the places that the route names. */
export async function readBodyValues(
  { keyFrom }: Pick<Route, "keyFrom">,
  headers: HeadersView,
  bytes: Uint8Array,
  caller: WaitingCaller | null = null,
): Promise<BodyValues> {
  if (bytes.byteLength === 0) return NO_VALUES;
  const parts = keyFrom.flatMap((source) => bodyParts(source, headers));
  const values = new Map<string, PartValue>();
  const unreadable = unreadableFor(headers, "no key can be read from it");
  if (unreadable !== null) {
    for (const part of parts) values.set(nameOf(part), invalidKey(unreadable));
    return values;
  }
  const json = parts.filter((part) => part.kind === "json");
  const found = await bodySlicer.run(
    findInJson(
      bytes,
      json.map(({ tokens }) => tokens),
      MAX_VALUE_LENGTH,
    ),
    caller,
  );
  for (const [index, part] of json.entries()) {
    if (typeof found !== "string") {
      const all = found.filter(({ pointer }) => pointer === index).map(({ value }) => value);
      values.set(nameOf(part), jsonValue(all, part));
    } else values.set(nameOf(part), unreadJson(found, part, headers, bytes));
  }
  const forms = parts.filter(({ kind }) => kind === "form");
  const names = forms.map(({ name }) => name);
  const fields = await bodySlicer.run(findInForm(bytes, names, MAX_VALUE_LENGTH), caller);
  for (const part of forms) values.set(nameOf(part), fieldValue(fields.get(part.name), part));
  return values;
}

const UNREAD_JSON: Readonly<Record<UnreadJson, string>> = {
  "not JSON": "is not JSON in UTF-8",
  "too large": `has more than ${MAX_JSON_BYTES / 1024} KiB of JSON`,
  "too deep": `has more than ${MAX_JSON_DEPTH.toLocaleString("en")} levels of JSON`,
};

/** Whether a body begins as an object or an array of JSON does, whatever it is called. */
function seemsJson(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => byte > SPACE);
  return first === OPEN_OBJECT || first === OPEN_ARRAY;
}

/** What a place in JSON says that cannot be read; nothing, if the body is probably no JSON. */
export function unreadJson(why: UnreadJson, part: KeyPart, headers: HeadersView, bytes: Uint8Array): PartValue {
  const isJson = isCalledJson(mediaType(headers)) || (why !== "not JSON" && seemsJson(bytes));
  return isJson ? wrongKey(part, `cannot be read, because the body ${UNREAD_JSON[why]}.`) : ABSENT;
}

/** Why no value can be read from the body, by what the headers say of it, and that therefore `consequence`; `null` if one can. */
export function unreadableFor(headers: HeadersView, consequence: string): string | null {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "") {
    return `The body is compressed (Content-Encoding: ${encoding}), so ${consequence}; send it uncompressed.`;
  }
  const charset = otherCharset(headers);
  return charset === null
    ? null
    : `The body is not in UTF-8 (Content-Type: ${charset}), so ${consequence}; send it in UTF-8.`;
}

/** What a key at this place is, by all that was found there. */
export function jsonValue(found: readonly JsonValue[], part: KeyPart): PartValue {
  const [value] = found;
  if (value === undefined) return ABSENT;
  const kind = found.some((one) => one.kind === "repeated") ? "repeated" : value.kind;
  switch (kind) {
    case "string":
    case "number":
      return "text" in value ? usableValue(value.text, part) : ABSENT;
    case "repeated":
      return wrongKey(part, "is there twice; send it once.");
    case "imprecise":
      return wrongKey(part, "is a number that not all programs read alike; send it as a string.");
    case "long":
      return wrongKey(part, TOO_LONG);
    case "literal":
    case "container":
      return wrongKey(part, "is neither a string nor a number.");
  }
}

export function fieldValue(value: FieldValue | undefined, part: KeyPart): PartValue {
  switch (value?.kind) {
    case undefined:
      return ABSENT;
    case "text":
      return usableValue(value.text, part);
    case "repeated":
      return wrongKey(part, "is there twice; send it once.");
    case "malformed":
      return wrongKey(part, "has invalid percent-encoding.");
    case "long":
      return wrongKey(part, TOO_LONG);
  }
}
