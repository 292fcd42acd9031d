// `onceway records decide` against an API made up by the test, which gets on slowly, is lost in the middle, or answers in words of a later version.

import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";

const UNTIL = "2026-11-23T03:12:40.118Z";
const asked = v.object({
  decisions: v.array(v.object({ key: v.string() })),
  until: v.optional(v.string()),
  preview: v.optional(v.boolean()),
  confirm: v.optional(v.boolean()),
});

let server: Server;
let folder: string;
/** What each key's decision comes to; `null`: the connection is lost. */
let outcomeOf: (key: string, call: number) => string | null;
const calls: v.InferOutput<typeof asked>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-decide-"));
  server = createServer((request, response) => {
    void json(request).then((body) => {
      const question = v.parse(asked, body);
      calls.push(question);
      const outcomes = question.decisions.map(({ key }) => outcomeOf(key, calls.length));
      if (outcomes.includes(null)) return request.socket.destroy();
      const results = question.decisions.map(({ key }, at) => {
        return { outcome: outcomes[at], id: null, key, route: "/pay", state: "unknown", ids: [], warnings: [] };
      });
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ until: UNTIL, results, unreachable: [] }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => (calls.length = 0));

async function decide(count: number, ...args: readonly string[]): Promise<CommandOutcome> {
  const { port } = v.parse(v.object({ port: v.number() }), server.address());
  const env = { ONCEWAY_URL: `http://127.0.0.1:${port}`, ONCEWAY_TOKEN: "t".repeat(32), NO_COLOR: "1" };
  const lines = Array.from({ length: count }, (_, at) => JSON.stringify({ key: `k${at + 1}`, decision: "release" }));
  const file = join(folder, "decisions.jsonl");
  await writeFile(file, lines.join("\n"));
  return callOnceway(["records", "decide", "--file", file, "--reason", "x", ...args], env);
}

it("sends again what the gateway had no time for, and each of the others once", async () => {
  outcomeOf = (key, call) => (call === 1 && Number(key.slice(1)) % 2 === 0 ? "not-reached" : "changed");
  const { code, stdout, stderr } = await decide(130, "--yes", "--as-of", UNTIL);
  expect([code, stdout, stderr]).toEqual([0, "carried out: 130 of 130 decisions\n", ""]);
  expect(calls.map(({ decisions, until, confirm }) => [decisions.length, until, confirm])).toEqual([
    [100, UNTIL, true],
    [80, UNTIL, true],
  ]);
  const sent = calls.flatMap(({ decisions }) => decisions.map(({ key }) => key));
  expect(new Set(sent).size).toBe(130);
});

it("says how many were done before the gateway was lost, and how to go on", async () => {
  outcomeOf = (_key, call) => (call === 2 ? null : "changed");
  const { code, stdout, stderr } = await decide(130, "--yes", "--as-of", UNTIL);
  expect([code, stdout]).toEqual([2, "carried out: 100 of 130 decisions\n"]);
  expect(stderr).toContain("The change may have been made all the same");
  expect(stderr).toContain(
    `Stopped there: 30 of 130 decisions have no answer. Run it again with --yes --as-of ${UNTIL}: it goes on with the rest.`,
  );
});

it("does not go on for ever if the gateway has no time at all", async () => {
  outcomeOf = () => "not-reached";
  const { code, stdout, stderr } = await decide(3, "--yes", "--as-of", UNTIL);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("The gateway had no time for any of the next lines. Try again later.");
});

it("shows no part of a preview that is lost", async () => {
  outcomeOf = (_key, call) => (call === 2 ? null : "would-change");
  const { code, stdout } = await decide(130, "--dry-run");
  expect([code, stdout]).toEqual([2, ""]);
  expect(calls.map(({ preview, until }) => [preview, until])).toEqual([
    [true, undefined],
    [true, UNTIL],
  ]);
});

it("passes on a word that it does not know, as something to look at", async () => {
  outcomeOf = (key) => (key === "k2" ? "put-off" : "would-change");
  const { code, stdout, stderr } = await decide(3, "--dry-run");
  expect(code).toBe(1);
  expect(stdout).toContain("2 decisions would be carried out: 2 release\n");
  expect(stderr).toBe("line 2: put-off\n");
});
