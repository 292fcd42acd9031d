// Reads a self-hosted gateway's secrets from a file of NAME=value lines and from the environment. Their values go into
// workerd's environment only; they must never appear in a message, a file or a command line.

import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";

import { isConfiguration } from "../kernel/config/read.ts";
import type { ConfigProblem } from "../kernel/config/resolved.ts";

export interface SecretSources {
  /** The path of the file; `null` for none. */
  readonly file: string | null;
  /** Names that must have a value in the file or the environment. The file wins. */
  readonly required: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Names that other bindings already have. */
  readonly taken: readonly string[];
}

export interface ServeSecrets {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly ConfigProblem[];
}

/** The values, and a problem for each secret that is missing or may not be one. */
export function readSecrets({ file, required, environment, taken }: SecretSources): ServeSecrets {
  const problems: ConfigProblem[] = [];
  const values = new Map<string, string>();
  if (file !== null) {
    try {
      const lines = parseEnv(readFileSync(file, "utf8"));
      for (const [name, value] of Object.entries(lines)) if (value !== undefined) values.set(name, value);
    } catch (error) {
      // The system's message names the file and quotes nothing from it.
      problems.push({ path: file, message: `cannot be read (${error instanceof Error ? error.message : "unknown"})` });
    }
  }
  for (const name of required) {
    const value = values.get(name) ?? environment[name];
    if (value !== undefined && value !== "") values.set(name, value);
    else
      problems.push({
        path: name,
        message: "is a required secret without a value: set it in the environment or in the --secrets file",
      });
  }
  for (const name of values.keys()) {
    // Configuration that came as a secret would bypass the checks of wrangler.toml.
    if (!taken.includes(name) && !isConfiguration(name)) continue;
    problems.push({ path: name, message: "is not a secret: write it in wrangler.toml" });
  }
  return { values: Object.fromEntries(values), problems };
}
