// The path of a verification by state, and the places of a request that it, and the conditions on its answer, may name. What is wrong is thrown
// and caught by parse-state.ts.

import { parseKeyPart } from "../config/key-source.ts";
import type { PathPiece, RequestPlace } from "./state-rule.ts";

/** What is wrong with the table; `member`: where, or `null` for the table as a whole. */
export class WrongMember extends Error {
  readonly member: string | null;

  constructor(member: string | null, message: string) {
    super(message);
    this.name = "WrongMember";
    this.member = member;
  }
}

export function refuseMember(member: string | null, message: string): never {
  throw new WrongMember(member, message);
}

const PLACES = "{key}, {path:NAME}, {json:/POINTER}, {form:NAME}, {query:NAME} or {header:NAME}";

export function requestPlaceOf(text: string, member: string): RequestPlace {
  if (text === "key") return { kind: "key" };
  if (text.startsWith("path:")) return { kind: "path", name: text.slice("path:".length) };
  const part = parseKeyPart(text);
  if (!part.ok || part.value.kind === "graphql")
    return refuseMember(member, `{${text}} is not a place in the request: write ${PLACES}`);
  return part.value;
}

const PATH_ADVICE = 'write "/v1/orders/{path:id}" or "/v1/orders?reference={json:/reference}"';

/** A path at the route's origin. In its path a value stands for a whole segment, in its query for a value or a part of one. */
export function parsePath(text: string): readonly PathPiece[] {
  if (!/^\/(?!\/)[^\s#\\]*$/.test(text) || !URL.canParse(text.replaceAll(/[{}]/g, ""), "https://origin"))
    refuseMember("path", `must be a path at the origin: ${PATH_ADVICE}`);
  const pieces: PathPiece[] = [];
  const question = text.indexOf("?");
  const split = question === -1 ? text.length : question;
  let at = 0;
  for (const match of text.matchAll(/\{([^{}]*)\}/g)) {
    const end = match.index + match[0].length;
    const place = requestPlaceOf(match[1] ?? "", "path");
    const [before, after] = [text[match.index - 1] ?? "", text[end] ?? ""];
    const inPath = match.index < split;
    const whole = inPath ? before === "/" && /^[/?]?$/.test(after) : before === "=" && /^&?$/.test(after);
    if (inPath && !whole)
      refuseMember("path", `{${match[1] ?? ""}} must be a whole segment of the path: ${PATH_ADVICE}`);
    if (!inPath && isInName(text.slice(split + 1, match.index)))
      refuseMember("path", `{${match[1] ?? ""}} must be in the value of a parameter: ${PATH_ADVICE}`);
    if (before === "}" || after === "{") refuseMember("path", "has two values side by side: write text between them");
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push({ place, in: inPath ? "path" : "query", whole });
    at = end;
  }
  if (at < text.length) pieces.push(text.slice(at));
  if (pieces.some((piece) => typeof piece === "string" && /[{}]/.test(piece)))
    refuseMember("path", `has a brace without the other: ${PATH_ADVICE}`);
  const plain = pieces.map((piece) => (typeof piece === "string" ? piece : "x")).join("");
  if (new URL(plain, "https://origin").pathname !== plain.replace(/\?.*$/s, ""))
    refuseMember("path", `must be written plainly, without dot segments: ${PATH_ADVICE}`);
  return pieces;
}

/** Whether the query, up to here, is still in the name of a parameter. */
function isInName(query: string): boolean {
  return !query.slice(query.lastIndexOf("&") + 1).includes("=");
}
