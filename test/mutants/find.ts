// Finds the places where one small change makes other code of a source file: its mutants. Pure, so that a seed chooses the same
// mutants again.

import { parseAst } from "vitest/node";

/** One change of a file: `text` instead of what stands from `start` to `end`. */
export interface Mutant {
  /** `FILE:LINE:COLUMN:KIND`, and the text where one place has several changes of a kind. */
  readonly id: string;
  readonly file: string;
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type Kind =
  | "condition"
  | "comparison"
  | "logic"
  | "fallback"
  | "arithmetic"
  | "statement"
  | "early-return"
  | "number"
  | "boolean"
  | "string"
  | "sql";

type Change = readonly [kind: Kind, start: number, end: number, text: string];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const OPERATORS: Readonly<Record<string, readonly [Kind, string]>> = {
  "<": ["comparison", "<="],
  "<=": ["comparison", "<"],
  ">": ["comparison", ">="],
  ">=": ["comparison", ">"],
  "===": ["comparison", "!=="],
  "!==": ["comparison", "==="],
  "&&": ["logic", "||"],
  "||": ["logic", "&&"],
  "+": ["arithmetic", "-"],
  "-": ["arithmetic", "+"],
};

/** Statements in a text of SQL, and the changes of their operators. */
const SQL = /\b(?:SELECT|UPDATE|DELETE|INSERT|WHERE|AND|ORDER BY)\b/u;
const SQL_OPERATORS = / (?:<=?|>=?|AND|OR|DESC|IS NOT NULL|IS NULL|\+|-) /gu;
const SQL_CHANGES: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  AND: "OR",
  OR: "AND",
  DESC: "ASC",
  "IS NOT NULL": "IS NULL",
  "IS NULL": "IS NOT NULL",
  "+": "-",
  "-": "+",
};

/** All mutants of a file, in the order of their places. Whether the types allow them is not looked at. */
export function findMutants(file: string, source: string): readonly Mutant[] {
  const lang = file.endsWith("x") ? "tsx" : "ts";
  const program: unknown = parseAst(source, { lang });
  const words = new Set<string>();
  const changes: Change[] = [];
  visit(program, (node) => {
    if (node.type === "Literal" && typeof node["value"] === "string" && /^[a-z][a-z_-]+$/u.test(node["value"]))
      words.add(node["value"]);
  });
  visit(program, (node) => changes.push(...changesOf(node, source, [...words])));
  const order = changes.toSorted((one, other) => one[1] - other[1]);
  return order.map(([kind, start, end, text]) => {
    const before = source.slice(0, start).split("\n");
    const place = `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}:${kind}`;
    const isAlone = order.filter((other) => other[0] === kind && other[1] === start).length === 1;
    return { id: isAlone ? place : `${place}:${text}`, file, kind, start, end, text };
  });
}

export function mutate(source: string, { start, end, text }: Mutant): string {
  return source.slice(0, start) + text + source.slice(end);
}

/** The lines that a mutant changes, as they were and as they are, without what surrounds them. */
export function linesOf(source: string, mutant: Mutant): readonly [before: string, after: string] {
  const first = source.lastIndexOf("\n", mutant.start - 1) + 1;
  const end = source.indexOf("\n", mutant.end);
  const last = end === -1 ? source.length : end;
  const after = mutate(source, mutant).slice(first, last + mutant.text.length - (mutant.end - mutant.start));
  return [source.slice(first, last).trim(), after.trim()];
}

function changesOf(node: Node, source: string, words: readonly string[]): readonly Change[] {
  const { type, start, end } = node;
  const text = source.slice(start, end);
  switch (type) {
    case "IfStatement":
    case "ConditionalExpression":
      return [
        ...negated(node["test"], source),
        ...(isEarlyReturn(node) ? [["early-return", start, end, ""] as const] : []),
      ];
    case "BinaryExpression":
    case "LogicalExpression":
      return operatorChanges(node, source);
    case "ExpressionStatement":
      return isRemovable(node["expression"]) ? [["statement", start, end, ";"]] : [];
    case "TemplateElement":
      return sqlChanges(start, text);
    case "Literal":
      return literalChanges(node, text, words);
    default:
      return [];
  }
}

