// Where an idempotency key may come from: the kinds of source, how the configuration writes them, and how a problem names them to clients.
// kernel/request/find-key.ts reads them from a request. A new kind is added here and there.

import { formatDuration, type ParsedSetting, refuseValue } from "./units.ts";
import { firstRepeated, isPointer, pointerTokens, TOKEN } from "./values.ts";

/** A place in a request that holds one value. A header's name is as written; the tokens are those of a JSON pointer (RFC 6901). */
export type KeyPart =
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "query"; readonly name: string }
  | { readonly kind: "form"; readonly name: string }
  | { readonly kind: "json"; readonly name: string; readonly tokens: readonly string[] }
  /** The directive of a GraphQL mutation; it is never written, but comes last where `graphql` is set. */
  | { readonly kind: "graphql"; readonly name: "@idempotent" };

export const DIRECTIVE: KeyPart = { kind: "graphql", name: "@idempotent" };

/** Where keys are unless a route says otherwise. */
export const IDEMPOTENCY_KEY: KeyPart = { kind: "header", name: "Idempotency-Key" };

/**
 * One way to find a key: a value, the source and id of a CloudEvent, several values together, or a text with values in it. What is text
 * alone (the beginning, and texts among the pieces) keeps the keys of one sender apart from another's.
 */
export type KeySource =
  | KeyPart
  | { readonly kind: "cloudevent"; readonly beginning: readonly string[] }
  | { readonly kind: "all"; readonly pieces: readonly (string | KeyPart)[] }
  | { readonly kind: "template"; readonly text: string; readonly pieces: readonly (string | KeyPart)[] };

/** A source as the configuration writes it. */
export type WrittenSource = string | readonly string[] | { readonly template: string };

/** Whether a repeat gets the first answer again, or is refused. */
export const REPEAT_RULES = ["replay", "refuse"] as const;
export type RepeatRule = (typeof REPEAT_RULES)[number];

/** How a request without a key of its own gets one from its content, so that equal requests of a caller are one operation for a while. */
export interface ContentKey {
  /** The places that count besides method and path, as written; `null`: whatever the fingerprint counts. */
  readonly members: readonly KeyPart[] | null;
  readonly windowMs: number;
  readonly repeat: RepeatRule;
}

/** Such an entry as the configuration writes it. */
export interface WrittenContentKey {
  readonly digest: "request" | readonly string[];
  readonly window: string;
  readonly repeat: RepeatRule;
}

export function writtenContentKey({ members, windowMs, repeat }: ContentKey): WrittenContentKey {
  return { digest: members === null ? "request" : members.map(partName), window: formatDuration(windowMs), repeat };
}

/** Two of one name make the same keys. */
function contentKeyName({ members }: ContentKey): string {
  return `digest of ${members === null ? "the request" : members.map(sourceName).join(", ")}`;
}

/** Where a route's keys come from. */
type KeyOrigins = { readonly keyFrom: readonly KeySource[]; readonly contentKey: ContentKey | null };

/** The names of all of them. Those with which keys are made of content come last. */
export function keySourceNames({ keyFrom, contentKey }: KeyOrigins): readonly string[] {
  return [...keyFrom.map(sourceName), ...(contentKey === null ? [] : [contentKeyName(contentKey)])];
}

/** The same as the configuration writes them. */
export function writtenSources({ keyFrom, contentKey }: KeyOrigins): readonly (WrittenSource | WrittenContentKey)[] {
  return [...keyFrom.map(writtenSource), ...(contentKey === null ? [] : [writtenContentKey(contentKey)])];
}

/** All sources that are read, those of content among them. */
export function readSources({ keyFrom, contentKey }: KeyOrigins): readonly KeySource[] {
  return [...keyFrom, ...(contentKey?.members ?? [])];
}

/** How the settings' documentation writes the forms of an entry. */
export const KEY_SOURCE_FORMS =
  'a list of `"header:NAME"`, `"query:NAME"`, `"json:/POINTER"`, `"form:NAME"`, `"cloudevent"`, of lists of these and of `"text:WORD"`, ' +
  'or of `{ template = "{header:NAME}-{json:/POINTER}" }`';

