// The command line on a real terminal (a pseudo-terminal of util-linux's `script`): nothing that came from outside steers it,
// and what every retry is to get takes a yes. In a pipe, every byte is what it is.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOnceway } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import { projectDir } from "../../support/wrangler.ts";
import { ADMIN_TOKEN, type OperatorScene, startOperatorScene } from "../../support/e2e/operator-scene.ts";

/** Clears the screen, retitles the window, turns the text round, each in several ways. */
const EVIL = "a\u009b2Jb\u001b]0;owned\u0007c\u202ed\u007fe";
const BODY = Buffer.from('{"name":"\u009b2J\u202e"}\u001b[2J');

let scene: OperatorScene;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-terminal-"));
  scene = await startOperatorScene({ shards: 1, scope: ["none"] }, [{ path: "/pay", unknown: "hold" }]);
});
afterAll(async () => {
  await scene.close();
  await rm(folder, { recursive: true });
});

const env = (): Readonly<Record<string, string>> => ({ ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });

async function unknownRecord(): Promise<{ readonly id: string; readonly key: string }> {
  const key = freshKey();
  await scene.send({ path: "/pay", key, behave: { drop: "after-effect" } });
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  return { key, id: v.parse(v.object({ records: v.tuple([v.looseObject({ id: v.string() })]) }), json).records[0].id };
}

/** A record with a history and a response that are all that a terminal must not see. */
async function evilRecord(): Promise<string> {
  const { id } = await unknownRecord();
  const response = { status: 201, headers: [["x-evil", "a\u009bb\u0085c"]], bodyBase64: BODY.toString("base64") };
  const body = { reason: EVIL, response, confirm: true };
  expect((await scene.ask("POST", `/records/${id}/resolve`, { body })).status).toBe(200);
  return id;
}

