// The public conformance suite, run whole against the real gateway as anybody would run it: by its command, with its own origin
// behind the gateway, and with a command that kills the gateway's process (SIGKILL) and starts it again on the same state.

import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import * as v from "valibot";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CASES } from "../../../../src/conformance/catalogue.ts";
import { type CommandOutcome, startOnceway } from "../../../support/command-line.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { listen } from "../../../support/origin-server.ts";
import { freePort } from "../../../support/ports.ts";
import { removeGateway, startGateway } from "../../../support/e2e/scene.ts";

let gateway: Gateway;
let originPort: number;
let restarter: Server;
let restartCommand: string;
let restarts = 0;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-conformance-"));
  originPort = await freePort();
  const settings = { shards: 4, timeout: "4s", lock: "5s", retention: "8s" };
  const routes = [
    { path: "/v1/payments/*", methods: ["POST", "PATCH"] },
    { path: "/waits/*", methods: ["POST", "PATCH"], duplicate: "wait", wait: "4s" },
    { path: "/repeats/*", methods: ["POST"], unknown: "retry" },
  ];
  gateway = await startGateway(`http://127.0.0.1:${originPort}`, settings, routes);
  restarter = createServer((_, response) => {
    void (async () => {
      await gateway.kill9();
      gateway = await gateway.restart();
      restarts += 1;
      response.end();
    })();
  });
  const { port } = await listen(restarter, 0);
  restartCommand = `"${process.execPath}" -e "fetch('http://127.0.0.1:${port}')"`;
});
afterAll(async () => {
  restarter.close();
  await removeGateway(gateway);
  await rm(folder, { recursive: true });
});

const reportSchema = v.object({
  mode: v.string(),
  totals: v.object({
    passed: v.number(),
    skipped: v.number(),
    failed: v.object({ MUST: v.number(), SHOULD: v.number(), MAY: v.number() }),
  }),
  results: v.array(v.object({ id: v.string(), result: v.string(), why: v.optional(v.string()) })),
});

async function conform(path: string, ...args: readonly string[]): Promise<CommandOutcome> {
  return startOnceway(["conformance", gateway.url, "--path", path, ...args]).outcome;
}

const notPassed = (stdout: string) =>
  v
    .parse(reportSchema, JSON.parse(stdout))
    .results.filter(({ result }) => result !== "passed")
    .map(({ id, result, why }) => `${id} ${result}: ${why}`);

it("passes every case, crashes included", async () => {
  const junit = join(folder, "junit.xml");
  const whole = ["--restart-command", restartCommand, "--lock", "5s", "--retention", "8s", "--junit", junit, "--json"];
  const { stdout, stderr, code } = await conform("/v1/payments", "--origin-port", String(originPort), ...whole);
  expect(stderr).toBe("");
  expect(notPassed(stdout)).toEqual([]);
  expect(v.parse(reportSchema, JSON.parse(stdout)).results.map(({ id }) => id)).toEqual(CASES.map(({ id }) => id));
  expect(code).toBe(0);
  expect(restarts).toBe(5);
  expect(await readFile(junit, "utf8")).toContain(`tests="${CASES.length}" failures="0" skipped="0"`);
});

it("passes where duplicates wait: then nobody is told when to come back", async () => {
  const { stdout } = await conform(
    "/waits",
    "--origin-port",
    String(originPort),
    "--json",
    ...["syntax", "replay", "mismatch", "concurrency", "streaming"].flatMap((group) => ["--only", group]),
  );
  expect(notPassed(stdout)).toEqual([
    "concurrency.retry-after skipped: duplicates wait for the first answer",
    "concurrency.form skipped: duplicates wait for the first answer",
    "concurrency.lock skipped: needs --lock",
  ]);
});

it("accepts a second attempt only of a server that publishes it", async () => {
  const { stdout } = await conform(
    "/repeats",
    "--origin-port",
    String(originPort),
    "--json",
    "--lock",
    "5s",
    ...["failures.dropped", "failures.server-error", "streaming.cut-retry"].flatMap((id) => ["--only", id]),
  );
  expect(notPassed(stdout)).toEqual([]);
});

