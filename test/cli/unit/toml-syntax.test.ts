// What to do about a file that is not TOML, where the advice depends on the gateway's variables. Each other mistake has its approved words.

import { parse, TomlError } from "smol-toml";
import { expect, it } from "vitest";
import { syntaxFinding } from "../../../src/cli/findings/toml-syntax.ts";
import { LIST_VARIABLES } from "../../../src/cli/variables.ts";

function helpFor(text: string): string | null {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof TomlError) return syntaxFinding(text, error).help;
  }
  throw new Error("This is TOML.");
}

it.each(LIST_VARIABLES.map(([name]) => name))("says of %s, written twice as a table, that it is a list", (name) => {
  for (const header of [`vars.${name}`, `env.staging.vars.${name}_2`]) {
    expect(helpFor(`[${header}]\na = 1\n[${header}]\nb = 2\n`)).toBe(
      `line 1 opens ${header} already: write [[${header}]], with two brackets, above each entry`,
    );
  }
});

it("says of a table that is written twice to put its settings in one place", () => {
  expect(helpFor("[vars.IDEMPOTENCY]\na = 1\n[vars.IDEMPOTENCY]\nb = 2\n")).toBe(
    "line 1 opens vars.IDEMPOTENCY already: put these settings there, because a table is written once",
  );
});
