// Which documents are mutations, and what their keys are, against the reference implementation: whatever it would execute as a mutation is one
// here, whatever it executes as something else passes, and a key says what it says there.

import fc from "fast-check";
import { type DocumentNode, getOperationAST, Kind, parse, visit } from "graphql";
import { expect, it } from "vitest";
import { readDocument } from "../../../../src/features/graphql/graphql-document.ts";

const name = fc.constantFrom("A", "B", "mutation", "query", "fragment");
const space = fc.constantFrom(" ", "\n", ",", " # mutation X { a }\n", " # }\n");
const text = fc.constantFrom(
  '"mutation A { b }"',
  '"""\nmutation A { "quoted" } \\"""\n"""',
  '"\\u006dutation"',
  '"{"',
);
const field = fc.oneof(
  name,
  text.map((one) => `a(b: ${one})`),
  name.map((one) => `${one} @idempotent(key: "k")`),
  name.map((one) => `... on ${one} { c }`),
);
const operation = fc
  .tuple(fc.constantFrom("query", "mutation", "subscription", ""), fc.option(name), field, space)
  .map(([kind, named, one, gap]) =>
    kind === "" ? `{${gap}${one} }` : `${kind}${gap}${named ?? ""}${gap}{${one}${gap}}`,
  );
const definition = fc.oneof(
  { weight: 5, arbitrary: operation },
  { weight: 1, arbitrary: name.map((one) => `fragment F on ${one} { mutation }`) },
  { weight: 1, arbitrary: fc.constantFrom("type mutation { a: Int }", "schema { mutation: M }", "}", '"', "mutation") },
);
const document = fc
  .array(
    fc.tuple(definition, space).map((both) => both.join("")),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => all.join(""));

interface Execution {
  readonly kind: string;
  /** A server refuses documents in which two operations have one name. They may count as mutations. */
  readonly isValid: boolean;
  /** Whether it defines no types. A server refuses those that do. */
  readonly isExecutable: boolean;
}

const EXECUTABLE: ReadonlySet<string> = new Set([Kind.OPERATION_DEFINITION, Kind.FRAGMENT_DEFINITION]);

/** What the reference implementation would execute; `null` if nothing. */
function executed(source: string, operationName: string | null): Execution | null {
  try {
    const parsed = parse(source);
    const kind = getOperationAST(parsed, operationName)?.operation;
    const names = parsed.definitions.flatMap((one) =>
      one.kind === Kind.OPERATION_DEFINITION ? [one.name?.value] : [],
    );
    const isExecutable = parsed.definitions.every(({ kind: one }) => EXECUTABLE.has(one));
    return kind === undefined ? null : { kind, isValid: new Set(names).size === names.length, isExecutable };
  } catch {
    return null;
  }
}

it("a request is a mutation exactly if the reference implementation executes one", () => {
  let [mutations, others] = [0, 0];
  fc.assert(
    fc.property(document, fc.option(name), (source, operationName) => {
      const reading = readDocument(source, operationName === null ? [] : [operationName]);
      const execution = executed(source, operationName);
      if (execution?.kind === "mutation") {
        mutations += 1;
        expect([source, reading.kind]).toEqual([source, "mutation"]);
      } else if (execution?.isValid === true) {
        others += 1;
        expect([source, reading.kind]).toEqual([source, "other"]);
      }
    }),
    { numRuns: 5000 },
  );
  expect(Math.min(mutations, others)).toBeGreaterThan(100);
});

const scrap = fc.constantFrom(
  ...'{ } ( ) [ ] @ @a ... $a : ! | & = . -1 0.5e3 " "" """ \\""" \\ \\u{6d} # mutation query on type extend'.split(
    " ",
  ),
  ..."\n|\r|\0|\u2028|\u00a0|\ufeff|\ud800|... on|$a: A = |scalar A|union A = B|directive @a on QUERY|enum A|A: a".split(
    "|",
  ),
);
const scraps = fc.array(fc.tuple(scrap, fc.nat()), { maxLength: 5 });

