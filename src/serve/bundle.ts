// Bundles the Worker as wrangler would deploy it. What is bundled from a checkout is bundled once per version of its sources: the
// bundle's folder under `.wrangler/` is named after a digest of the sources, and it appears complete or not at all, so that several
// processes can share it. A project that has the gateway as a package is bundled each time, since its sources may be anywhere.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { stringify } from "smol-toml";

import { findTools } from "./tools.ts";
import type { WorkerCompatibility } from "./workerd-config.ts";

const projectDir = fileURLToPath(new URL("../../", import.meta.url));

/** Writes `index.js` and its modules into an empty folder. `main` as for `bundleWorker`. Throws if wrangler cannot bundle it. */
export async function bundleInto(folder: string, main: string, compatibility: WorkerCompatibility): Promise<void> {
  const isCheckout = main.startsWith(projectDir) && existsSync(join(projectDir, "package-lock.json"));
  if (!isCheckout) return writeBundle(folder, main, compatibility);
  const bundle = await bundleWorker(main, compatibility);
  // `cp` would keep the modes of the files, and whoever made the bundle may have let everybody read them.
  for (const name of await readdir(bundle)) await writeFile(join(folder, name), await readFile(join(bundle, name)));
}

/**
 * Returns a folder with `index.js` and its modules. `main` is the absolute path of the Worker's entry. Throws if wrangler
 * cannot bundle it.
 */
export async function bundleWorker(main: string, compatibility: WorkerCompatibility): Promise<string> {
  const cache = join(projectDir, ".wrangler/bundle");
  const bundle = join(cache, await sourceDigest(main, compatibility));
  if (existsSync(bundle)) return bundle;

  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, "building-"));
  try {
    await writeBundle(fresh, main, compatibility);
    // Another process may have made the same bundle first; use that one.
    await rename(fresh, bundle).catch((error: unknown) => {
      if (!existsSync(bundle)) throw error;
    });
    return bundle;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function writeBundle(folder: string, main: string, compatibility: WorkerCompatibility): Promise<void> {
  const workDir = await mkdtemp(join(tmpdir(), "onceway-bundle-"));
  try {
    await runWrangler(findTools(main).wrangler, await writeToml(workDir, main, compatibility), folder, workDir);
    const entry = (await readdir(folder)).find((name) => name.endsWith(".js"));
    if (entry === undefined) throw new Error(`${main} cannot be bundled: wrangler wrote no module`);
    if (entry !== "index.js") await rename(join(folder, entry), join(folder, "index.js"));
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** Contains only what affects the bundle, so neither variables nor routes. */
async function writeToml(dir: string, main: string, { date, flags }: WorkerCompatibility): Promise<string> {
  const path = join(dir, "wrangler.toml");
  // As the project's own wrangler.toml: to keep the names, each closure would get its own by a call when it is made.
  const names = { keep_names: false };
  const config = { name: "onceway", main, compatibility_date: date, compatibility_flags: [...flags], ...names };
  await writeFile(path, stringify(config));
  return path;
}

async function runWrangler(bin: string, config: string, outdir: string, cwd: string): Promise<void> {
  // The caller may run under a module loader (a test runner's, for example), which wrangler must not inherit.
  const env = { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1", WRANGLER_HIDE_BANNER: "true" };
  const quiet = { WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false", CLOUDFLARE_TELEMETRY_DISABLED: "1" };
  const args = [bin, "deploy", "--dry-run", "--config", config, "--outdir", outdir];
  await promisify(execFile)(process.execPath, args, { cwd, env: { ...env, ...quiet } });
}

async function sourceDigest(main: string, compatibility: WorkerCompatibility): Promise<string> {
  const hash = createHash("sha256").update(main).update(JSON.stringify(compatibility));
  const lockfile = await readFile(join(projectDir, "package-lock.json"));
  hash.update(lockfile);
  // An entry outside the sources imports them.
  for (const folder of new Set([dirname(main), join(projectDir, "src")])) {
    for (const name of await sourcesIn(folder)) hash.update(`\n${name}\n`).update(await readFile(join(folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function sourcesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => [".ts", ".tsx", ".js", ".json", ".html", ".css", ".sql"].includes(extname(name)))
    .toSorted();
}
