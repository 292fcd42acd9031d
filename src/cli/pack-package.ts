// `npm run pack [-- FOLDER]`: makes the package's archive, onceway-VERSION.tgz, in the folder (default: this one). It is packed from a
// folder of its own, whose package.json has ranges where this repository has exact versions, and whose code has no comments. The root is
// private, so that nothing else is ever published: `npm publish onceway-VERSION.tgz` does that.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync, transformSync } from "esbuild";
import * as v from "valibot";
import { packedFiles, packedPage } from "./packed-files.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

const versions = v.record(v.string(), v.string());
const manifestSchema = v.looseObject({
  version: v.string(),
  repository: v.object({ type: v.string(), url: v.string() }),
  dependencies: versions,
  devDependencies: versions,
  peerDependencies: versions,
});
type Manifest = v.InferOutput<typeof manifestSchema>;

/** Published as CommonJS that requires ES modules, which Vite's test runner cannot load: their code becomes part of the file that imports them. */
const INLINED: ReadonlySet<string> = new Set(["itty-durable", "itty-router"]);
const INLINED_IN = "kernel/object/itty.js";

/** One file: nothing else of the package imports a part of it, and pages load it whole. */
const CLIENT = "client";

/** What `onceway init` writes into a project's package.json. */
const TOOLS = ["node", "wrangler"];

/** Members that only a checkout needs. */
const OF_CHECKOUT: ReadonlySet<string> = new Set(["private", "scripts", "allowScripts"]);

function manifestOf(root: Manifest): object {
  const { dependencies, devDependencies, ...rest } = root;
  const kept = Object.entries(rest).filter(([name]) => !OF_CHECKOUT.has(name));
  // Hono is the user's own: an application would otherwise bundle two.
  const { hono, ...others } = dependencies;
  if (hono === undefined) throw new Error("package.json has no hono");
  const needed = Object.entries(others).filter(([name]) => !INLINED.has(name));
  return {
    ...Object.fromEntries(kept),
    dependencies: Object.fromEntries(needed.map(([name, version]) => [name, `^${version}`])),
    devDependencies: Object.fromEntries(TOOLS.map((name) => [name, devDependencies[name]])),
  };
}

/** All folders but those of the client and of the decisions, where the names in a stack trace matter. */
const APART = /^(?!client\/|kernel\/record\/).*\//;

/** Without comments and spaces. Names stay in the client and in what decides, so that a stack trace can be read. */
function strip(folder: string, name: string): void {
  const file = join(folder, name);
  const identifiers = APART.test(name.replaceAll("\\", "/"));
  const { code } = transformSync(readFileSync(file, "utf8"), {
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: identifiers,
    legalComments: "inline",
    format: "esm",
    target: "es2023",
  });
  writeFileSync(file, code);
}

function copied(path: string, text: string): string {
  if (path.endsWith(".md")) return packedPage(path, text, packed, at);
  return path.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text;
}

function inline(file: string, banner = ""): void {
  buildSync({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2023",
    nodePaths: [join(PROJECT, "node_modules")],
    external: ["cloudflare:*"],
    banner: { js: banner },
  });
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: "inherit" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`);
}

run(process.execPath, [join(PROJECT, "src/cli/build-package.ts")], PROJECT);
const root = v.parse(manifestSchema, JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")));
const packed: ReadonlySet<string> = new Set(packedFiles(PROJECT));
const at = { repository: root.repository.url.replaceAll(/^git\+|\.git$/g, ""), version: root.version };
const stage = mkdtempSync(join(tmpdir(), "onceway-package-"));
try {
  cpSync(join(PROJECT, "dist"), join(stage, "dist"), { recursive: true });
  inline(
    join(stage, "dist", INLINED_IN),
    "/*! With itty-durable and itty-router, (c) Kevin R. Whitley, MIT License. */",
  );
  const client = join(stage, "dist", CLIENT);
  inline(join(client, "index.js"));
  for (const name of readdirSync(client)) if (name.endsWith(".js") && name !== "index.js") rmSync(join(client, name));
  for (const name of readdirSync(join(stage, "dist"), { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".js")) strip(join(stage, "dist"), name);
    if (name.endsWith(".json"))
      writeFileSync(join(stage, "dist", name), copied(name, readFileSync(join(stage, "dist", name), "utf8")));
  }
  for (const path of packed) {
    const text = readFileSync(join(PROJECT, path), "utf8");
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    writeFileSync(join(stage, path), copied(path, text));
  }
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifestOf(root), null, 2)}\n`);
  run("npm", ["pack", stage, "--silent", "--pack-destination", resolve(process.argv[2] ?? ".")], PROJECT);
} finally {
  rmSync(stage, { recursive: true, force: true });
}