/** The document with each scrap somewhere in it. */
function scrappy(source: string, inserted: readonly (readonly [string, number])[]): string {
  return inserted.reduce((scrapped, [one, at]) => {
    const cut = at % (scrapped.length + 1);
    return scrapped.slice(0, cut) + one + scrapped.slice(cut);
  }, source);
}

it("no scrap in a document hides a mutation", () => {
  let [mutations, others] = [0, 0];
  fc.assert(
    fc.property(document, scraps, fc.option(name), (whole, inserted, operationName) => {
      const source = scrappy(whole, inserted);
      const reading = readDocument(source, operationName === null ? [] : [operationName]);
      const execution = executed(source, operationName);
      if (execution?.kind === "mutation") {
        mutations += 1;
        expect([source, reading.kind]).toEqual([source, "mutation"]);
      } else if (execution?.isValid === true && execution.isExecutable) {
        others += 1;
        expect([source, reading.kind]).toEqual([source, "other"]);
      }
    }),
    { numRuns: 20_000 },
  );
  expect(Math.min(mutations, others)).toBeGreaterThan(100);
});

const written = fc.string({
  unit: fc.constantFrom(
    "a",
    " ",
    "\t",
    "\n",
    "\r",
    '"',
    '"""',
    "\\",
    "\\n",
    "\\u0041",
    "\\u{1f600}",
    "\\ud83d\\ude00",
    "\u2028",
    "é",
  ),
});
const given = fc.oneof(
  fc.string({ unit: "binary" }).map((one) => JSON.stringify(one)),
  written.map((one) => `"${one}"`),
  written.map((one) => `"""${one.replaceAll('"""', '\\"""')}"""`),
  fc.integer().map(String),
  fc.constantFrom("1.5", "1e3", "KEY", "null", "true", "[$k]", '{ key: "a" }', "$other", "$k"),
);
const place = fc.constantFrom(
  (value: string) => `mutation($k: [String!]! = ${value}, $other: ID) @a(b: [{ c: "}" }]) @idempotent(key: $k) { pay }`,
  (value: string) =>
    `mutation M($o: A = { key: [1] }, $k: String = ${value} @b) { a: pay(b: { key: 1 }) @idempotent(key: $k) }`,
  (value: string) => `mutation @idempotent(a: $b, c: [1, {}], key: ${value}) { pay }`,
  (value: string) =>
    `mutation { ... on A @idempotent(key: 1) { b } ...C @idempotent(key: 2) pay { on @idempotent } on @idempotent(key: ${value}) @c { d } }`,
);

/** Each key of the mutation's directives, as the reference implementation reads it. */
function keysIn(parsed: DocumentNode): readonly unknown[] {
  const keys: unknown[] = [];
  const said = (value: { readonly kind: string; readonly value?: unknown } | undefined) =>
    value?.kind === Kind.STRING || value?.kind === Kind.INT ? value.value : null;
  const fallbacks = new Map<string, unknown>();
  let depth = 0;
  visit(parsed, {
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue !== undefined) fallbacks.set(variable.name.value, said(defaultValue));
      return false;
    },
    SelectionSet: { enter: () => void (depth += 1), leave: () => void (depth -= 1) },
    InlineFragment: () => false,
    FragmentSpread: () => false,
    Directive: ({ name: { value: called }, arguments: all = [] }) => {
      if (called !== "idempotent" || depth > 1) return;
      const value = all.find((one) => one.name.value === "key")?.value;
      if (value?.kind === Kind.VARIABLE) {
        keys.push({ kind: "variable", name: value.name.value, fallback: fallbacks.get(value.name.value) });
      } else keys.push(said(value) === null ? { kind: "invalid" } : { kind: "text", text: said(value) });
    },
  });
  return keys;
}

it("a key says what it says to the reference implementation", () => {
  let read = 0;
  fc.assert(
    fc.property(given, place, (value, documentWith) => {
      const source = documentWith(value);
      let parsed: DocumentNode;
      try {
        parsed = parse(source);
      } catch {
        return;
      }
      read += 1;
      expect(readDocument(source, [])).toEqual({ kind: "mutation", keys: keysIn(parsed) });
    }),
    { numRuns: 5000 },
  );
  expect(read).toBeGreaterThan(1000);
});