export const KEY_PART_PATTERN = "^(?:header:.+|query:.+|form:.+|json:/.*)$";
/** What a list in the list may have: a text of its own, too. */
export const KEY_MEMBER_PATTERN = `${KEY_PART_PATTERN.slice(0, -2)}|text:.+|cloudevent)$`;
export const KEY_SOURCE_PATTERN = `${KEY_PART_PATTERN.slice(0, -2)}|cloudevent)$`;

/** Each part is looked for in the whole body. */
export const MAX_SOURCES = 8;

const PART_ADVICE = 'write "header:NAME", "query:NAME", "json:/POINTER" or "form:NAME"';

/** One entry of `key_from`. */
export function parseKeySource(written: WrittenSource): ParsedSetting<KeySource> {
  if (written === "cloudevent") return { ok: true, value: { kind: "cloudevent", beginning: [] } };
  if (typeof written === "string") return parseKeyPart(written);
  return "template" in written ? parseTemplate(written.template) : parseAll(written);
}

/** `key_from` as a whole: none twice. */
export function parseKeySources(sources: readonly KeySource[]): ParsedSetting<readonly KeySource[]> {
  const twice = firstRepeated(sources.map(sourceName));
  return twice === null ? { ok: true, value: sources } : refuseValue(`lists ${twice} twice: write it once`);
}

/** Two sources with one name are the same: header names compare without case. */
export function sourceName(source: KeySource): string {
  return sourceText(source.kind === "header" ? { ...source, name: source.name.toLowerCase() } : source);
}

/** One place. */
export function parseKeyPart(written: string): ParsedSetting<KeyPart> {
  const colon = written.indexOf(":");
  const kind = written.slice(0, Math.max(colon, 0));
  const name = written.slice(colon + 1);
  switch (kind) {
    case "header":
      return TOKEN.test(name)
        ? { ok: true, value: { kind, name } }
        : refuseValue(`"${name}" is not a header name (RFC 9110, 5.6.2): write "header:Idempotency-Key"`);
    case "query":
    case "form":
      return name === ""
        ? refuseValue(`must name a field: write "${kind}:request_id"`)
        : { ok: true, value: { kind, name } };
    case "json":
      return parsePointer(name);
    default:
      return refuseValue(
        `"${written}" is not a place for a key: ${PART_ADVICE}, or "cloudevent" as an entry of its own`,
      );
  }
}

/** RFC 6901, section 3. The empty pointer would be the whole body. */
function parsePointer(name: string): ParsedSetting<KeyPart> {
  if (!name.startsWith("/")) return refuseValue(`must be a JSON pointer that begins with "/": write "json:/id"`);
  if (!isPointer(name))
    return refuseValue(`"${name}" is not a JSON pointer (RFC 6901): write "~0" for "~" and "~1" for "/"`);
  return { ok: true, value: { kind: "json", name, tokens: pointerTokens(name) } };
}

const TEXT = "text:";

function parseAll(written: readonly string[]): ParsedSetting<KeySource> {
  if (written.length < 2) {
    return refuseValue(
      'a list in the list takes several values together: write ["json:/a", "json:/b"], or the text alone',
    );
  }
  const twice = firstRepeated(written);
  if (twice !== null) return refuseValue(`lists "${twice}" twice: write it once`);
  const unreadable = written.find((one) => one.startsWith(TEXT) && !/^[\x21-\x7e]+$/.test(one.slice(TEXT.length)));
  if (unreadable !== undefined)
    return refuseValue(`"${unreadable}" must name a word of visible ASCII: write "text:stripe"`);
  const texts = written.filter((one) => one.startsWith(TEXT)).map((one) => one.slice(TEXT.length));
  if (texts.length === written.length)
    return refuseValue('has no value of the request: write ["text:order", "json:/id"]');
  if (written.includes("cloudevent")) {
    return written.at(-1) === "cloudevent" && texts.length === written.length - 1
      ? { ok: true, value: { kind: "cloudevent", beginning: texts } }
      : refuseValue('may have only texts before "cloudevent": write ["text:events", "cloudevent"]');
  }
  const pieces: (string | KeyPart)[] = [];
  for (const one of written) {
    if (one.startsWith(TEXT)) {
      pieces.push(one.slice(TEXT.length));
      continue;
    }
    const part = parseKeyPart(one);
    if (!part.ok) return part;
    pieces.push(part.value);
  }
  return { ok: true, value: { kind: "all", pieces } };
}

