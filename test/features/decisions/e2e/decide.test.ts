// Many records are decided about, each as it is: through the API, whose answers are checked against openapi.json, and on the command line. What
// clients then get shows it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditPageSchema } from "../../../../src/features/audit/operator/audit-schema.ts"; // feature: audit
import { decidedSchema } from "../../../../src/features/decisions/operator/decisions-schema.ts";
import { recordPageSchema } from "../../../../src/operator/record-schema.ts";
import { type CommandOutcome, runOnceway } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import {
  ADMIN_TOKEN,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../../support/e2e/operator-scene.ts";

const PATH = "/pay";
const REASON = "reconciled with the ledger";

let scene: OperatorScene;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "onceway-decide-"));
  scene = await startOperatorScene({ shards: 4, scope: ["header:authorization"], timeout: "9m", lock: "10m" }, [
    { path: PATH, unknown: "hold" },
  ]);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await scene.close();
});

type Decided = v.InferOutput<typeof decidedSchema>;

async function unknownKeys(count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  await Promise.all(keys.map((key) => scene.send({ path: PATH, key, behave: { drop: "after-effect" } })));
  return keys;
}

async function recordOf(key: string): Promise<v.InferOutput<typeof recordPageSchema>["records"][number] | undefined> {
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  return v.parse(recordPageSchema, json).records[0];
}

async function stateOf(key: string | undefined): Promise<string> {
  return (await recordOf(key ?? ""))?.state ?? "none";
}

function ask(body: object, token = ADMIN_TOKEN) {
  return scene.ask("POST", "/records/decide", { body: { reason: REASON, ...body }, token });
}

async function decide(decisions: readonly object[], how: object): Promise<Decided> {
  const { status, json, text } = await ask({ decisions, ...how });
  expect({ status, text }).toMatchObject({ status: 200 });
  return v.parse(decidedSchema, json);
}

const outcomesOf = ({ results }: Decided): readonly string[] => results.map(({ outcome }) => outcome);

const paid = (key: string | undefined, name: string) => ({
  key,
  decision: "resolve",
  status: 201,
  headers: [["content-type", "application/json"]],
  body: JSON.stringify({ payment: name }),
});

