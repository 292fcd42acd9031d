// The check `package`: packs the archive, and looks at it as npm's users and TypeScript's would.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** Compressed. */
const MAX_BYTES = 795_000;

const folder = mkdtempSync(join(tmpdir(), "onceway-check-package-"));
try {
  run("node", ["src/cli/pack-package.ts", folder]);
  const [archive] = readdirSync(folder);
  if (archive === undefined) throw new Error("nothing was packed");
  const file = join(folder, archive);
  run("publint", ["run", file, "--strict"]);
  // The package is for bundlers and for Node's ES modules; the schema and the manifest have no types.
  run("attw", [file, "--profile", "esm-only", "--format", "ascii", "--quiet"]);
  const { size } = statSync(file);
  console.log(`${archive}: ${size} bytes, at most ${MAX_BYTES}`);
  if (size > MAX_BYTES) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: PROJECT, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
