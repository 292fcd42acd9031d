// Writes a problem in a shape. The body is built as JSON text from the shape's nodes: a value becomes a JSON value or a part of a string, and
// nothing else, so no value can end a string or add a member. Pure.

import type { ProblemShape, ShapedCode, ShapeNode, ShapeWord, ShapeWords } from "../../kernel/config/problem-shape.ts";
import type { RepeatedValues } from "../../kernel/request-feature.ts";

/** A problem, as RFC 9457 has it. */
export interface ShapableProblem {
  readonly code: ShapedCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly retryable: boolean;
  /** What exactly is wrong: the problem's own `fault`, or `missing` for a credential; `null`: nothing more is said. */
  readonly fault: string | null;
  /** In seconds; `null`: nobody can say. */
  readonly retryAfter: number | null;
  readonly instance: string | null;
  /** All of it, as JSON text. */
  readonly text: string;
}

export interface ShapedProblem {
  readonly status: number;
  readonly body: string;
}

/** In a request's own body: where JSON-RPC has its id. */
const ID = "/id";

export function applyShape(problem: ShapableProblem, shape: ProblemShape, repeated: RepeatedValues): ShapedProblem {
  const words = wordsFor(problem, shape);
  const { status: said } = words;
  const status = typeof said === "number" ? said : problem.status;
  const valueOf = (name: string): string => {
    if (name.startsWith("json:")) return repeated.get(name.slice("json:".length)) ?? "null";
    if (name === "problem") return problem.text;
    const word = words[name];
    return JSON.stringify(word === undefined ? ownValue(name, problem, status) : word);
  };
  const body = write(shape.bodies?.[String(words["code"])] ?? shape.body, valueOf);
  return { status: shape.isRpc ? rpcStatus(status, (repeated.get(ID) ?? "null") !== "null") : status, body };
}

function wordsFor({ code, retryable, fault }: ShapableProblem, { words }: ProblemShape): ShapeWords {
  return {
    ...words["default"],
    ...words[code],
    ...(retryable ? words[`${code}.retryable`] : null),
    ...(fault === null ? null : words[`${code}.${fault}`]),
  };
}

/**
 * A client reads a JSON-RPC response only with 200. 401 starts its authorization, and 413 says that nobody has read the request. Without an id no client
 * finds its call by the body: the status alone says whether to try again.
 */
function rpcStatus(status: number, hasId: boolean): number {
  if (status === 401 || status === 413) return status;
  if (hasId) return 200;
  return status < 400 ? 400 : status;
}

function ownValue(name: string, problem: ShapableProblem, status: number): ShapeWord {
  switch (name) {
    case "code":
      return problem.code;
    case "status":
      return status;
    case "title":
      return problem.title;
    case "detail":
      return problem.detail;
    case "retryable":
      return problem.retryable;
    case "retryAfter":
      return problem.retryAfter;
    case "instance":
      return problem.instance;
    default:
      return null;
  }
}

/** The JSON text of a node. `valueOf`: that of a value, by its name. */
function write(node: ShapeNode, valueOf: (name: string) => string): string {
  switch (node.kind) {
    case "literal":
      return JSON.stringify(node.value);
    case "value":
      return valueOf(node.name);
    case "text":
      return JSON.stringify(
        node.pieces.map((piece) => (typeof piece === "string" ? piece : plainText(valueOf(piece.name)))).join(""),
      );
    case "list":
      return `[${node.items
        .filter((item) => isThere(item, valueOf))
        .map((item) => write(item, valueOf))
        .join(",")}]`;
    case "object":
      return `{${node.members
        .filter(([, member]) => isThere(member, valueOf))
        .map(([name, member]) => `${JSON.stringify(name)}:${write(member, valueOf)}`)
        .join(",")}}`;
    case "json-text":
      return JSON.stringify(write(node.of, valueOf));
  }
}

function isThere(node: ShapeNode, valueOf: (name: string) => string): boolean {
  return node.kind !== "value" || !node.isOptional || valueOf(node.name) !== "null";
}

/** A JSON value within a text: a string as it is, nothing for null, and any other as JSON writes it. */
function plainText(json: string): string {
  if (json === "null") return "";
  const value: unknown = json.startsWith('"') ? JSON.parse(json) : json;
  return typeof value === "string" ? value : json;
}