const TEMPLATE_ADVICE = 'write { template = "order-{json:/id}" }';

function parseTemplate(text: string): ParsedSetting<KeySource> {
  if (!/^[^{}]*(?:\{[^{}]*\}[^{}]*)+$/.test(text))
    return refuseValue(`must have members in braces: ${TEMPLATE_ADVICE}`);
  if (!/^[\x21-\x7e]+$/.test(text.replaceAll(/\{[^{}]*\}/g, "-"))) {
    return refuseValue(`may have only visible ASCII around its members: ${TEMPLATE_ADVICE}`);
  }
  if (text.includes("}{")) {
    return refuseValue(
      "has two members side by side, so that nobody can tell where one ends: write text between them, or a list",
    );
  }
  const pieces: (string | KeyPart)[] = [];
  for (const [index, piece] of text.split(/[{}]/).entries()) {
    if (index % 2 === 0) {
      if (piece !== "") pieces.push(piece);
      continue;
    }
    const part = parseKeyPart(piece);
    if (!part.ok) return part;
    pieces.push(part.value);
  }
  return { ok: true, value: { kind: "template", text, pieces } };
}

/** A source as the configuration writes it. */
export function writtenSource(source: KeySource): WrittenSource {
  switch (source.kind) {
    case "cloudevent":
      return source.beginning.length === 0 ? source.kind : [...source.beginning.map(textName), source.kind];
    case "all":
      return source.pieces.map((piece) => (typeof piece === "string" ? textName(piece) : partName(piece)));
    case "template":
      return { template: source.text };
    case "header":
    case "query":
    case "form":
    case "json":
    case "graphql":
      return partName(source);
  }
}

/** The same as one text. */
export function sourceText(source: KeySource): string {
  const written = writtenSource(source);
  if (typeof written === "string") return written;
  return "template" in written ? written.template : `[${written.join(", ")}]`;
}

function textName(text: string): string {
  return TEXT + text;
}

function partName({ kind, name }: KeyPart): string {
  return `${kind}:${name}`;
}

/** The places that a source reads. Those of a CloudEvent depend on how the event is sent. */
export function partsOf(source: KeySource): readonly KeyPart[] {
  switch (source.kind) {
    case "cloudevent":
      return [];
    case "all":
    case "template":
      return source.pieces.filter((piece) => typeof piece !== "string");
    case "header":
    case "query":
    case "form":
    case "json":
    case "graphql":
      return [source];
  }
}

/** The names of all headers from which keys are read, in lower case. */
export function keyHeaders(sources: readonly KeySource[]): readonly string[] {
  return sources.flatMap((source) => [
    ...(source.kind === "cloudevent" ? EVENT_HEADERS : []),
    ...partsOf(source).flatMap((part) => (part.kind === "header" ? [part.name.toLowerCase()] : [])),
  ]);
}

/** The names of the headers, as written, if each source is one; otherwise `null`. */
export function singleHeaders(sources: readonly KeySource[]): readonly string[] | null {
  const names = sources.flatMap((source) => (source.kind === "header" ? [source.name] : []));
  return names.length === sources.length ? names : null;
}

/** The headers that say what event a request is (CloudEvents 1.0, HTTP binding, section 3.1). */
const EVENT_HEADERS = ["ce-specversion", "ce-source", "ce-id"];

/** All ways to send a key, for a person. */
export function describeSources({ keyFrom, contentKey }: KeyOrigins): string {
  // Who has no key of its own may still send what a key is made of.
  const made = contentKey?.members ?? [];
  const content = made.length === 0 ? [] : [made.map(describePart).join(" and ")];
  return [...keyFrom.map(describeSource), ...content].join(", or ");
}

function describeSource(source: KeySource): string {
  if (source.kind === "cloudevent") return "the source and id of a CloudEvent";
  const parts = partsOf(source).map(describePart);
  return parts.length === 1 ? parts.join("") : `${parts.join(" and ")} together`;
}

/** A place, for a person. */
export function describePart({ kind, name }: KeyPart): string {
  switch (kind) {
    case "header":
      return `the ${name} header`;
    case "query":
      return `the query parameter ${name}`;
    case "form":
      return `the form field ${name}`;
    case "json":
      return `the member ${name} of the JSON body`;
    case "graphql":
      return `the directive ${name} of the mutation`;
  }
}
