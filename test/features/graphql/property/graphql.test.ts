// Which documents are mutations, against the reference implementation: whatever it would execute as a mutation is one here, and
// whatever it executes as something else passes.

import fc from "fast-check";
import { getOperationAST, Kind, parse } from "graphql";
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
}

/** What the reference implementation would execute; `null` if nothing. */
function executed(source: string, operationName: string | null): Execution | null {
  try {
    const parsed = parse(source);
    const kind = getOperationAST(parsed, operationName)?.operation;
    const names = parsed.definitions.flatMap((one) =>
      one.kind === Kind.OPERATION_DEFINITION ? [one.name?.value] : [],
    );
    return kind === undefined ? null : { kind, isValid: new Set(names).size === names.length };
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
