// All records that a filter matches are released, resolved and forgotten: through the API, whose answers are checked against
// openapi.json, and on the command line. What clients then get shows it.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allChangedSchema } from "../../../../src/features/bulk/operator/bulk-schema.ts";
import { auditPageSchema } from "../../../../src/features/audit/operator/audit-schema.ts"; // feature: audit
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freshKey } from "../../../support/http.ts";
import {
  ADMIN_TOKEN,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";

const PATH = "/records/change";
const REASON = "not in the ledger";
/** Routes of their own, so that no test changes another's records. */
const NAMES = ["release", "resolve", "forget", "audit", "cli", "cli-resolve", "cli-forget", "late", "long"] as const;
type Name = (typeof NAMES)[number];

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene(
    { shards: 4, scope: ["none"], timeout: "9m", lock: "10m" },
    NAMES.map((name) => ({ path: `/${name}`, unknown: "hold" })),
  );
});
afterAll(() => scene.close());

type Changed = v.InferOutput<typeof allChangedSchema>;

/** Keys with an unknown outcome, on a route. */
async function unknownKeys(name: Name, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  await Promise.all(keys.map((key) => scene.send({ path: `/${name}`, key, behave: { drop: "after-effect" } })));
  return keys;
}

async function completed(name: Name, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  for (const key of keys) await scene.send({ path: `/${name}`, key });
  return keys;
}

function ask(body: unknown, token = ADMIN_TOKEN) {
  return scene.ask("POST", PATH, { body, token });
}

async function change(body: Readonly<Record<string, unknown>>): Promise<Changed> {
  const { status, json, text } = await ask({ reason: REASON, ...body });
  expect({ status, text }).toMatchObject({ status: 200 });
  return v.parse(allChangedSchema, json);
}

async function stateOf(key: string): Promise<string> {
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  const { records } = v.parse(v.object({ records: v.array(v.object({ state: v.string() })) }), json);
  return records[0]?.state ?? "none";
}

async function statesOf(keys: readonly string[]): Promise<readonly string[]> {
  return [...new Set(await Promise.all(keys.map(stateOf)))];
}

describe("over HTTP", () => {
  it("releases all that match after a preview, and nothing that has begun since", async () => {
    const keys = await unknownKeys("release", 12);
    const others = await completed("release", 3);
    const elsewhere = await unknownKeys("late", 2);
    const filter = { route: "/release" };
    const preview = await change({ change: "release", filter, preview: true });
    expect(preview).toMatchObject({
      matched: 15,
      changed: 12,
      states: { unknown: 12, completed: 3 },
      refused: { inFlight: 0, completed: 3, remembered: 0 },
      routes: ["/release"],
      preview: null,
      cursor: null,
    });
    expect(preview.records).toHaveLength(10);
    expect(await statesOf(keys)).toEqual(["unknown"]);
    const late = await unknownKeys("release", 1);
    const { until } = preview;
    const done = await change({ change: "release", filter, confirm: true, until });
    expect(done).toMatchObject({
      matched: 15,
      changed: 12,
      refused: { completed: 3 },
      skipped: 0,
      unanswered: 0,
      until,
    });
    expect(done.records).toEqual([]);
    expect(await statesOf(keys)).toEqual(["failed"]);
    expect(await statesOf(others)).toEqual(["completed"]);
    expect(await statesOf([...late, ...elsewhere])).toEqual(["unknown"]);
    const again = await change({ change: "release", filter, confirm: true, until });
    expect(again).toMatchObject({ matched: 3, changed: 0 });
    // feature: audit begins
    const { json } = await scene.ask("GET", "/audit?action=release-all");
    const [, entry] = v.parse(auditPageSchema, json).entries;
    expect(entry).toMatchObject({
      by: "admin",
      reason: REASON,
      target: `preview=${until} route=/release`,
      outcome: "done: 12 of 15 records, 3 refused, 0 skipped, 0 without an answer",
    });
    // feature: audit ends
  });

  it("is refused to readers, without a preview, and for a filter that would match everything", async () => {
    const asked = { change: "forget", filter: { route: "/late" }, reason: REASON, preview: true };
    expect((await ask(asked, READ_TOKEN)).status).toBe(403);
    for (const [wrong, reported] of [
      [{ preview: false, confirm: true }, "until is missing"],
      [{ filter: {} }, "filter would match every record"],
      [{ filter: { stat: "unknown" } }, "Unknown parameter"],
      [{ cursor: "x", until: new Date().toISOString() }, "cursor does not come from a list"],
    ] as const) {
      const { status, text } = await ask({ ...asked, ...wrong });
      expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(reported) });
    }
  });
});

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN, NO_COLOR: "1" });
}