/** A server in the test's own process: an API, or none. */
async function serving(
  answer: (key: string | undefined) => string,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    const { method, headers } = request;
    request.resume().on("end", () => {
      if (method === "GET") response.writeHead(404).end();
      else response.writeHead(201).end(answer(String(headers["idempotency-key"])));
    });
  });
  const { port } = await listen(server, 0);
  try {
    await test(`http://127.0.0.1:${port}/things`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it("judges an API by its answers alone, and passes nothing that it cannot see", async () => {
  const kept = new Map<string | undefined, string>();
  const keep = (key: string | undefined): string => {
    const answer = kept.get(key) ?? `thing ${kept.size}`;
    kept.set(key, answer);
    return answer;
  };
  await serving(keep, async (url) => {
    const { stdout, code } = await startOnceway(["conformance", url, "--json"]).outcome;
    expect(code).toBe(1);
    const found = notPassed(stdout);
    expect(found).toContain("mismatch.body failed: the other request got 201, not a refusal");
    expect(found).toContain("concurrency.in-flight skipped: needs --origin-port, to count calls");
    expect(found).toContain("scopes.callers skipped: needs --caller and --other-caller");
    expect(found).toContain("crash.finished skipped: needs --restart-command");
    expect(found.filter((line) => line.startsWith("replay."))).toEqual([
      "replay.request-unchanged skipped: needs --origin-port, to count calls",
      "replay.headers skipped: needs --origin-port, to count calls",
      "replay.cookies skipped: needs --origin-port, to count calls",
      "replay.marked failed: no header marks the replay, such as Idempotent-Replayed: true",
    ]);
    // The draft asks for less.
    const draft = await startOnceway(["conformance", url, "--by", "draft", "--only", "mismatch.body"]).outcome;
    expect(draft).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 case: 0 passed, 0 MUST failed, 1 SHOULD"),
    });
  });
});

it("sends an API the bodies and the callers that it is told, with a new token for each case", async () => {
  const caller = join(folder, "caller.txt");
  const otherCaller = join(folder, "other-caller.txt");
  await writeFile(caller, "authorization: Bearer one\n");
  await writeFile(otherCaller, "authorization: Bearer two\n");
  const received: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      received.push(`${request.headers.authorization ?? "nobody"} ${body}`);
      response.writeHead(request.method === "GET" ? 404 : 201).end(randomUUID());
    });
  });
  const { port } = await listen(server, 0);
  const bodies = ["--body", "a {token}", "--other-body", "b {token}", "--content-type", "text/plain"];
  const callers = ["--caller", `@${caller}`, "--other-caller", `@${otherCaller}`, "--only", "scopes", "--json"];
  const { stdout } = await startOnceway(["conformance", `http://127.0.0.1:${port}/`, ...bodies, ...callers]).outcome;
  server.close();
  expect(notPassed(stdout)).toEqual([
    "scopes.separate failed: the first caller's retry got another body than the first request",
  ]);
  const seen = received.map((line) => line.replace(/case-[0-9a-f-]{36}/, "…"));
  expect(new Set(seen)).toEqual(
    new Set(["Bearer one ", "Bearer one a …", "Bearer two a …", "nobody a …", "Bearer two b …"]),
  );
  expect(new Set(received.flatMap((line) => /case-\S+/.exec(line) ?? [])).size).toBe(5);
});

it.each([
  ["whose answers are all the same", () => "done", [], "two operations got the same answer"],
  ["that does not forward to the suite's origin", () => randomUUID(), ["--origin-port", "0"], "called nothing at port"],
])("does not test a server %s", async (_what, answer, args, message) => {
  await serving(answer, async (url) => {
    const { code, stderr } = await startOnceway(["conformance", url, "--json", ...args]).outcome;
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

it.each([
  [["http://127.0.0.1:9/x", "--only", "none"], "No group or case is called none: --list shows them."],
  [["http://127.0.0.1:9/x", "--origin-port", "70000"], "--origin-port 70000: must be a port"],
  [["http://127.0.0.1:9/x", "--path", "x"], '--path x: must begin with "/"'],
  [["http://127.0.0.1:9/x", "--lock", "5"], "--lock "],
  [["http://127.0.0.1:9/x", "--other-caller", "a: b"], "--other-caller needs --caller"],
  [["http://127.0.0.1:9/x", "--tool", "pay"], "go with the profiles ucp-mcp, mcp, adcp"],
  [["http://127.0.0.1:9/x", "--profile", "mcp", "--body", "{}"], "write --tool and --arguments, not --body"],
  [["http://127.0.0.1:9/x", "--profile", "mcp", "--arguments", "[]"], "--arguments must be a JSON object"],
  [["ftp://127.0.0.1/x"], "must be an http or https URL"],
  [[], "Missing URL"],
  [["http://127.0.0.1:9/x"], "no answer"],
])("says what is wrong with %j", async (args, message) => {
  const { code, stderr } = await startOnceway(["conformance", ...args]).outcome;
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
