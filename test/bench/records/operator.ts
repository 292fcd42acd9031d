// How long an operator waits with 100,000 records over 64 shards: lists, look-ups and counts, one request at a time.
// `npm run bench -- operator [--short] [--records N] [--tmpfs] [--json FILE]`

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as v from "valibot";
import { grouped, Progress } from "../../support/progress.ts";
import { median } from "../quantiles.ts";
import { closeConnections } from "./post.ts";
import { withFolder } from "./folder.ts";
import { startGateway, withOrigin } from "./records-gateway.ts";
import { loadAll, makeShards } from "./shard-files.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    records: { type: "string" },
    tmpfs: { type: "boolean", default: false },
    json: { type: "string" },
  },
});

const SHARDS = 64;
const records = Number(options.records ?? (options.short ? 10_000 : 100_000));
const TIMES = options.short ? 10 : 50;
/** The key with which the first shard was made: see shard-files.ts. */
const KEY = "shard-maker-0";

const pageSchema = v.object({ records: v.array(v.object({ id: v.string() })), cursor: v.nullable(v.string()) });

interface Figure {
  readonly what: string;
  readonly found: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

class Asker {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = `${url}/_onceway`;
    this.#token = token;
  }

  async ask(path: string): Promise<unknown> {
    const response = await fetch(this.#url + path, { headers: { Authorization: `Bearer ${this.#token}` } });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** A page, or all of them. */
  async list(query: string, pages = 1): Promise<number> {
    let found = 0;
    let cursor: string | null = "";
    for (let page = 0; page < pages && cursor !== null; page += 1) {
      const read: v.InferOutput<typeof pageSchema> = v.parse(
        pageSchema,
        await this.ask(`/records?${query}${cursor === "" ? "" : `&cursor=${cursor}`}`),
      );
      found += read.records.length;
      ({ cursor } = read);
    }
    return found;
  }

  async idOf(key: string): Promise<string> {
    const { records: found } = v.parse(pageSchema, await this.ask(`/records?key=${key}`));
    return found[0]?.id ?? "";
  }
}

async function measure(what: string, run: () => Promise<number>, times = TIMES): Promise<Figure> {
  const ms: number[] = [];
  let found = 0;
  const progress = new Progress(what, times, { unit: "requests" });
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now();
    found = await run();
    ms.push(performance.now() - begun);
    progress.show(time + 1);
  }
  progress.end();
  return { what, found, medianMs: median(ms), worstMs: Math.max(...ms) };
}

async function measureAll(asker: Asker): Promise<readonly Figure[]> {
  const id = await asker.idOf(KEY);
  const one = (path: string) => async () => (await asker.ask(path), 1);
  return [
    await measure("the first request after a start: all shards are opened", one("/drain"), 1),
    await measure("list, a page of 50", () => asker.list("")),
    await measure("list, ten pages of 50, one after the other", () => asker.list("limit=50", 10)),
    await measure("list, a page of 500", () => asker.list("limit=500")),
    await measure("list by state `unknown`, a page of 50", () => asker.list("state=unknown")),
    await measure("list by state `unknown`, all", () => asker.list("state=unknown&limit=500")),
    await measure("list by a rare route, a page of 50", () => asker.list("route=/rare")),
    await measure("list by a rare route, all", () => asker.list("route=/rare&limit=500", 1000)),
    await measure("list by a route that nothing has: every record is looked at", () => asker.list("route=/none", 1000)),
    await measure("list by key", () => asker.list(`key=${KEY}`)),
    await measure("inspect", one(`/records/${id}`)),
    await measure("drain counts", one("/drain")),
  ];
}

await withOrigin((origin) =>
  withFolder(options.tmpfs, async (folder) => {
    const secrets = { ADMIN_TOKEN: randomBytes(32).toString("hex") };
    const made = await makeShards(() => startGateway(origin, folder, SHARDS), SHARDS);
    const bar = new Progress("load", records, { unit: "records" });
    let loaded = 0;
    const jobs = made.map(({ file, shard, template }) => {
      return { file, template, seed: shard, to: Math.round(records / SHARDS), ageMs: 0, isMixed: true };
    });
    await loadAll(jobs, (more) => bar.show((loaded += more)));
    bar.end();
    const gateway = await startGateway(origin, folder, SHARDS, secrets);
    try {
      const figures = await measureAll(new Asker(gateway.url, secrets.ADMIN_TOKEN));
      console.log(`${grouped(records)} records over ${SHARDS} shards, each request ${TIMES} times.\n`);
      console.log("| | found | median ms | worst ms |");
      console.log("| --- | --- | --- | --- |");
      for (const { what, found, medianMs, worstMs } of figures) {
        console.log(`| ${what} | ${grouped(found)} | ${medianMs.toFixed(1)} | ${worstMs.toFixed(1)} |`);
      }
      if (options.json !== undefined)
        await writeFile(options.json, `${JSON.stringify({ records, figures }, null, 2)}\n`);
    } finally {
      await gateway.stop();
    }
  }),
);
closeConnections();
