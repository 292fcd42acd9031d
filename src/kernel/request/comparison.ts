// Decides how a request's body is compared: by the route's rule, and by what the request's headers say of the body. The result is
// plain data, because a shard that receives a large body compares it as the Worker would.
//
// A form that is not certain is not used: the body is then compared as bytes, together with the headers that say how to read it.
// Two bodies that some parser reads differently must never count as the same.

import type { FingerprintRule, BodySelection } from "../config/resolved.ts";
import type { HeadersView } from "./headers.ts";

/** What the request says of its body, as it came. */
interface BodyHeaders {
  /** `Content-Type`. */
  readonly type: string | null;
  /** `Content-Encoding`. */
  readonly encoding: string | null;
}

/** A body whose form its headers confirm. */
interface Confirmed extends BodyHeaders {
  /** The media type with its parameters, in one spelling, without the boundary; empty if the request names none. */
  readonly media: string;
}

export type ComparisonRule =
  /** These three whatever the headers say. */
  | { readonly as: "none" }
  | { readonly as: "bytes" }
  | { readonly as: "json" }
  /** As bytes, because the headers say something other than what the route expects. */
  | ({ readonly as: "typed bytes" } & BodyHeaders)
  | ({ readonly as: "selected json"; readonly selection: BodySelection } & Confirmed)
  | ({ readonly as: "form"; readonly selection: BodySelection | null } & Confirmed)
  | ({ readonly as: "multipart"; readonly boundary: string } & Confirmed);

const NONE: ComparisonRule = { as: "none" };
const BYTES: ComparisonRule = { as: "bytes" };
const JSON_TEXT: ComparisonRule = { as: "json" };

export function comparisonOf({ body, selection }: FingerprintRule, headers: HeadersView): ComparisonRule {
  switch (body) {
    case "none":
      return NONE;
    case "bytes":
      return BYTES;
    case "json":
      return selection === null ? JSON_TEXT : selectedJson(selection, bodyHeaders(headers));
    case "form":
      return form(selection, bodyHeaders(headers));
    case "multipart":
      return multipart(bodyHeaders(headers));
  }
}

/** The values of the headers that the route names; `null` for a missing one. */
export function comparedHeaders(
  names: readonly string[],
  headers: HeadersView,
  comparison: ComparisonRule,
): readonly (string | null)[] {
  return names.map((name) =>
    name === "content-type" && comparison.as === "multipart" ? comparison.media : headers.get(name),
  );
}

function bodyHeaders(headers: HeadersView): BodyHeaders {
  return { type: headers.get("content-type"), encoding: headers.get("content-encoding") };
}

/** Senders of JSON often say that it is text, or nothing; nobody reads such a body as a form. */
const JSON_TYPE = /^(?:application\/(?:[\w.-]+\+)?json|text\/(?:json|plain))$/;

function selectedJson(selection: BodySelection, said: BodyHeaders): ComparisonRule {
  const media = said.type === null ? { essence: "text/plain", parameters: [] } : parseMediaType(said.type);
  if (media === null || !isPlain(media, said) || !JSON_TYPE.test(media.essence)) return { as: "typed bytes", ...said };
  return { as: "selected json", selection, media: said.type === null ? "" : mediaText(media), ...said };
}

function form(selection: BodySelection | null, said: BodyHeaders): ComparisonRule {
  const media = parseMediaType(said.type);
  const isForm = media !== null && media.essence === "application/x-www-form-urlencoded" && isPlain(media, said);
  return isForm ? { as: "form", selection, media: mediaText(media), ...said } : { as: "typed bytes", ...said };
}

/**
 * A boundary (RFC 2046, section 5.1.1) without spaces, which parsers trim differently. Characters that only a quoted one may have
 * (RFC 9110, section 5.6.6) are refused in others by `parseMediaType`.
 */
const BOUNDARY = /^[\w'()+,./:=?-]{1,70}$/;

function multipart(said: BodyHeaders): ComparisonRule {
  const media = parseMediaType(said.type);
  const boundary = media?.parameters.find(({ name }) => name === "boundary")?.value ?? "";
  if (media === null || media.essence !== "multipart/form-data" || !isPlain(media, said) || !BOUNDARY.test(boundary)) {
    return { as: "typed bytes", ...said };
  }
  const parameters = media.parameters.filter(({ name }) => name !== "boundary");
  return { as: "multipart", boundary, media: mediaText({ ...media, parameters }), ...said };
}

/** Neither compressed nor in a charset in which some origin reads other characters than this gateway. */
function isPlain({ parameters }: MediaType, { encoding }: BodyHeaders): boolean {
  const charset = parameters.find(({ name }) => name === "charset")?.value ?? "utf-8";
  return encoding === null && charset.toLowerCase() === "utf-8";
}

interface MediaType {
  /** Lower case. */
  readonly essence: string;
  /** Names in lower case, each once. */
  readonly parameters: readonly { readonly name: string; readonly value: string }[];
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = `[ \\t]*;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"([^"\\\\]*)")`;
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:${PARAMETER})*)$`);

/** A media type (RFC 9110, section 8.3.1). `null` for what some parsers might read in another way. */
function parseMediaType(text: string | null): MediaType | null {
  const match = MEDIA_TYPE.exec(text ?? "");
  if (match === null) return null;
  const parameters = [...(match[2] ?? "").matchAll(new RegExp(PARAMETER, "g"))].map(
    ([, name = "", token, quoted = ""]) => ({ name: name.toLowerCase(), value: token ?? quoted }),
  );
  const names = new Set(parameters.map(({ name }) => name));
  return names.size < parameters.length ? null : { essence: (match[1] ?? "").toLowerCase(), parameters };
}

function mediaText({ essence, parameters }: MediaType): string {
  return [essence, ...parameters.map(({ name, value }) => `${name}=${JSON.stringify(value)}`)].join(";");
}
