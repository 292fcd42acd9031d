// The check `package`: packs the archive, and looks at it as npm's users and TypeScript's would.

import { buildSync } from "esbuild";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
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
  for (const problem of foreignImports()) {
    console.error(problem);
    process.exitCode = 1;
  }
  const { size } = statSync(file);
  console.log(`${archive}: ${size} bytes, at most ${MAX_BYTES}`);
  if (size > MAX_BYTES) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** What the package's modules import that its users do not have: they get `dependencies` alone. */
function foreignImports(): readonly string[] {
  const { dependencies }: { readonly dependencies: object } = JSON.parse(
    readFileSync(join(PROJECT, "package.json"), "utf8"),
  );
  const has = (module: string): boolean =>
    /^(?:node|cloudflare):/.test(module) ||
    Object.keys(dependencies).some((name) => `${module}/`.startsWith(`${name}/`));
  const { metafile } = buildSync({
    entryPoints: ["dist/cli/onceway.js", ...globSync("dist/{*,client/index}.js", { cwd: PROJECT })],
    absWorkingDir: PROJECT,
    outdir: "unwritten",
    write: false,
    metafile: true,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    external: ["cloudflare:*"],
    logLevel: "error",
  });
  return Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
    imports.flatMap(({ path, external }) =>
      external === true && !has(path) ? [`${file} imports ${path}, which is no dependency`] : [],
    ),
  );
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: PROJECT, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
