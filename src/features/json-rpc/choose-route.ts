// Which of the routes of one path protects a call: the first that names it. Pure.

import type { JsonRpcRule, Route } from "../../kernel/config/resolved.ts";
import { isSameName, type RpcCall, TOOLS_CALL } from "./read-call.ts";

export interface ChosenRoute {
  readonly route: Route;
  /** Whether the call may pass without a key. */
  readonly isOptional: boolean;
}

/** `null`: no route names the call, so it passes. */
export function chooseRoute(routes: readonly Route[], call: RpcCall): ChosenRoute | null {
  for (const route of routes) {
    const how = route.jsonrpc === null ? null : namedBy(route.jsonrpc, call);
    if (how !== null) return { route, isOptional: how === "optional" || route.key === "optional" };
  }
  return null;
}

/** Whether a route names any of what an unclear call could be. */
export function mayBeProtected(routes: readonly Route[], call: RpcCall): boolean {
  return call.method === "" || routes.some(({ jsonrpc }) => jsonrpc !== null && namesMethod(jsonrpc, call.method));
}

function namedBy(rule: JsonRpcRule, { method, tool }: RpcCall): "required" | "optional" | null {
  if (!namesMethod(rule, method)) return null;
  if (!isSameName(method, TOOLS_CALL)) return "required";
  if (tool === null) return null;
  // Letter by letter: a name that only resembles one that may pass does not.
  if (rule.optional.some((pattern) => matchesNamePattern(pattern, tool))) return "optional";
  return rule.tools.some((pattern) => resembles(pattern, tool)) ? "required" : null;
}

function namesMethod({ methods }: JsonRpcRule, method: string): boolean {
  return methods.some((pattern) => resembles(pattern, method));
}

/** Also in another case, or with spaces around it: some server may take it for the same. */
function resembles(pattern: string, name: string): boolean {
  return matchesNamePattern(pattern.toLowerCase(), name.trim().toLowerCase());
}

/** `*` stands for any text. */
export function matchesNamePattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return name === first;
  const last = rest.at(-1) ?? "";
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false;
  let at = first.length;
  const end = name.length - last.length;
  for (const piece of rest.slice(0, -1)) {
    const found = name.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
