// Counts the numbers of src/README.md, "Where new things go": how many files of src name one that is there already. The check `house` runs it.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));

interface Example {
  /** What names the example in code. */
  readonly named: RegExp;
  /** The folder whose own files do not count. */
  readonly outside?: string;
}

/** By the first cell of a row. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  "a kind of scope, such as `ip`": { named: /"ip"/ },
  "another store": { named: /\bnew Ledger\(/, outside: "src/kernel/store/" },
  "a setting, such as `key_reused_status`": { named: /\bkey_reused_status\b|\bkeyReusedStatus\b/ },
  "commands of a feature, such as `events`": { named: /\bdefineEvents\b/ },
  "an action on a record, such as `note`": { named: /\bnoteAction\b/ },
  "an action that is not on a record, such as closing a layout": { named: /\bcloseLayout(?:Action)?\b/ },
  "the words of a problem": { named: /"Request in flight"/ },
  "a header of replays, such as `Idempotent-Replayed`": { named: /\bREPLAYED_HEADER\b/ },
};

/** Rows of the table whose number is another one than that of the files, in sentences. `files`: each with its text. */
export function wrongNumbers(
  page: string,
  files: readonly (readonly [path: string, text: string])[],
): readonly string[] {
  const [, table = ""] = /## Where new things go\n([^]*?)\n\n[^|]*$/.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| ([^|]+) \|.*\| (\d*) ?[^|]*\|$/gm)].map(([, thing = "", number = ""]) => ({
    thing,
    number,
  }));
  const counted = rows.filter(({ number }) => number !== "");
  const missing = Object.keys(EXAMPLES).filter((thing) => !counted.some((row) => row.thing === thing));
  return [
    ...missing.map((thing) => `src/README.md has no number of files for "${thing}"`),
    ...counted.flatMap(({ thing, number }) => {
      const example = EXAMPLES[thing];
      if (example === undefined)
        return [`test/new-things.ts has no example of "${thing}", so its number is not counted`];
      const naming = files.filter(
        ([path, text]) =>
          example.named.test(text) && (example.outside === undefined || !path.startsWith(example.outside)),
      );
      return naming.length === Number(number)
        ? []
        : [
            `src/README.md says ${number} for "${thing}", but ${naming.length} files name it: ${naming.map(([path]) => path).join(", ")}`,
          ];
    }),
  ];
}

export function wrongNumbersOfPage(): readonly string[] {
  const paths = globSync("src/**/*.{ts,tsx}", { cwd: PROJECT }).filter((path) => !path.endsWith(".d.ts"));
  const read = (path: string): string => readFileSync(join(PROJECT, path), "utf8");
  return wrongNumbers(
    read("src/README.md"),
    paths.toSorted().map((path) => [path, read(path)] as const),
  );
}
