// Checks the size of the Worker's bundle, minified and gzipped, against its budgets. Bundles it twice, as a deployment would:
// whole, and with the console replaced by a stub that serves nothing. The gateway's budget is for the second bundle, because
// every request depends on that code; the console's budget is for the difference. The texts of settings must be in neither.

import { execFile } from "node:child_process";
import { cp, glob, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ownTexts, settingTexts } from "./settings-table.ts";
import { VARIABLES } from "./variables.ts";

/**
 * Gzipped, as the template deploys it. A Worker's start may grow with its code, although 53 KiB more, not minified, made no difference that could be
 * measured (test/bench/README.md, "The start of a process"); the platform's limit is far above (3 MB, free plan). Libraries take 38 KiB of the
 * gateway: the reference parser of GraphQL 11, Hono 8, jose 6, itty-durable with its router 4, valibot 3, JSON's scanner 3, structured fields 3. No request but an operator's needs the console.
 */
const GATEWAY_KIB = 280;
const CONSOLE_KIB = 43;

const CONSOLE = "src/operator/console/console.tsx";
/** Pages that features add to it. */
const PAGES = "src/features/*/operator/*.tsx";
const NO_CONSOLE = "export const createConsole = () => ({ fetch: () => new Response(null, { status: 404 }) });\n";

const projectDir = fileURLToPath(new URL("../../", import.meta.url));

interface Bundle {
  readonly text: string;
  readonly kib: number;
}

async function bundleOf(folder: string): Promise<Bundle> {
  const outdir = join(folder, "bundle");
  const args = ["deploy", "--dry-run", "--minify", "--config", join(folder, "wrangler.toml"), "--outdir", outdir];
  await promisify(execFile)("wrangler", args, { env: { ...process.env, WRANGLER_SEND_METRICS: "false" } });
  const scripts = (await readdir(outdir)).filter((name) => name.endsWith(".js"));
  if (scripts.length === 0) throw new Error("wrangler wrote no bundle");
  const texts = await Promise.all(scripts.map((name) => readFile(join(outdir, name), "utf8")));
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).byteLength, 0);
  return { text: texts.join("\n"), kib: bytes / 1024 };
}

/** The settings whose description is in the bundle: by its longest stretch without a character that a string may escape. */
function describedIn({ text }: Bundle): readonly string[] {
  return [...settingTexts(), ...VARIABLES.flatMap(ownTexts)]
    .filter(({ description }) => {
      const [longest = ""] = description.split(/[^\w ,.]/).toSorted((one, other) => other.length - one.length);
      return text.includes(longest);
    })
    .map(({ name }) => name);
}

/** A module with the same exports, which do nothing. */
function stubOf(text: string): string {
  return [...text.matchAll(/^export (?:async )?(?:function|const) (\w+)/gm)]
    .map(([, name]) => `export const ${name} = () => undefined;\n`)
    .join("");
}

function report(name: string, kib: number, budgetKib: number): void {
  console.log(`${name}: ${kib.toFixed(1)} KiB gzipped, budget ${budgetKib} KiB`);
  if (kib > budgetKib) process.exitCode = 1;
}

// Within the project, so that its packages are found.
await mkdir(join(projectDir, ".wrangler"), { recursive: true });
const folder = await mkdtemp(join(projectDir, ".wrangler/check-bundle-"));
try {
  for (const part of ["src", "package.json", "tsconfig.base.json", "wrangler.toml"]) {
    await cp(join(projectDir, part), join(folder, part), { recursive: true });
  }
  const whole = await bundleOf(folder);
  await writeFile(join(folder, CONSOLE), NO_CONSOLE);
  for await (const page of glob(PAGES, { cwd: folder }))
    await writeFile(join(folder, page), stubOf(await readFile(join(folder, page), "utf8")));
  const gateway = await bundleOf(folder);
  report("gateway", gateway.kib, GATEWAY_KIB);
  report("console", whole.kib - gateway.kib, CONSOLE_KIB);
  const described = describedIn(whole);
  if (described.length > 0) {
    console.error(`the bundle has the texts of settings, which only src/cli reads: ${described.join(", ")}`);
    process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true });
}