/** The time that a preview has printed. */
function asOf(stdout: string): string {
  return /^To do it: --yes --as-of (\S+)$/m.exec(stdout)?.[1] ?? "";
}

describe("on the command line", () => {
  it("counts, changes nothing without the time of its count, and with it what was counted", async () => {
    const keys = await unknownKeys("cli", 3);
    await completed("cli", 1);
    const args = ["records", "release", "--all", "--route", "/cli", "--reason", REASON];
    const preview = await onceway(...args, "--dry-run");
    expect(preview.code).toBe(0);
    expect(preview.stdout).toContain("4 records match: 3 unknown, 1 completed\n3 records would be released\n");
    expect(preview.stdout).toMatch(/^STATE .*KEY/m);
    expect(preview.stderr).toContain("1 record completed: they can only be forgotten.");
    for (const more of [[], ["--yes"]]) {
      const unasked = await onceway(...args, ...more);
      expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("count them with --dry-run")]);
    }
    expect(await statesOf(keys)).toEqual(["unknown"]);
    const late = await unknownKeys("cli", 1);
    const done = await onceway(...args, "--yes", "--as-of", asOf(preview.stdout));
    expect([done.code, done.stdout]).toEqual([0, "released: 3 of 4 records\n"]);
    expect(await statesOf(keys)).toEqual(["failed"]);
    expect(await statesOf(late)).toEqual(["unknown"]);
  });

  it("resolves with one response for all, and prints what the API answers", async () => {
    const keys = await unknownKeys("cli-resolve", 2);
    const args = ["records", "resolve", "--all", "--state", "unknown", "--route", "/cli-resolve", "--reason", REASON];
    const response = ["--status", "202", "--body", "seen"];
    const preview = await onceway(...args, ...response, "--dry-run");
    expect(preview.stdout).toContain("Every retry gets this, marked as a replay:\n  202\n");
    const counted = asOf(preview.stdout);
    const { code, stdout } = await onceway(...args, ...response, "--yes", "--as-of", counted, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ matched: 2, changed: 2, states: { unknown: 2 } });
    for (const key of keys) expect((await scene.send({ path: "/cli-resolve", key })).status).toBe(202);
  });

  it("says with its exit code that something is left for later", async () => {
    await unknownKeys("cli-forget", 1);
    const done = await completed("cli-forget", 2);
    const forget = ["records", "forget", "--all", "--route", "/cli-forget", "--reason", REASON, "--yes", "--as-of"];
    forget.push(new Date().toISOString());
    // No record has this status.
    expect(await onceway(...forget, "--status", "404")).toMatchObject({
      code: 0,
      stdout: "forgotten: 0 of 0 records\n",
    });
    const { code, stdout, stderr } = await onceway(...forget);
    expect([code, stdout]).toEqual([1, "forgotten: 2 of 3 records\n"]);
    expect(stderr).toContain("1 record in flight, or perhaps still running: run it again later.");
    expect(await statesOf(done)).toEqual(["none"]);
  });

  it.each([
    [["records", "release", "--state", "unknown"], "Write --all"],
    [["records", "release", "--all"], "--all needs a condition"],
    [["records", "release", "0".repeat(64), "--all", "--state", "unknown"], "Write either a record or --all"],
    [["records", "resolve", "--all", "--status", "201", "--yes"], "--all needs a condition"],
    [["records", "release", "0".repeat(64), "--as-of", "2026-11-23T03:12:40.118Z"], "--as-of belongs to --all --yes"],
    [
      ["records", "release", "--all", "--state", "unknown", "--yes", "--as-of", "yesterday"],
      "Write a time such as --dry-run prints",
    ],
  ])("does not guess what %j means", async (args, reported) => {
    const { code, stderr } = await onceway(...args, "--reason", REASON);
    expect([code, stderr]).toEqual([2, expect.stringContaining(reported)]);
  });
});
