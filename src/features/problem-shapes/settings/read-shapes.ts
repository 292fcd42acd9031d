// Reads the variable `PROBLEMS`: a table with a table for each shape. Reports every problem with its path. A shape that would hide from clients
// whether a retry is safe is refused.

import * as v from "valibot";

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import { nearestName } from "../../../kernel/config/nearest-name.ts";
import {
  isShapedCode,
  type ProblemShape,
  SHAPED_CODES,
  type ShapedCode,
  type ShapeNode,
  type ShapeWord,
} from "../../../kernel/config/problem-shape.ts";
import { dottedPath, isTable, memberProblem, unknownMembers } from "../../../kernel/config/table.ts";
import type { ParsedSetting } from "../../../kernel/config/units.ts";
import { BUILT_IN_SHAPES } from "../built-in-shapes.ts";
import { isValueName, OWN_VALUES, parseShapeBody, pointersIn } from "../parse-shape.ts";
import { PLAIN, SHAPE_DEFAULTS, shapeEntries, shapeSchema, type WrittenShape } from "./shape-entries.ts";

export interface ShapesReading {
  readonly shapes: readonly ProblemShape[];
  /** Also those that have problems. */
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

const ADVICE = 'write [vars.PROBLEMS.acme] with body = { error = "{code}", message = "{detail}" }';

/** As a setting and a path of the configuration can show it. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The words that all codes may have. */
const DEFAULT = "default";

export function readShapes(variable: ParsedSetting<unknown>): ShapesReading {
  if (!variable.ok) return refuseAll(variable.message);
  if (!isTable(variable.value)) return refuseAll(`must be a table of shapes: ${ADVICE}`);
  const shapes: ProblemShape[] = [];
  const problems: ConfigProblem[] = [];
  for (const [name, value] of Object.entries(variable.value)) {
    const path = `PROBLEMS${dottedPath([name])}`;
    const read = readShape(name, value, path);
    if ("problems" in read) problems.push(...read.problems);
    else shapes.push(read);
  }
  return { shapes, names: Object.keys(variable.value), problems };
}

function refuseAll(message: string): ShapesReading {
  return { shapes: [], names: [], problems: [{ path: "PROBLEMS", message }] };
}

interface Refused {
  readonly problems: readonly ConfigProblem[];
}

function readShape(name: string, value: unknown, path: string): ProblemShape | Refused {
  if (!NAME.test(name) || name === PLAIN || BUILT_IN_SHAPES.some((one) => one === name)) {
    const message = `must have a name of its own, of 1 to 64 letters, digits, hyphens and underscores: write [vars.PROBLEMS.acme]`;
    return { problems: [{ path, message }] };
  }
  if (!isTable(value)) return { problems: [{ path, message: `must be a table: ${ADVICE}` }] };
  const unknown = unknownMembers(value, path, Object.keys(shapeEntries));
  const missing: readonly ConfigProblem[] =
    value["body"] === undefined
      ? [{ path: `${path}.body`, code: "setting-missing", message: `is missing: ${ADVICE}` }]
      : [];
  if (unknown.length + missing.length > 0) return { problems: [...unknown, ...missing] };
  const read = v.safeParse(shapeSchema, value);
  if (!read.success) return { problems: read.issues.map((issue) => memberProblem(pathTo(path, issue), issue)) };
  return shapeOf(name, { ...SHAPE_DEFAULTS, ...read.output }, path);
}

function pathTo(path: string, issue: v.BaseIssue<unknown>): string {
  return path + dottedPath(issue.path?.map(({ key }) => key) ?? []);
}

function shapeOf(name: string, { type, body, codes }: Required<WrittenShape>, path: string): ProblemShape | Refused {
  const { node, names } = parseShapeBody(body);
  const isRpc = isRpcResponse(node);
  const problems = [...codeProblems(codes, isRpc, path), ...valueProblems(names, codes, path)];
  if (problems.length > 0) return { problems };
  const pointers = [...new Set([...pointersIn(names), ...(isRpc ? ["/id"] : [])])];
  return { name, contentType: type, body: node, words: codes, isRpc, pointers };
}

function isRpcResponse(body: ShapeNode): boolean {
  return body.kind === "object" && body.members.some(([name]) => name === "jsonrpc");
}

type Codes = Required<WrittenShape>["codes"];

function codeProblems(codes: Codes, isRpc: boolean, path: string): readonly ConfigProblem[] {
  return Object.entries(codes).flatMap(([code, words]): readonly ConfigProblem[] => {
    const at = `${path}.codes${dottedPath([code])}`;
    if (code !== DEFAULT && !isShapedCode(code)) {
      const nearest = nearestName(code, [DEFAULT, ...SHAPED_CODES]);
      const advice =
        nearest === null ? `write one of ${SHAPED_CODES.join(", ")}, or ${DEFAULT}` : `did you mean "${nearest}"?`;
      return [{ path: at, code: "setting-unknown", message: `is no code of a problem that has a shape: ${advice}` }];
    }
    if (words["status"] === undefined) return [];
    const wrong = (code === DEFAULT ? SHAPED_CODES : [code]).flatMap(
      (one) => statusProblem(one, codes[one]?.["status"] ?? words["status"] ?? null, isRpc) ?? [],
    );
    const [message] = wrong;
    return message === undefined ? [] : [{ path: `${at}.status`, message }];
  });
}

/** Why a code may not have this status; `null`: it may. */
function statusProblem(code: ShapedCode, status: ShapeWord, isRpc: boolean): string | null {
  const isError = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599;
  if (!isError && !(isRpc && status === 200)) {
    return "must be a status from 400 to 599, because clients would take any other for a success: write status = 409";
  }
  switch (code) {
    case "store-unavailable":
    case "identity-unavailable":
      return status === 424 || status >= 500 || isRpc
        ? null
        : `must be 424 or from 500 to 599 for ${code}, which says nothing about the request: write status = 503`;
    case "credential-invalid":
      return status === 400 || status === 401 || status === 403 || (isRpc && status === 200)
        ? null
        : `must be 400, 401 or 403 for ${code}: write status = 401`;
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "key-reused":
    case "too-many-keys":
    case "in-flight":
    case "outcome-unknown":
    case "response-not-kept":
    case "key-expired":
    case "key-abandoned":
    case "repeated-content":
    case "body-too-large":
    case "origin-unreachable":
    case "origin-dropped":
    case "origin-timeout":
      return null;
  }
}

/** Every value that the body names has to be one. */
function valueProblems(names: readonly string[], codes: Codes, path: string): readonly ConfigProblem[] {
  const words = [...new Set(Object.values(codes).flatMap((one) => Object.keys(one)))];
  const unknown = [...new Set(names)].filter((name) => !isValueName(name, words));
  return unknown.map((name) => {
    const known = [...OWN_VALUES, ...words];
    const nearest = nearestName(name, known);
    const advice =
      nearest === null
        ? `write one of ${known.map((one) => `{${one}}`).join(", ")}, {json:/POINTER}, or a word in codes.default`
        : `did you mean "{${nearest}}"?`;
    return { path: `${path}.body`, message: `{${name}} stands for no value: ${advice}` };
  });
}
