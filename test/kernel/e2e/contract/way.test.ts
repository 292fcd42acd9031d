// The way of a plain first request: which files its decisions pass. It is counted by executing one in workerd, and src/README.md lists the
// files in order.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { join, posix } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Origin, startOrigin } from "../../../bench/processes.ts";
import { readPage } from "../../../support/docs.ts";
import {
  type Declaration,
  type InstrumentedBundle,
  instrumentedBundle,
  readSource,
} from "../../../support/executed-functions.ts";
import { type Gateway, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { projectDir } from "../../../support/wrangler.ts";

/** Where something about the request is decided, in the order of the request. All other files carry decisions out, or are asked for values. */
const DECIDES = {
  "kernel/request/intent.ts": "what it is, and which route protects it",
  "kernel/request/key.ts": "whether its key is valid",
  "kernel/request/scope.ts": "whose it is",
  "kernel/request/body.ts": "whether its body may be held",
  "kernel/request/comparison.ts": "how it is compared with others",
  "kernel/request/replay-cache.ts": "whether this isolate remembers the answer",
  "kernel/object/call-shard.ts": "which object is asked, and whether again",
  "kernel/record/life-cycle.ts": "what becomes of its record",
  "kernel/object/decide.ts": "what the exchange does next",
  "kernel/object/origin-call.ts": "whether the origin may be called",
  "kernel/record/verdict.ts": "what the origin's answer means",
};

/** The most files that the decisions may pass. */
const MOST_FILES = 23;

/** The most files of src that execute anything for the request: those of the way, and what they call. There are 101. */
const MOST_EXECUTED = 111;

let origin: Origin;
let gateway: Gateway;
let bundle: InstrumentedBundle;
let folder: string;

beforeAll(async () => {
  origin = await startOrigin();
  folder = await mkdtemp(join(tmpdir(), "onceway-way-"));
  bundle = await instrumentedBundle(join(projectDir, "test/workers/executed.ts"), join(folder, "bundle"));
  gateway = await startWorkerd({
    bundle: bundle.folder,
    stateDir: join(folder, "state"),
    vars: { IDEMPOTENCY: { origin: origin.url, shards: 1 }, ROUTES: [{ path: "/v1/*" }] },
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
  await rm(folder, { recursive: true });
});

async function send(): Promise<void> {
  const headers = { "content-type": "application/json", "idempotency-key": freshKey(), authorization: "Bearer a" };
  const response = await fetch(`${gateway.url}/v1/payments`, { method: "POST", headers, body: '{"amount":1}' });
  expect(response.status).toBe(201);
  await response.arrayBuffer();
}

/** Files with the declarations that were executed, in the order in which each file was entered first. */
type Executed = ReadonlyMap<string, ReadonlySet<string>>;

function byFile(declarations: readonly Declaration[]): Executed {
  const executed = new Map<string, Set<string>>();
  for (const { file, name } of declarations) executed.set(file, (executed.get(file) ?? new Set()).add(name));
  return executed;
}

async function takeExecuted(): Promise<readonly Declaration[]> {
  const taken: unknown = await (await fetch(`${gateway.url}/executed`)).json();
  return bundle.declarationsOf(v.parse(v.array(v.number()), taken));
}

/** Until nothing has been executed for a while: isolate and object write what they have counted some time after a request. */
async function untilAtRest(): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TIMES; quiet += 1) {
    await pause(500);
    if ((await takeExecuted()).length > 0) quiet = -1;
  }
}

const QUIET_TIMES = 4;

/** What one request executes. On a busy machine an alarm or a count may run within it, which only adds: the least of several counts. */
async function executedByOne(): Promise<readonly Declaration[]> {
  const samples: (readonly Declaration[])[] = [];
  while (samples.length < SAMPLES) {
    await untilAtRest();
    await send();
    samples.push(await takeExecuted());
  }
  return samples.reduce((least, one) => (one.length < least.length ? one : least));
}

const SAMPLES = 3;

const IMPORT = /^import \{([^}]*)\} from "(\.[^"]+)";/gm;

/** The executed declarations that this file imports. */
async function importedBy(file: string, executed: Executed): Promise<readonly Declaration[]> {
  return [...(await readSource(file)).matchAll(IMPORT)].flatMap(([, names = "", path = ""]) => {
    const to = posix.join(posix.dirname(file), path);
    const values = names.split(",").map((name) => name.trim().replace(/ as .*/, ""));
    return values.filter((name) => executed.get(to)?.has(name) === true).map((name) => ({ file: to, name }));
  });
}

/** Those of the executed files that decide, and all that lead to them. */
async function wayIn(executed: Executed): Promise<readonly string[]> {
  const files = [...executed.keys()];
  const calls = new Map(
    await Promise.all(
      files.map(async (file) => [file, (await importedBy(file, executed)).map((one) => one.file)] as const),
    ),
  );
  const way = new Set(Object.keys(DECIDES));
  const isLeading = (file: string): boolean => !way.has(file) && calls.get(file)?.some((to) => way.has(to)) === true;
  for (let more = files.filter(isLeading); more.length > 0; more = files.filter(isLeading)) {
    for (const file of more) way.add(file);
  }
  return files.filter((file) => way.has(file));
}

/** What one reads from the arrival of a request to the call of an object, if one reads each function where it is called first. */
async function readingOf(way: readonly string[], declarations: readonly Declaration[]): Promise<Reading> {
  const half = way.slice(0, way.indexOf(LAST_IN_WORKER) + 1);
  const steps = declarations.filter(({ file }) => half.includes(file));
  const entries = steps.filter(({ file }, at) => file !== steps[at - 1]?.file);
  const first = entries.filter(({ file }, at) => entries.findIndex((one) => one.file === file) === at);
  const executed = byFile(steps);
  const imported = await Promise.all(half.map((file) => importedBy(file, executed)));
  return {
    files: half.length,
    returns: entries.length - first.length,
    names: new Set([...first, ...imported.flat()].map(({ file, name }) => `${file} ${name}`)).size,
  };
}

interface Reading {
  readonly files: number;
  /** To a file that was left for another one. */
  readonly returns: number;
  /** Of what leads from one file into another. */
  readonly names: number;
}

/** The last file of the way that executes in the Worker. */
const LAST_IN_WORKER = "kernel/object/call-shard.ts";

const MOST_READ: Reading = { files: 12, returns: 8, names: 17 };

it("the decisions of a plain first request pass the files that src/README.md lists, in this order", async () => {
  // What an isolate and an object do once.
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await send();
  const declarations = await executedByOne();
  const executed = byFile(declarations);
  const way = await wayIn(executed);
  expect([...executed.keys()]).toEqual(expect.arrayContaining(Object.keys(DECIDES)));
  const { text } = readPage("src/README.md");
  const [, listed = ""] = /## The way of one request\n([^]*?)\n## /.exec(text) ?? [];
  expect([...listed.matchAll(/\[`([^`]+)`\]/g)].map(([, file]) => file)).toEqual(way);
  expect(way.length).toBeLessThanOrEqual(MOST_FILES);
  const reading = await readingOf(way, declarations);
  const [, ...written] = /(\d+) files, (\d+) returns to a file already left, (\d+) names/.exec(listed) ?? [];
  expect(written.map(Number)).toEqual([reading.files, reading.returns, reading.names]);
  for (const what of ["files", "returns", "names"] as const) expect(reading[what]).toBeLessThanOrEqual(MOST_READ[what]);
  expect(executed.size).toBeLessThanOrEqual(MOST_EXECUTED);
});