function negated(test: unknown, source: string): readonly Change[] {
  if (!isNode(test)) return [];
  return [["condition", test.start, test.end, `!(${source.slice(test.start, test.end)})`]];
}

/** An `if` without `else` that leaves the function or the turn of a loop. */
function isEarlyReturn({ type, consequent, alternate }: Node): boolean {
  if (type !== "IfStatement" || isNode(alternate) || !isNode(consequent)) return false;
  const body: unknown = consequent.type === "BlockStatement" ? consequent["body"] : [consequent];
  const last: unknown = Array.isArray(body) ? body.at(-1) : undefined;
  return (
    isNode(last) && ["ReturnStatement", "ThrowStatement", "ContinueStatement", "BreakStatement"].includes(last.type)
  );
}

function operatorChanges(node: Node, source: string): readonly Change[] {
  const { left, right } = node;
  const operator = String(node["operator"]);
  if (!isNode(left) || !isNode(right)) return [];
  if (operator === "??") {
    return [
      ["fallback", node.start, node.end, `(${source.slice(left.start, left.end)})`],
      ["fallback", node.start, node.end, `(${source.slice(right.start, right.end)})`],
    ];
  }
  const change = OPERATORS[operator];
  if (change === undefined) return [];
  const [kind, other] = change;
  const between = source.slice(left.end, right.start);
  const at = left.end + between.indexOf(` ${operator}`) + 1;
  // Without parentheses, `a && b || c` would group in another way than the change means.
  if (kind !== "logic") return [[kind, at, at + operator.length, other]];
  const sides = [source.slice(left.start, at), source.slice(at + operator.length, right.end)];
  return [[kind, left.start, right.end, `(${sides.join(other)})`]];
}

/** A call, an assignment or a deletion, but not the call of a parent's constructor, and no directive. */
function isRemovable(expression: unknown): boolean {
  if (!isNode(expression)) return false;
  if (expression.type === "AwaitExpression") return isRemovable(expression["argument"]);
  const callee = expression["callee"];
  if (expression.type === "CallExpression") return isNode(callee) && callee.type !== "Super";
  return ["AssignmentExpression", "UpdateExpression", "UnaryExpression"].includes(expression.type);
}

function literalChanges({ value, start, end }: Node, text: string, words: readonly string[]): readonly Change[] {
  if (typeof value === "boolean") return [["boolean", start, end, String(!value)]];
  if (typeof value === "number")
    return [value + 1, value - 1].map(
      (other) => ["number", start, end, other < 0 ? `(${other})` : String(other)] as const,
    );
  if (typeof value !== "string") return [];
  if (SQL.test(value)) return sqlChanges(start, text);
  const at = words.indexOf(value);
  const other = words[(at + 1) % words.length];
  return at === -1 || other === undefined || other === value ? [] : [["string", start, end, JSON.stringify(other)]];
}

function sqlChanges(start: number, text: string): readonly Change[] {
  if (!SQL.test(text)) return [];
  return [...text.matchAll(SQL_OPERATORS)].flatMap(({ 0: found, index }): readonly Change[] => {
    const operator = found.trim();
    const other = SQL_CHANGES[operator];
    return other === undefined ? [] : [["sql", start + index + 1, start + index + 1 + operator.length, other]];
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** Every node but types and what imports and exports name. */
function visit(value: unknown, see: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, see);
  if (!isNode(value) || (value.type.startsWith("TS") && !/^TS(?:As|Satisfies|NonNull)Expression$/u.test(value.type)))
    return;
  if (value.type.startsWith("Import") || value.type.startsWith("ExportAll")) return;
  see(value);
  for (const [name, member] of Object.entries(value)) if (name !== "source") visit(member, see);
}
