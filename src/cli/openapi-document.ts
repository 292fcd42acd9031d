// An OpenAPI description as text, and what is added to it as an Overlay in the same language, YAML or JSON.

import { parseDocument, stringify } from "yaml";
import { messageOf } from "./exit-codes.ts";
import type { Addition } from "./openapi-additions.ts";
import { type Members, membersOf } from "./openapi-operations.ts";

export interface Description {
  readonly members: Members;
  readonly isJson: boolean;
}

/** The description, or what is wrong with the text, with the line where that is known. */
export function readDescription(text: string): Description | { readonly problem: string } {
  // JSON is YAML.
  const isJson = text.trimStart().startsWith("{");
  const language = isJson ? "JSON" : "YAML";
  const document = parseDocument(text, { prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error?.code === "MULTIPLE_DOCS") return { problem: ": it holds several documents: keep the one with the paths" };
  if (error !== undefined) {
    const line = error.linePos?.[0];
    const where = line === undefined ? "" : `:${line.line}:${line.col}`;
    return {
      problem: `${where}: not valid ${language}: ${error.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "")}`,
    };
  }
  let read: unknown;
  try {
    read = document.toJS();
  } catch (failure) {
    return { problem: `: not valid ${language}: ${messageOf(failure)}` };
  }
  const members = membersOf(read);
  const { openapi, swagger, paths } = members;
  if (swagger !== undefined) return { problem: ": Swagger 2.0 is too old: convert it to OpenAPI 3 first" };
  if (!/^3\.\d/.test(String(openapi)))
    return { problem: ': no OpenAPI description: write openapi: "3.1.0" at its top' };
  if (Object.keys(membersOf(paths)).length === 0) return { problem: ": it has no paths" };
  return { members, isJson };
}

/** The additions as an OpenAPI Overlay 1.0.0. */
export function overlayText({ members, isJson }: Description, additions: readonly Addition[]): string {
  const { title, version } = membersOf(members["info"]);
  const overlay = {
    overlay: "1.0.0",
    info: {
      title: `Idempotency keys of ${typeof title === "string" ? title : "the API"}`,
      version: typeof version === "string" ? version : "1",
    },
    actions: additions.map(({ at, update }) => ({ target: `$${at.map(jsonPathOf).join("")}`, update })),
  };
  return isJson
    ? `${JSON.stringify(overlay, null, 2)}\n`
    : stringify(overlay, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A member as RFC 9535 writes it. */
function jsonPathOf(name: string): string {
  return `['${name.replaceAll(/['\\]/g, String.raw`\$&`)}']`;
}