describe("over HTTP", () => {
  it("each record gets its own decision, after a preview, and its own entry in the audit log", async () => {
    const [one, two, three, four] = await unknownKeys(4);
    const id = (await recordOf(three ?? ""))?.id;
    const large = { ...paid(four, "x"), body: JSON.stringify("x".repeat(100_000)) };
    const decisions = [
      paid(one, "pay_1"),
      { ...paid(two, "pay_2"), status: 402, reason: "declined" },
      { id, decision: "release" },
      large,
    ];
    const { until, ...preview } = await decide(decisions, { preview: true });
    expect(outcomesOf({ until, ...preview })).toEqual(Array.from(decisions, () => "would-change"));
    expect(preview.results[0]).toMatchObject({ key: one, route: PATH, state: "unknown", warnings: [] });
    expect(preview.results[1]?.warnings).toEqual([expect.stringContaining("Status 402 tells every retry")]);
    expect(await stateOf(one)).toBe("unknown");

    expect(outcomesOf(await decide(decisions, { confirm: true, until }))).toEqual(
      Array.from(decisions, () => "changed"),
    );
    for (const [key, status, body] of [
      [one, 201, '{"payment":"pay_1"}'],
      [two, 402, '{"payment":"pay_2"}'],
      [four, 201, large.body],
    ] as const) {
      const retry = await scene.send({ path: PATH, key: key ?? "" });
      expect([retry.status, retry.body.toString()]).toEqual([status, body]);
      expect(headerValue(retry, "idempotent-replayed")).toBe("true");
    }
    expect(await stateOf(three)).toBe("failed");
    // feature: audit begins
    const { json } = await scene.ask("GET", "/audit");
    const entries = v.parse(auditPageSchema, json).entries.slice(0, 4);
    const logged = entries.map(({ action, key, reason, outcome }) => [action, key, reason, outcome]);
    expect(new Set(logged)).toEqual(
      new Set([
        ["resolve", one, REASON, "done"],
        ["resolve", two, "declined", "done"],
        ["release", three, REASON, "done"],
        ["resolve", four, REASON, "done"],
      ]),
    );
    expect(entries.find(({ action }) => action === "release")?.target).toBe(id);
    expect(scene.gateway.output()).toContain("message: 'audit'");
    expect(scene.gateway.output()).not.toContain(three);
    // feature: audit ends

    // Sent again, with the same time or a new one: nothing is done twice.
    const again = ["already", "already", "already", "already"];
    expect(outcomesOf(await decide(decisions, { confirm: true, until }))).toEqual(again);
    expect(outcomesOf(await decide([...decisions.slice(0, 2), large], { preview: true }))).toEqual(again.slice(1));
    const other = [
      { ...paid(one, "pay_9") },
      { ...large, body: large.body.replace("x", "y") },
      { id, decision: "forget" },
    ];
    expect(outcomesOf(await decide(other, { confirm: true, until }))).toEqual(Array.from(other, () => "decided-since"));
    expect(outcomesOf(await decide(other.slice(0, 2), { preview: true }))).toEqual(["completed", "completed"]);
  });

  it("what has happened since, and what is refused for the record alone, is left and named", async () => {
    const [unknown, retried] = await unknownKeys(2);
    const done = freshKey();
    await scene.send({ path: PATH, key: done });
    const running = freshKey();
    const call = scene.open({ path: PATH, key: running, behave: { hold: true } });
    await scene.origin.arrived(running);
    const twice = freshKey();
    for (const caller of ["ann", "bob"]) {
      await scene.send({
        path: PATH,
        key: twice,
        headers: [["authorization", caller]],
        behave: { drop: "after-effect" },
      });
    }
    const { until } = await decide([{ key: unknown, decision: "release" }], { preview: true });
    const late = (await unknownKeys(1))[0];
    await decide([{ key: retried, decision: "release" }], { confirm: true, until: new Date().toISOString() });
    const decisions = [unknown, retried, done, running, twice, late, freshKey()].map((key) => ({
      key,
      decision: "resolve",
      status: 200,
    }));
    const decided = await decide(decisions, { confirm: true, until });
    const expected = ["changed", "decided-since", "completed", "in-flight", "several", "began-since", "not-found"];
    expect(outcomesOf(decided)).toEqual(expected);
    expect(decided.results[4]?.ids).toHaveLength(2);
    expect(await stateOf(late)).toBe("unknown");
    await scene.origin.release(running);
    expect((await call.response).status).toBe(200);
    const ended = await decide([{ key: running, decision: "resolve", status: 201 }], { confirm: true, until });
    expect(outcomesOf(ended)).toEqual(["ended-since"]);
  });

  it("nothing is changed if one of them is refused, and never for a reader", async () => {
    const [one, two] = await unknownKeys(2);
    const until = new Date().toISOString();
    const good = { key: one, decision: "release" };
    for (const [wrong, reported] of [
      [[good, { ...paid(two, "x"), body: "x" }], "decisions[1]: The body is not JSON"],
      [[good, paid(two, "x"), good], "decisions[2]: It may name the same record as decisions[0]"],
    ] as const) {
      const { status, text } = await ask({ decisions: wrong, confirm: true, until });
      expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(reported) });
    }
    expect((await ask({ decisions: [good], preview: true }, READ_TOKEN)).status).toBe(403);
    expect([await stateOf(one), await stateOf(two)]).toEqual(["unknown", "unknown"]);
  });
});

const ENV = (): Readonly<Record<string, string>> => ({
  ONCEWAY_URL: scene.gateway.url,
  ONCEWAY_TOKEN: ADMIN_TOKEN,
  NO_COLOR: "1",
});

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(["records", "decide", ...args], ENV());
}

