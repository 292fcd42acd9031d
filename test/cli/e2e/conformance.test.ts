// `onceway conformance` as programs and people at a terminal see it: what it prints as JSON, and what is left when Ctrl-C ends it in the
// middle. What it judges is tested in e2e/contract/conformance-suite.test.ts.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CASES } from "../../../src/conformance/catalogue.ts";
import { startOnceway } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { listen } from "../../support/origin-server.ts";
import { freePort } from "../../support/ports.ts";

let server: Server;
let url = "";
let folder = "";
/** Answers one operation; by default each key has its own thing, and a repeated one gets the same again. */
let answer: (key: string, response: ServerResponse) => void;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-conformance-cli-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  const things = new Map<string, string>();
  answer = (key, response) => {
    const thing = things.get(key) ?? `thing ${things.size}`;
    things.set(key, thing);
    response.writeHead(201).end(thing);
  };
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (request.method === "GET") response.writeHead(404).end();
      else answer(String(request.headers["idempotency-key"]), response);
    });
  });
  const { port } = await listen(server, 0);
  url = `http://127.0.0.1:${port}/things`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const LEVEL = v.picklist(["MUST", "SHOULD", "MAY"]);
const caseEntries = {
  id: v.string(),
  group: v.string(),
  level: LEVEL,
  says: v.string(),
  profile: v.string(),
  draft: v.nullable(v.strictObject({ section: v.string(), level: LEVEL })),
  needs: v.array(v.string()),
};
const reportSchema = v.strictObject({
  target: v.string(),
  mode: v.picklist(["api", "gateway"]),
  profile: v.literal("idempotency"),
  by: v.picklist(["profile", "draft"]),
  totals: v.strictObject({
    passed: v.number(),
    skipped: v.number(),
    failed: v.strictObject({ MUST: v.number(), SHOULD: v.number(), MAY: v.number() }),
  }),
  results: v.array(
    v.variant("result", [
      v.strictObject({ ...caseEntries, result: v.literal("passed"), durationMs: v.number() }),
      v.strictObject({
        ...caseEntries,
        result: v.picklist(["failed", "skipped"]),
        why: v.string(),
        durationMs: v.number(),
      }),
    ]),
  ),
});

describe("with --json", () => {
  it("is one object, with each member that the page names, and totals that are those of its results", async () => {
    const args = ["--only", "replay", "--only", "mismatch.body", "--only", "crash"];
    const { code, stdout, stderr } = await callOnceway(["conformance", url, "--json", ...args]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout.endsWith("}\n")).toBe(true);
    const { target, mode, by, totals, results } = v.parse(reportSchema, JSON.parse(stdout));
    expect({ target, mode, by }).toEqual({ target: `POST ${url}`, mode: "api", by: "profile" });
    const asked = CASES.filter(({ id }) => id === "mismatch.body" || /^(?:replay|crash)\./.test(id));
    expect(results.map(({ id }) => id)).toEqual(asked.map(({ id }) => id));
    const count = (is: string, level = /./): number =>
      results.filter((one) => one.result === is && level.test(one.level)).length;
    expect(totals).toEqual({
      passed: count("passed"),
      skipped: count("skipped"),
      failed: { MUST: count("failed", /MUST/), SHOULD: count("failed", /SHOULD/), MAY: count("failed", /MAY/) },
    });
    // Each kind of result is there.
    expect([count("passed"), count("skipped"), totals.failed.MUST].every((number) => number > 0)).toBe(true);
  });

  it("lists the cases without sending anything", async () => {
    let sent = 0;
    answer = (_, response) => {
      sent += 1;
      response.end();
    };
    const { code, stdout, stderr } = await callOnceway(["conformance", url, "--list", "--json"]);
    expect({ code, stderr, sent }).toEqual({ code: 0, stderr: "", sent: 0 });
    const listed = v.parse(v.array(v.strictObject(caseEntries)), JSON.parse(stdout));
    expect(listed.map(({ id }) => id)).toEqual(CASES.map(({ id }) => id));
  });

  it("prints nothing of a server that cannot be tested, and says why on stderr", async () => {
    answer = (_, response) => response.writeHead(401).end("who are you?");
    const junit = join(folder, "untested.xml");
    const { code, stdout, stderr } = await callOnceway(["conformance", url, "--json", "--junit", junit]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("a first request got 401, so nothing can be tested");
    expect(existsSync(junit)).toBe(false);
  });
});

describe("on Ctrl-C", () => {
  /** Answers this many operations, and holds the next. Resolves when that one is there; `left` when its connection has ended. */
  function holdAfter(answered: number): { readonly held: Promise<void>; readonly left: Promise<void> } {
    const held = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const answers = answer;
    let count = 0;
    answer = (key, response) => {
      count += 1;
      if (count <= answered) return answers(key, response);
      response.on("close", () => left.resolve());
      held.resolve();
    };
    return { held: held.promise, left: left.promise };
  }

  it("ends at once by the signal, in the middle of a case: what was judged is printed, and no totals", async () => {
    // The greeting's two, and the first case's.
    const { held, left } = holdAfter(3);
    const command = startOnceway(["conformance", url, "--only", "syntax"]);
    await held;
    await command.printed("syntax.quoted");
    command.interrupt();
    const { code, stdout, stderr } = await command.outcome;
    // A shell says 130.
    expect({ code, stderr }).toEqual({ code: -1, stderr: "" });
    expect(stdout).toMatch(/^POST .*\n.*\n\nsyntax\n {2}✓ MUST +syntax\.quoted .*\n$/);
    await left;
  });

  it("prints no half a report, and frees the port of its origin", async () => {
    const port = await freePort();
    const held = Promise.withResolvers<void>();
    let count = 0;
    // A gateway without protection, whose third operation waits for ever.
    server.removeAllListeners("request").on("request", ({ method = "GET", url: target = "/", headers }, response) => {
      if (method === "GET") return response.writeHead(404).end();
      count += 1;
      if (count > 2) return held.resolve();
      const token = String(headers["x-conformance-case"]);
      void fetch(`http://127.0.0.1:${port}${target}`, { method, headers: { "x-conformance-case": token } }).then(
        async (called) => response.writeHead(called.status).end(await called.text()),
      );
    });
    const junit = join(folder, "interrupted.xml");
    const args = ["--origin-port", String(port), "--only", "replay", "--json", "--junit", junit];
    const command = startOnceway(["conformance", url, ...args]);
    await held.promise;
    command.interrupt();
    expect(await command.outcome).toEqual({ code: -1, stdout: "", stderr: "" });
    expect(existsSync(junit)).toBe(false);
    const next = createServer();
    expect((await listen(next, port)).port).toBe(port);
    next.close();
  });
});
