// Holds the Worker's bundle to its budget: bundles it as a deployment would, minified, and compares its size gzipped.

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

/** Gzipped. A Worker's start grows with its code; the platform's own limit is far above (3 MB, free plan). */
const BUDGET_KIB = 64;

const outdir = await mkdtemp(join(tmpdir(), "onceway-bundle-"));
try {
  const args = ["deploy", "--dry-run", "--minify", "--outdir", outdir];
  await promisify(execFile)("wrangler", args, { env: { ...process.env, WRANGLER_SEND_METRICS: "false" } });
  const scripts = (await readdir(outdir)).filter((name) => name.endsWith(".js"));
  const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(outdir, name))).byteLength));
  const kib = sizes.reduce((sum, size) => sum + size, 0) / 1024;
  console.log(`bundle: ${kib.toFixed(1)} KiB gzipped, budget ${BUDGET_KIB} KiB`);
  if (scripts.length === 0 || kib > BUDGET_KIB) process.exitCode = 1;
} finally {
  await rm(outdir, { recursive: true });
}
