// Commands that work in parts, against an API made up by the test that refuses a later part: what was done before is said.

import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CommandOutcome, runOnceway } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";

const UNTIL = "2026-11-23T03:12:40.118Z";
const NO_MORE = 'The list has grown too much. Begin again with the same until and "without" a cursor.';

let server: Server;
/** What the API answers, part by part; after that it refuses. */
let parts: readonly object[] = [];
let refusal: { readonly status: number; readonly code: string } | "lost";
const asked: unknown[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    void json(request).then((body) => {
      asked.push(body);
      const part = parts[asked.length - 1];
      if (part !== undefined) {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify(part));
      }
      if (refusal === "lost") return request.socket.destroy();
      response.writeHead(refusal.status, { "content-type": "application/problem+json" });
      return response.end(JSON.stringify({ code: refusal.code, detail: NO_MORE }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());
beforeEach(() => {
  asked.length = 0;
  refusal = { status: 400, code: "operator-request-invalid" };
});

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  const { port } = v.parse(v.object({ port: v.number() }), server.address());
  const env = { ONCEWAY_URL: `http://127.0.0.1:${port}`, ONCEWAY_TOKEN: "t".repeat(32) };
  const all = [...args, "--reason", "not in the ledger"];
  // It reads the caller's credential from its standard input.
  return args[0] === "callers" ? runOnceway(all, env, "Bearer anna\n") : callOnceway(all, env);
}

const PART = {
  until: UNTIL,
  matched: 5,
  states: { waiting: 0, started: 1, failed: 0, unknown: 4, completed: 0, remembered: 0 },
  changed: 3,
  refused: { inFlight: 1, completed: 0, remembered: 0 },
  skipped: 1,
  unanswered: 0,
  routes: ["/pay"],
  records: [],
  preview: null,
  unreachable: [],
  cursor: "next",
};

describe("a change of all that match", () => {
  const args = ["records", "release", "--all", "--state", "unknown,started", "--yes", "--as-of", UNTIL];

  it("says what was changed before a part was refused, what was left, and how to go on", async () => {
    parts = [PART, PART];
    const { code, stdout, stderr } = await onceway(...args);
    expect([code, stdout]).toEqual([1, "released: 6 of 10 records\n"]);
    expect(stderr).toBe(
      "2 records in flight, or perhaps still running: run it again later.\n" +
        "2 records ended or changed meanwhile: skipped.\n" +
        `operator-request-invalid: ${NO_MORE}\n` +
        `Stopped there: the other records that match were not counted, and some may have been changed. Run it again with --yes --as-of ${UNTIL}.\n`,
    );
    expect(asked).toHaveLength(3);
  });

  it("does so when the gateway is lost, with that exit code, and in JSON", async () => {
    parts = [PART];
    refusal = "lost";
    const { code, stdout, stderr } = await onceway(...args, "--json");
    expect(code).toBe(2);
    const { cursor: _, ...totals } = PART;
    expect(JSON.parse(stdout)).toEqual(expect.objectContaining(totals));
    expect(stderr).toContain("cannot be reached");
    expect(stderr).toContain("Stopped there");
  });

  it("only says why when the first part is refused, or a preview", async () => {
    parts = [];
    expect(await onceway(...args)).toEqual({
      code: 1,
      stdout: "",
      stderr: `operator-request-invalid: ${NO_MORE}\n`,
    });
    asked.length = 0;
    parts = [PART];
    expect(await onceway("records", "release", "--all", "--state", "unknown", "--dry-run")).toEqual({
      code: 1,
      stdout: "",
      stderr: `operator-request-invalid: ${NO_MORE}\n`,
    });
  });

  it("shows of a response what the replays of all routes have, also of those that come later", async () => {
    const shown = (omitted: string, kept: string) => ({
      status: 201,
      headers: [
        [kept, "1"],
        ["x-both", "2"],
      ],
      omittedHeaders: [omitted],
      sizeBytes: 0,
      body: "",
      warnings: [],
    });
    parts = [
      { ...PART, preview: shown("x-one", "x-two") },
      { ...PART, routes: ["/other"], preview: shown("x-two", "x-one"), cursor: null },
    ];
    const headers = ["--header", "x-one: 1", "--header", "x-two: 1", "--header", "x-both: 2"];
    const { code, stdout } = await onceway(
      "records",
      "resolve",
      "--all",
      "--state",
      "unknown",
      "--status",
      "201",
      ...headers,
      "--dry-run",
      "--json",
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      routes: ["/pay", "/other"],
      preview: { headers: [["x-both", "2"]], omittedHeaders: ["x-one", "x-two"] },
    });
  });
});

it("forgets a caller and says how many records it has forgotten when a part is refused", async () => {
  const part = { forgotten: 4, inFlight: 0, unknown: 1, events: 3, notListed: [], unreachable: [], cursor: "next" };
  parts = [part, part];
  refusal = { status: 503, code: "store-unavailable" };
  const { code, stdout, stderr } = await onceway("callers", "forget", "--scope", "header:authorization", "--yes");
  expect([code, stdout]).toEqual([1, "forgotten: 8 records and 6 events\n"]);
  expect(stderr).toContain(`store-unavailable: ${NO_MORE}\nStopped there`);
});

it.each([
  ["resend", "sent again: 400 events\n"],
  ["drop", "dropped: 400 events\n"],
])("events %s says how many events it has changed when a part is refused", async (action, done) => {
  const notAsked = { earlier: 0, missing: 0, oldestAnswerAt: null };
  parts = [{ events: 400, more: true, unreachable: [], notAsked }];
  refusal = "lost";
  const { code, stdout, stderr } = await onceway("events", action, "billing", "--yes");
  expect([code, stdout]).toEqual([2, done]);
  expect(stderr).toContain("cannot be reached");
  expect(stderr).toContain("Stopped there");
});

it("a change whose answer is lost may have been made, and a preview changes nothing", async () => {
  parts = [];
  refusal = "lost";
  const all = ["records", "release", "--all", "--state", "unknown"];
  const maybe = "The change may have been made all the same: look before you repeat it.";
  const changed = await onceway(...all, "--yes", "--as-of", UNTIL);
  expect([changed.code, changed.stderr]).toEqual([2, expect.stringContaining(maybe)]);
  const previewed = await onceway(...all, "--dry-run");
  expect([previewed.code, previewed.stderr]).toEqual([2, expect.not.stringContaining(maybe)]);
});
