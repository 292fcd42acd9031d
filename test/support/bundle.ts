// The Worker as wrangler would deploy it, bundled once per state of its sources and shared by all test files and runs:
// the folder under `.wrangler/` is named after a digest of the sources and appears whole or not at all.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { projectCompatibility, projectDir, spawnWrangler, writeWranglerToml } from "./wrangler.ts";

/** A folder with `index.js` and the modules beside it. */
export async function bundleWorker(main: string): Promise<string> {
  const cache = join(projectDir, ".wrangler/test-bundle");
  const bundle = join(cache, await sourceDigest(main));
  if (existsSync(bundle)) return bundle;

  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, "building-"));
  const workDir = await mkdtemp(join(tmpdir(), "onceway-bundle-"));
  try {
    const config = await writeWranglerToml(workDir, { main, vars: {} });
    const wrangler = await spawnWrangler(["deploy", "--dry-run", "--config", config, "--outdir", fresh], workDir);
    await wrangler.exited;
    const entry = (await readdir(fresh)).find((name) => name.endsWith(".js"));
    if (entry === undefined) throw new Error(`the Worker cannot be bundled:\n${wrangler.output()}`);
    if (entry !== "index.js") await rename(join(fresh, entry), join(fresh, "index.js"));
    // Another test process may have been faster; its bundle is as good.
    await rename(fresh, bundle).catch((error: unknown) => {
      if (!existsSync(bundle)) throw error;
    });
    return bundle;
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(workDir, { recursive: true, force: true });
  }
}

async function sourceDigest(main: string): Promise<string> {
  const hash = createHash("sha256").update(main).update(JSON.stringify(projectCompatibility()));
  const folder = dirname(main);
  const names = await readdir(folder, { recursive: true });
  const sources = names
    .filter((name) => [".ts", ".js", ".json", ".html", ".css", ".sql"].includes(extname(name)))
    .toSorted();
  const lockfile = await readFile(join(projectDir, "package-lock.json"));
  hash.update(lockfile);
  for (const name of sources) hash.update(`\n${name}\n`).update(await readFile(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}
