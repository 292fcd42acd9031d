// Reads a published policy (profile, P24). What is missing or odd in it is `null`: a server may publish less.

import type { TargetPolicy } from "./case.ts";
import { problemOf } from "./findings.ts";

/** `null` if the document is none, or has no route for this operation. */
export function readPolicy(body: Buffer, method: string, path: string): TargetPolicy | null {
  const document = problemOf({ body });
  const routes: unknown = document?.["routes"];
  if (document === null || !Array.isArray(routes)) return null;
  const route = routes.filter(isMembers).find((one) => isOf(one, method, path));
  if (route === undefined) return null;
  const key = isMembers(route["key"]) ? route["key"] : {};
  return {
    profile: textOf(document["profile"]),
    isKeyRequired: typeof key["required"] === "boolean" ? key["required"] : null,
    unknownOutcome: textOf(route["unknownOutcome"]),
    mismatchStatus: numberOf(route["mismatchStatus"]),
    retentionSeconds: numberOf(route["retentionSeconds"]),
  };
}

type Members = Readonly<Record<string, unknown>>;

function isOf(route: Members, method: string, path: string): boolean {
  const methods: unknown = route["methods"];
  const pattern = textOf(route["path"]);
  const isMethod = !Array.isArray(methods) || methods.includes(method);
  return isMethod && pattern !== null && matchesPattern(pattern, path);
}

/** `/*` at the end is the path before it and all below it; `:name` and `*` are one segment. */
export function matchesPattern(pattern: string, path: string): boolean {
  const isTail = pattern.endsWith("/*");
  const wanted = (isTail ? pattern.slice(0, -2) : pattern).split("/");
  const given = path.split("/");
  if (isTail ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, at) => segment === given[at] || segment === "*" || segment.startsWith(":"));
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
