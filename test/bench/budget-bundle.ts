// The bundle of the counting gateway (budget/index.ts). Its async functions are written without `async`, so that what they make can be counted.

import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transform } from "esbuild";
import { bundleWorker } from "../../src/serve/bundle.ts";
import { projectCompatibility, projectDir } from "../support/wrangler.ts";

/** A new folder with the bundle. Whoever asks for it removes it. */
export async function countingBundle(): Promise<string> {
  const bundle = await bundleWorker(join(projectDir, "test/bench/budget/index.ts"), projectCompatibility());
  const folder = await mkdtemp(join(tmpdir(), "onceway-budget-bundle-"));
  await cp(bundle, folder, { recursive: true });
  const module = join(folder, "index.js");
  await writeFile(module, await withoutAsync(await readFile(module, "utf8")));
  return folder;
}

/** Each async function becomes a generator that a `new Promise` runs, and each `await` a `then`. */
async function withoutAsync(code: string): Promise<string> {
  const supported = { "async-await": false, "async-generator": false, "for-await": false };
  const { code: written } = await transform(code, { supported, format: "esm", target: "esnext" });
  return written;
}
