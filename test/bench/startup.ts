// What more code costs at the start: the time from the start of a fresh workerd to its first answer, with the bundle as it is
// and with further modules of the same kind in it, in interleaved rounds. `npm run bench -- startup [--rounds 20]`

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { bundleWorker } from "../../src/serve/bundle.ts";
import { workerdConfig } from "../../src/serve/workerd-config.ts";
import { freePort } from "../support/ports.ts";
import { Progress } from "../support/progress.ts";
import { projectCompatibility, projectDir } from "../support/wrangler.ts";
import { median, quantileOf } from "./quantiles.ts";

const { values: options } = parseArgs({ options: { rounds: { type: "string", default: "20" } } });
const rounds = Number(options.rounds);

/** Folders of the Worker that the larger bundle has twice: minified, about 15 KiB gzipped. */
const TWICE = ["kernel/request"];
const POLL_MS = 1;

interface Variant {
  readonly name: string;
  readonly config: string;
  readonly url: string;
  readonly gzippedKib: number;
  readonly times: number[];
}

/** A copy of the sources whose entry holds on to copies of some folders, so that no bundler leaves them out. */
async function writeLarger(folder: string): Promise<string> {
  for (const part of ["src", "package.json", "tsconfig.base.json"]) {
    await cp(join(projectDir, part), join(folder, part), { recursive: true });
  }
  const modules: string[] = [];
  for (const name of TWICE) {
    await cp(join(projectDir, "src", name), join(folder, "src", `${name}-again`), { recursive: true });
    const files = (await readdir(join(projectDir, "src", name), { recursive: true })).filter((file) =>
      /\.tsx?$/.test(file),
    );
    modules.push(...files.map((file) => `./${name}-again/${file}`));
  }
  const imports = modules.map((path, at) => `import * as again${at} from ${JSON.stringify(path)};`);
  const kept = `globalThis.again = [${modules.map((_, at) => `again${at}`).join(", ")}];`;
  const entry = join(folder, "src/larger.ts");
  const whole = 'export * from "./index.ts";\nexport { default } from "./index.ts";';
  await writeFile(entry, `${imports.join("\n")}\n${whole}\n${kept}\n`);
  return entry;
}

async function variant(name: string, folder: string, main: string): Promise<Variant> {
  const compatibility = projectCompatibility();
  const modulesDir = join(folder, name);
  await cp(await bundleWorker(main, compatibility), modulesDir, { recursive: true });
  const port = await freePort();
  await mkdir(join(folder, `${name}-state`));
  const text = await workerdConfig({
    modulesDir,
    stateDir: join(folder, `${name}-state`),
    address: `127.0.0.1:${port}`,
    operatorAddress: null,
    compatibility,
    objects: [{ name: "KEY_SHARD", className: "KeyShard" }],
    secrets: [],
    vars: { IDEMPOTENCY: { origin: "http://127.0.0.1:9" }, ROUTES: [{ path: "/*" }] },
    extraBindings: [],
    extraServices: [],
  });
  const config = join(modulesDir, "gateway.capnp");
  await writeFile(config, text);
  const gzippedKib = gzipSync(await readFile(join(modulesDir, "index.js"))).byteLength / 1024;
  return { name, config, url: `http://127.0.0.1:${port}/.well-known/idempotency`, gzippedKib, times: [] };
}

async function start({ config, url }: Variant): Promise<number> {
  const begun = performance.now();
  const child = spawn(join(projectDir, "node_modules/.bin/workerd"), ["serve", config], { stdio: "ignore" });
  const ended = once(child, "exit");
  try {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}`);
      const response = await fetch(url).catch(() => null);
      await response?.arrayBuffer();
      if (response !== null) return performance.now() - begun;
      await pause(POLL_MS);
    }
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

// Within the project, so that its packages are found.
await mkdir(join(projectDir, ".wrangler"), { recursive: true });
const folder = await mkdtemp(join(projectDir, ".wrangler/startup-"));
try {
  const variants = [
    await variant("as-it-is", folder, join(projectDir, "src/index.ts")),
    await variant("larger", folder, await writeLarger(folder)),
  ];
  const progress = new Progress("starts", rounds * variants.length, { unit: "starts" });
  for (let round = 0; round < rounds; round += 1) {
    // Each goes first in its turn.
    const inTurn = round % 2 === 0 ? variants : variants.toReversed();
    for (const one of inTurn) one.times.push(await start(one));
    progress.show((round + 1) * variants.length);
  }
  progress.end();
  console.log("| bundle, not minified | gzipped KiB | start to first answer, median ms | quartiles | least |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const { name, gzippedKib, times } of variants) {
    const at = quantileOf(times);
    const [least, low, middle, high] = [at(0), at(0.25), median(times), at(0.75)].map((ms) => ms.toFixed(0));
    console.log(`| ${name} | ${gzippedKib.toFixed(1)} | ${middle} | ${low} to ${high} | ${least} |`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