/** What the terminal of a person who types `answers`, each when it is asked for, would show; and the exit code. */
async function onTerminal(
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[] = [],
): Promise<{ readonly screen: string; readonly code: number }> {
  const node = join(projectDir, "node_modules/.bin/node");
  const command = [node, join(projectDir, "src/cli/onceway.ts"), ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols 200 rows 50; ${command}`, "/dev/null"], {
    cwd: projectDir,
    env: { PATH: process.env["PATH"], TERM: "xterm", ...env() },
  });
  let screen = "";
  const left = [...answers];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    const [next] = left;
    if (next === undefined || !screen.includes(next[0])) return;
    left.shift();
    child.stdin.write(next[1]);
  });
  await once(child, "close");
  return { screen, code: child.exitCode ?? -1 };
}

function resolveWith201(id: string, ...options: readonly string[]): readonly string[] {
  return ["records", "resolve", id, "--status", "201", ...options];
}

const COLOUR = new RegExp(`${String.fromCodePoint(0x1b)}\\[\\d+m`, "g");

/** But for colours, and line ends. */
function expectHarmless(screen: string): void {
  const text = screen.replaceAll(COLOUR, "").replaceAll("\r\n", "\n");
  expect(text).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
}

describe("on a terminal", () => {
  it("show escapes control characters, as text and as JSON", async () => {
    const id = await evilRecord();
    const shown = await onTerminal(["records", "show", id]);
    expectHarmless(shown.screen);
    expect(shown.screen).toContain("a\\u{9b}2Jb\\u{1b}]0;owned\\u{7}c\\u{202e}d\\u{7f}e");
    expect(shown.screen).toContain("x-evil: a\\u{9b}b\\u{85}c");
    const json = await onTerminal(["records", "show", id, "--json"]);
    expectHarmless(json.screen);
    expect(JSON.parse(json.screen)).toMatchObject({ id, timeline: [{}, { reason: EVIL }] });
    expectHarmless((await onTerminal(["records", "list", "--json"])).screen);
  });

  it("show prints no body to a terminal, and says how to redirect it", async () => {
    const id = await evilRecord();
    const refused = await onTerminal(["records", "show", id, "--body"]);
    expect(refused.code).toBe(2);
    expectHarmless(refused.screen);
    expect(refused.screen).toContain("--output FILE");
    const file = join(folder, id);
    expect((await onTerminal(["records", "show", id, "--body", "--output", file])).code).toBe(0);
    expect((await readFile(file)).equals(BODY)).toBe(true);
  });

  it("resolve shows what retries would get, and takes no for an answer", async () => {
    const { id } = await unknownRecord();
    const args = resolveWith201(id, "--body", "paid\u009b2J", "--reason", "the bank says so");
    const asked = await onTerminal(args, [["Give every retry this response?", "\r"]]);
    expect(asked.code).toBe(2);
    expect(asked.screen).toContain("Every retry gets this, marked as a replay:");
    expect(asked.screen).toContain("paid\\u{9b}2J");
    expect(asked.screen).toContain("Warning: A body without a content-type header.");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown" });
    const given = await onTerminal(args, [["Give every retry this response?", "y"]]);
    expect(given.code).toBe(0);
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "completed" });
  });
});

describe("all that match, on a terminal", () => {
  it("are shown, and take no for an answer", async () => {
    const { id } = await unknownRecord();
    const args = [
      "records",
      "release",
      "--all",
      "--route",
      "/pay",
      "--state",
      "unknown",
      "--reason",
      "not in the ledger",
    ];
    const asked = await onTerminal(args, [["Go on?", "\r"]]);
    expect(asked.code).toBe(2);
    expect(asked.screen).toMatch(/\d+ records? match(es)?: \d+ unknown/);
    expect(asked.screen).toContain("Nothing was changed.");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown" });
    const given = await onTerminal(args, [["Go on?", "y"]]);
    expect(given.code).toBe(0);
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "failed" });
  });

  it("decisions about many are shown, and asked about once", async () => {
    const { id } = await unknownRecord();
    const file = join(folder, "decisions.jsonl");
    await writeFile(file, JSON.stringify({ id, decision: "resolve", status: 201, body: "paid" }));
    const args = ["records", "decide", "--file", file, "--reason", "in the ledger"];
    const asked = await onTerminal(args, [["Go on?", "\r"]]);
    expect(asked.code).toBe(2);
    expect(asked.screen).toMatch(/1 decision would be carried out: 1 resolve/);
    expect(asked.screen).toMatch(/LINE +DECISION +STATE +KEY[^]*^1 +resolve +unknown +/m);
    expect(asked.screen).toContain("line 1: A body without a content-type header.");
    expect(asked.screen).toContain("Nothing was changed.");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown" });
    const given = await onTerminal(args, [["1 decision to be carried out. Go on?", "y"]]);
    expect(given.code).toBe(0);
    expect(given.screen).toContain("carried out: 1 of 1 decision");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "completed" });
  });
});

describe("in a pipe", () => {
  it("every byte is printed unchanged", async () => {
    const id = await evilRecord();
    const { stdout } = await runOnceway(["records", "show", id, "--body"], env());
    expect(stdout).toBe(BODY.toString());
    const json = await callOnceway(["records", "show", id, "--json"], env());
    expect(json.stdout).toContain("\u202e");
    expect(JSON.parse(json.stdout)).toMatchObject({ id });
  });

  it("resolve changes nothing without --yes, and shows the response with --dry-run", async () => {
    const { id } = await unknownRecord();
    const args = resolveWith201(id, "-H", "content-type: application/json", "--reason", "seen");
    const without = await callOnceway([...args, "--body", "{}"], env());
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("--yes");
    const preview = await callOnceway([...args, "--body", "{}", "--dry-run", "--json"], env());
    expect(JSON.parse(preview.stdout)).toMatchObject({ preview: { status: 201, body: "{}", warnings: [] } });
    const broken = await callOnceway([...args, "--body", "{", "--yes"], env());
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain("The body is not JSON");
    expect((await scene.ask("GET", `/records/${id}`)).json).toMatchObject({ state: "unknown" });
    expect((await callOnceway([...args, "--body", "{}", "--yes"], env())).code).toBe(0);
  });
});