function fileOf(lines: readonly object[]): string {
  const file = join(folder, `${freshKey()}.jsonl`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  return file;
}

/** The time that a preview has printed. */
function asOf(stdout: string): string {
  return /^To do it: --yes --as-of (\S+)$/m.exec(stdout)?.[1] ?? "";
}

describe("on the command line", () => {
  it("a file is previewed, carried out with the time of the preview, and can be run again", async () => {
    const keys = await unknownKeys(13);
    const lines = keys.map((key, at) => (at < 6 ? paid(key, `pay_${at}`) : { key, decision: "release" }));
    const file = fileOf(lines);
    const args = ["--file", file, "--reason", REASON];
    const preview = await onceway(...args, "--dry-run");
    expect([preview.code, preview.stderr]).toEqual([0, ""]);
    expect(preview.stdout).toContain(
      "13 decisions: 7 release, 6 resolve\n13 decisions would be carried out: 7 release, 6 resolve\n",
    );
    expect(preview.stdout).toMatch(
      new RegExp(`^LINE  DECISION  STATE    +KEY\n1     resolve   unknown   +${keys[0]}`, "m"),
    );
    for (const more of [[], ["--yes"]]) {
      const unasked = await onceway(...args, ...more);
      expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("look with --dry-run")]);
    }
    expect(await stateOf(keys[0])).toBe("unknown");
    // Somebody is faster.
    await decide([{ key: keys[0], decision: "release" }], { confirm: true, until: new Date().toISOString() });
    const done = await onceway(...args, "--yes", "--as-of", asOf(preview.stdout));
    expect([done.code, done.stdout]).toEqual([1, "carried out: 12 of 13 decisions\n"]);
    expect(done.stderr).toBe("line 1: an operator has decided otherwise since\n");
    const retry = await scene.send({ path: PATH, key: keys[5] ?? "" });
    expect([retry.status, retry.body.toString()]).toEqual([201, '{"payment":"pay_5"}']);
    const again = await onceway(...args, "--yes", "--as-of", asOf(preview.stdout));
    expect([again.code, again.stdout]).toEqual([1, "carried out: 0 of 13 decisions, 12 had been before\n"]);
    const json = await onceway(...args, "--dry-run", "--as-of", asOf(preview.stdout), "--json");
    const { until, results } = v.parse(
      v.object({ until: v.string(), results: v.array(v.unknown()) }),
      JSON.parse(json.stdout),
    );
    expect([until, results.length]).toEqual([asOf(preview.stdout), 13]);
    expect(results[0]).toMatchObject({ line: 1, decision: "resolve", outcome: "decided-since", key: keys[0] });
  });

  it("comes from a pipe, in several calls, and says what a response has that is unusual", async () => {
    const keys = await unknownKeys(1);
    const gone = Array.from({ length: 120 }, () => ({ key: freshKey(), decision: "release" }));
    const [key] = keys;
    const lines = [...gone, { key, decision: "resolve", status: 200 }]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    const args = ["records", "decide", "--file", "-", "--reason", REASON, "--dry-run"];
    const { code, stdout, stderr } = await runOnceway(args, ENV(), lines);
    expect(code).toBe(1);
    expect(stdout).toContain("1 decision would be carried out: 1 resolve\n");
    expect(stdout).toContain("\nline 121: The body is empty.\n");
    expect(stderr).toBe(
      "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 110 more: there is no such record: never used, expired or forgotten\n",
    );
  });

  it.each([
    [[{ key: "a", decision: "release" }, { key: "b" }], "jsonl:2: A decision is a JSON object"],
    [
      [
        { key: "a", decision: "release", reason: "x" },
        { key: "a", decision: "forget", reason: "x" },
      ],
      "jsonl:2: It may name the same record as line 1",
    ],
    [[{ key: "a", decision: "release" }], "jsonl:1: reason is missing"],
    [[], "jsonl:1: There is no decision"],
  ])("asks nobody if a line is wrong: %j", async (lines, reported) => {
    const args = ["records", "decide", "--file", fileOf(lines), "--yes", "--as-of", "2026-11-23T03:12:40.118Z"];
    const { code, stdout, stderr } = await callOnceway(args, { ...ENV(), ONCEWAY_URL: "https://gateway.invalid" });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(reported)]);
    expect(stderr).toContain("Nothing was asked or changed.");
  });

  it("does not guess which time is meant", async () => {
    const { code, stderr } = await onceway("--file", "-", "--yes", "--as-of", "yesterday");
    expect([code, stderr]).toEqual([2, expect.stringContaining("Write a time such as --dry-run prints")]);
  });
});
