// What a body asks a JSON-RPC server for (JSON-RPC 2.0, and MCP's `tools/call` on top of it): a call, a batch, or nothing that is called. Only the body
// decides: a header may say another thing than the server reads. Where two servers could read two calls, it is unclear. Pure.

import { MAX_JSON_DEPTH, type UnreadJson } from "../../kernel/request/json.ts";
import {
  copiedText,
  findPlaces,
  type FoundPlace,
  type JsonPlace,
  MAX_PLACED_BYTES,
  textOfJson,
  valueAt,
} from "../../kernel/request/json-places.ts";

/** The method whose calls differ by the name of a tool. */
export const TOOLS_CALL = "tools/call";

/** A request or a notification. */
export interface RpcCall {
  readonly method: string;
  /** Of `tools/call`; `null`: it names none, or none that all servers read alike. */
  readonly tool: string | null;
  /** As it is written: `7`, `"7"`. `null`: a notification, or unclear. */
  readonly id: string | null;
  /** Why two servers may read two calls, or none can answer it, as a sentence; `null`: it is clear. */
  readonly unclear: string | null;
}

export type CallReading =
  /** A response of the client, or JSON that calls nothing. */
  | { readonly kind: "no-call" }
  | { readonly kind: "call"; readonly call: RpcCall }
  | { readonly kind: "batch"; readonly calls: readonly RpcCall[] }
  /** Whatever it is: it may be a call. `isJson`: whether it is JSON at all. */
  | { readonly kind: "unreadable"; readonly why: string; readonly isJson: boolean };

/** More members of a batch are not looked at. */
const MAX_BATCH = 100;

const MEMBERS = [["method"], ["id"], ["params"], ["params", "name"]] as const;

/** Pauses after each slice of its work. */
export function* readCall(body: Uint8Array): Generator<undefined, CallReading> {
  const text = body.byteLength > MAX_PLACED_BYTES ? null : textOfJson(body);
  if (text === null) return unreadable("not JSON");
  const isBatch = /^[ \t\r\n]*\[/.test(text);
  const roots = isBatch ? Array.from({ length: MAX_BATCH }, (_, index) => [String(index)]) : [[]];
  const pointers = [
    [],
    [String(MAX_BATCH)],
    ...roots.flatMap((root) => [root, ...MEMBERS.map((names) => [...root, ...names])]),
  ];
  const places = yield* findPlaces(text, pointers, "ambiguous");
  if (typeof places === "string") return unreadable(places);
  if (!isBatch) {
    const call = callAt(text, places.slice(2));
    return call === null ? { kind: "no-call" } : { kind: "call", call };
  }
  if (places[1] !== null) {
    return { kind: "unreadable", why: `The batch has more than ${MAX_BATCH} members.`, isJson: true };
  }
  const size = MEMBERS.length + 1;
  const calls = roots.flatMap((_, index) => callAt(text, places.slice(2 + size * index, 2 + size * (index + 1))) ?? []);
  return calls.length === 0 ? { kind: "no-call" } : { kind: "batch", calls };
}

const UNREAD: Readonly<Record<UnreadJson, string>> = {
  "not JSON": "The body is not JSON in UTF-8.",
  "too large": "The body has more JSON than is read.",
  "too deep": `The body has more than ${MAX_JSON_DEPTH.toLocaleString("en")} levels of JSON.`,
};

function unreadable(why: UnreadJson): CallReading {
  return { kind: "unreadable", why: UNREAD[why], isJson: why !== "not JSON" };
}

/** `null`: it calls nothing. `places`: of the whole message and of its members. */
function callAt(
  text: string,
  [whole = null, method = null, id = null, params = null, name = null]: readonly FoundPlace[],
): RpcCall | null {
  if (whole === null || whole === "ambiguous" || whole.kind !== "object" || method === null) return null;
  const written = method === "ambiguous" ? null : stringAt(text, method);
  const own = { method: written ?? "", tool: null, id: idAt(text, id) };
  if (method === "ambiguous") return { ...own, unclear: twice("method") };
  if (written === null) return { ...own, unclear: "The member method is no text." };
  const isTool = isSameName(written, TOOLS_CALL);
  const unclear = unclearId(text, id) ?? (isTool ? unclearTool(text, params, name) : null);
  const tool = isTool && name !== null && name !== "ambiguous" ? stringAt(text, name) : null;
  return { ...own, tool, unclear };
}

function unclearId(text: string, id: FoundPlace): string | null {
  if (id === "ambiguous") return twice("id");
  const isId = id === null || id.kind === "string" || id.kind === "number" || text.startsWith("null", id.from);
  return isId ? null : "The member id is neither a text nor a number.";
}

function unclearTool(text: string, params: FoundPlace, name: FoundPlace): string | null {
  if (params === "ambiguous") return twice("params");
  if (name === "ambiguous") return twice("params.name");
  return name === null || stringAt(text, name) === null ? "The call names no tool in params.name." : null;
}

function twice(name: string): string {
  return `The member ${name} is there twice, or in another case.`;
}

function stringAt(text: string, place: JsonPlace): string | null {
  const value = valueAt(text, place);
  return value.kind === "string" ? value.text : null;
}

/** An id of `null` is none: a response to it would answer nobody (JSON-RPC 2.0, section 5). */
function idAt(text: string, id: FoundPlace): string | null {
  if (id === null || id === "ambiguous" || (id.kind !== "string" && id.kind !== "number")) return null;
  return copiedText(text, id);
}

/** Some servers take a name in another case, or with spaces around it. */
export function isSameName(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

/** Whether the message is a JSON-RPC response: it has an id, and calls nothing. */
export function* findResponseId(text: string): Generator<undefined, JsonPlace | null> {
  const places = yield* findPlaces(text, [[], ["id"], ["method"]]);
  if (typeof places === "string") return null;
  const [whole = null, id = null, method = null] = places;
  const isObject = whole !== null && whole !== "ambiguous" && whole.kind === "object";
  return isObject && method === null && id !== "ambiguous" ? id : null;
}
