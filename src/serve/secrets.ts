// Where a self-hosted gateway's secrets come from: a file of NAME=value lines, or the environment. Their values go into
// the environment of workerd and nowhere else: no message, no file, no command line.

import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";

import type { ConfigProblem } from "../config/resolved.ts";

export interface SecretSources {
  readonly file: string | null;
  /** Names that the environment or the file must have. */
  readonly required: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names of bindings that are no secrets. */
  readonly taken: readonly string[];
}

export interface Secrets {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly ConfigProblem[];
}

export function readSecrets({ file, required, environment, taken }: SecretSources): Secrets {
  const problems: ConfigProblem[] = [];
  const values = new Map<string, string>();
  if (file !== null) {
    try {
      const lines = parseEnv(readFileSync(file, "utf8"));
      for (const [name, value] of Object.entries(lines)) if (value !== undefined) values.set(name, value);
    } catch (error) {
      // The system's own words name the file, and nothing of what stands in it.
      problems.push({ path: file, message: `cannot be read (${error instanceof Error ? error.message : "unknown"})` });
    }
  }
  for (const name of required) {
    const value = values.get(name) ?? environment[name];
    if (value !== undefined && value !== "") values.set(name, value);
    else
      problems.push({ path: name, message: "is a secret without a value: set it in the environment or in --secrets" });
  }
  for (const name of values.keys()) {
    // A configuration that came this way would be one that nobody has checked.
    if (!taken.includes(name) && name !== "IDEMPOTENCY" && !name.startsWith("ROUTES")) continue;
    problems.push({ path: name, message: "is no secret: write it in wrangler.toml" });
  }
  return { values: Object.fromEntries(values), problems };
}
