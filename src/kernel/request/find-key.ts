// Finds a request's key in the places that its route names (kernel/config/key-source.ts). They are tried in order, and the first that gives
// a key decides. Single values beside it that can be read without reading more of the request must be the same key; several values
// together and templates are never compared, because they are other keys by design.
// The body is read only if a source in it comes first: the caller does that, and asks again.

import type { KeyPart, KeySource } from "../config/key-source.ts";
import type { Route } from "../config/resolved.ts";
import { ECHO_HEADER, type HeadersView } from "./headers.ts";
import { formatProblem, invalidKey, type ParsedKey, parseKeyHeader } from "./key.ts";
import {
  ABSENT,
  bodyParts,
  type BodyValues,
  EVENT_PARTS,
  isSingle,
  type KeyPlaces,
  mediaType,
  nameOf,
  NO_VALUES,
  type PartValue,
  placeOf,
  readPart,
  startOf,
  STRUCTURED_EVENT,
  usableValue,
  wrongKey,
} from "./key-places.ts";
import { textOfValue, textOfValues, writeKey } from "./key-text.ts";

/** `body`: it has to be read first. */
export type FoundKey = ParsedKey | { readonly kind: "body" };

/** `body` is `null` as long as it has not been read. */
export async function findKey(
  { keyFrom, keyFormat }: Pick<Route, "keyFrom" | "keyFormat">,
  places: KeyPlaces,
  body: BodyValues | null,
): Promise<FoundKey> {
  let found: { readonly source: KeySource; readonly text: string } | null = null;
  for (const source of keyFrom) {
    if (found !== null && !(isSingle(found.source) && isSingle(source))) continue;
    if (body === null && needsBody(source, places.headers)) {
      if (found === null) return { kind: "body" };
      continue;
    }
    const value = await readSource(source, places, body ?? NO_VALUES);
    if (value.kind === "invalid") return value;
    if (value.kind === "absent") continue;
    if (found !== null && found.text !== value.text) {
      return wrongKey(found.source, `and ${placeOf(source)} carry different keys; send only one.`);
    }
    found ??= { source, text: value.text };
  }
  if (found === null) return ABSENT;
  const { source, text } = found;
  const problem = formatProblem(text, startOf(source), keyFormat);
  if (problem !== null) return invalidKey(problem);
  const header = source.kind === "header" ? source.name : ECHO_HEADER;
  const raw = source.kind === "header" ? places.headers.get(header) : null;
  return { kind: "key", key: text, raw: raw ?? writeKey(text), header };
}

/** Whether only the body can tell what a source gives. */
function needsBody(source: KeySource, headers: HeadersView): boolean {
  return bodyParts(source, headers).length > 0;
}

async function readSource(source: KeySource, places: KeyPlaces, body: BodyValues): Promise<PartValue> {
  switch (source.kind) {
    case "cloudevent":
      return readEvent(source.beginning, places.headers, body);
    case "all": {
      const values = allOf(valuesOf(source.pieces, places, body));
      return values.kind === "texts" ? { kind: "text", text: await textOfValues(values.texts) } : values;
    }
    case "template": {
      const values = allOf(valuesOf(source.pieces, places, body));
      return values.kind === "texts" ? { kind: "text", text: await textOfValue(values.texts.join("")) } : values;
    }
    case "header": {
      const raw = places.headers.get(source.name);
      if (raw === null) return ABSENT;
      const key = parseKeyHeader(raw, source.name);
      return typeof key === "string" ? single(key, source) : key;
    }
    case "query":
    case "form":
    case "json":
    case "graphql": {
      const value = readPart(source, places, body);
      return value.kind === "text" ? single(value.text, source) : value;
    }
  }
}

function valuesOf(pieces: readonly (string | KeyPart)[], places: KeyPlaces, body: BodyValues): readonly PartValue[] {
  return pieces.map((piece) =>
    typeof piece === "string" ? { kind: "text", text: piece } : readPart(piece, places, body),
  );
}

async function single(value: string, part: KeyPart): Promise<PartValue> {
  return value === "" ? wrongKey(part, "is empty.") : { kind: "text", text: await textOfValue(value) };
}

type PartValues = { readonly kind: "texts"; readonly texts: readonly string[] } | Exclude<PartValue, { kind: "text" }>;

/** The texts of all values, if all are there. */
function allOf(values: readonly PartValue[]): PartValues {
  const texts: string[] = [];
  let isComplete = true;
  for (const value of values) {
    if (value.kind === "invalid") return value;
    if (value.kind === "absent") isComplete = false;
    else texts.push(value.text);
  }
  return isComplete ? { kind: "texts", texts } : ABSENT;
}

/** The source and id of an event, which are unique together (CloudEvents 1.0, section "id"), in all modes with the same text. */
async function readEvent(beginning: readonly string[], headers: HeadersView, body: BodyValues): Promise<PartValue> {
  const type = mediaType(headers);
  if (type.startsWith("application/cloudevents-batch")) {
    return invalidKey("A batch of CloudEvents has no key of its own; send one event in each request.");
  }
  if (type.startsWith("application/cloudevents") && type !== STRUCTURED_EVENT) {
    return invalidKey(
      `CloudEvents as ${type} cannot be read; send ${STRUCTURED_EVENT}, or the event's attributes as headers.`,
    );
  }
  const values = allOf(
    type === STRUCTURED_EVENT
      ? EVENT_PARTS.map((part) => body.get(nameOf(part)) ?? ABSENT)
      : ["ce-source", "ce-id"].map((name) => eventHeader(headers, name)),
  );
  return values.kind === "texts" ? { kind: "text", text: await textOfValues([...beginning, ...values.texts]) } : values;
}

/** An attribute, whose value is percent-encoded (CloudEvents 1.0, HTTP binding, section 3.1.3.2). */
function eventHeader(headers: HeadersView, name: string): PartValue {
  const raw = headers.get(name);
  if (raw === null) return ABSENT;
  try {
    return usableValue(decodeURIComponent(raw), { kind: "header", name });
  } catch {
    return invalidKey(`${name} has invalid percent-encoding.`);
  }
}
