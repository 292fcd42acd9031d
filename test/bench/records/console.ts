// How quick the console is with many records: time to the first byte and to the first paint of its pages, in Chromium, as an
// operator would open them. `npm run bench -- console [--records N] [--tmpfs] [--json FILE]`

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import * as v from "valibot";
import { launchChromium } from "../../support/chromium.ts";
import { startWorkerd } from "../../support/gateway.ts";
import { grouped, Progress, showPhase } from "../../support/progress.ts";
import { median } from "../quantiles.ts";
import { closeConnections, PATH } from "./post.ts";
import { withFolder } from "./folder.ts";
import { startGateway, withOrigin } from "./records-gateway.ts";
import { loadAll, makeShards } from "./shard-files.ts";

const { values: options } = parseArgs({
  options: {
    records: { type: "string", default: "100000" },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
  },
});

const SHARDS = 64;
const ROUNDS = 15;
const BASE = "/_onceway";
const LIST = `${BASE}/console/records`;
/** Loaded by makeShards: the key of a record that is there. */
const KEY = "shard-maker-0";

const timingSchema = v.object({ firstByteMs: v.number(), paintMs: v.number() });
type Timing = v.InferOutput<typeof timingSchema>;

/** From the navigation's begin, as the browser itself measures them. */
const TIMING = `(() => {
  const { requestStart, responseStart } = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return paint === undefined ? null : { firstByteMs: responseStart - requestStart, paintMs: paint.startTime };
})()`;

async function open(page: Page, address: string): Promise<Timing> {
  await page.goto(address);
  // The policy of the page allows no function made of text to wait in it.
  for (;;) {
    const timing = v.safeParse(timingSchema, await page.evaluate(TIMING));
    if (timing.success) return timing.output;
  }
}

async function measure(page: Page, address: string): Promise<readonly Timing[]> {
  await open(page, address);
  const timings: Timing[] = [];
  for (let round = 0; round < ROUNDS; round += 1) timings.push(await open(page, address));
  return timings;
}

/** The address of the tenth page of the list, by its own links. */
async function tenthPage(page: Page, base: string): Promise<string> {
  await page.goto(base + LIST);
  for (let number = 2; number <= 10; number += 1) await page.getByRole("link", { name: "Next page" }).click();
  return page.url();
}

async function load(stateDir: string, origin: string, records: number): Promise<void> {
  const shards = await makeShards(() => startGateway(origin, stateDir, SHARDS), SHARDS);
  const to = Math.ceil(records / SHARDS);
  const jobs = shards.map(({ file, shard, template }) => ({
    file,
    template,
    seed: shard,
    to,
    ageMs: 0,
    isMixed: true,
  }));
  const bar = new Progress("load", to * SHARDS, { unit: "records" });
  let done = 0;
  await loadAll(jobs, (loaded) => {
    done += loaded;
    bar.show(done);
  });
  bar.end();
}

function spread(values: readonly number[]): string {
  return `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`;
}

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (folder) => {
    const records = Number(options.records);
    const stateDir = join(folder, "state");
    await load(stateDir, origin, records);
    const token = randomBytes(32).toString("hex");
    const vars = { IDEMPOTENCY: { origin, shards: SHARDS, scope: ["none"] }, ROUTES: [{ path: PATH }] };
    const gateway = await startWorkerd({ stateDir, vars, bindings: { ADMIN_TOKEN: token } });
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(gateway.url + BASE);
      await page.getByLabel("Operator token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      const pages = [
        ["overview", gateway.url + BASE],
        ["records, first page", gateway.url + LIST],
        ["records, tenth page", await tenthPage(page, gateway.url)],
        ["search by key", `${gateway.url}${LIST}?key=${KEY}`],
        ["state = unknown", `${gateway.url}${LIST}?state=unknown`],
        ["until 12 h ago, none", `${gateway.url}${LIST}?until=12h`],
      ] as const;
      const figures: Record<string, readonly Timing[]> = {};
      console.log(`${grouped(records)} records in ${SHARDS} shards; median (range) of ${ROUNDS}, milliseconds.\n`);
      console.log("| page | first byte | first paint |\n| --- | --- | --- |");
      for (const [name, address] of pages) {
        const timings = await showPhase(name, null, () => measure(page, address));
        figures[name] = timings;
        const [firstByte, paint] = [timings.map((one) => one.firstByteMs), timings.map((one) => one.paintMs)];
        console.log(`| ${name} | ${spread(firstByte)} | ${spread(paint)} |`);
      }
      if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    } finally {
      await browser.close();
      await gateway.stop();
    }
  }),
);
closeConnections();
