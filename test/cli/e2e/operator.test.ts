// The operator's commands against a real gateway: an outcome that is unknown is found, understood and settled from the command line. What
// clients then get of each decision: operator/e2e/operator-records.test.ts.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operatorClient } from "../../../src/cli/operator-client.ts";
import { summarySchema } from "../../../src/operator/record-schema.ts";
import { readPages } from "../../../src/cli/read-pages.ts";
import type { CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { type Client, clientOf } from "../../support/e2e/scene.ts";

const ADMIN_TOKEN = randomBytes(24).toString("hex");
const READ_TOKEN = randomBytes(24).toString("hex");

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-cli-"));
  origin = await startOrigin();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: 4 },
    ROUTES: [{ path: "/hold/*", unknown: "hold", timeout: "2s", lock: "3s" }, { path: "/pay/*" }, { path: "/many/*" }],
  };
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars, bindings: { ADMIN_TOKEN, READ_TOKEN } });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await rm(folder, { recursive: true });
});

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });
}

async function list(...args: readonly string[]): Promise<readonly v.InferOutput<typeof summarySchema>[]> {
  const { code, stdout, stderr } = await onceway("records", "list", "--json", ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => v.parse(summarySchema, JSON.parse(line)));
}

async function idOf(key: string): Promise<string> {
  const [record] = await list("--key", key);
  if (record === undefined) throw new Error(`no record of ${key}`);
  return record.id;
}

/** A key whose operation took effect at the origin, and whose answer was lost. */
async function unknownKey(): Promise<string> {
  const key = freshKey();
  await origin.behave({ key }, { sequence: [{ drop: "after-effect" }, { status: 201, body: "second" }] });
  expect((await client.send({ path: `/hold/${key}`, key })).status).toBe(502);
  return key;
}

describe("ls", () => {
  it("lists records with an unknown outcome, as a table and as JSON", async () => {
    const key = await unknownKey();
    expect(await list("--key", key, "--state", "unknown,failed", "--route", "/hold/*")).toMatchObject([
      { key, state: "unknown", route: "/hold/*", attempt: 1 },
    ]);
    expect(await list("--key", key, "--state", "completed")).toEqual([]);
    expect(await list("--key", key, "--until", "1h")).toEqual([]);
    const { stdout } = await onceway("records", "list", "--key", key);
    expect(stdout).toMatch(new RegExp(`^STATE .* ID\nunknown .* POST /hold/[^ ]+ +${key} +${await idOf(key)}\n$`));
  });

  it("says that there are no records", async () => {
    expect(await onceway("records", "list", "--key", freshKey())).toEqual({
      code: 0,
      stdout: "no records\n",
      stderr: "",
    });
  });

  it("follows the cursors, and says when it stopped early", async () => {
    const keys = Array.from({ length: 12 }, () => freshKey());
    await Promise.all(keys.map((key) => client.send({ path: `/many/${key}`, key })));
    const all = await list("--route", "/many/*", "--all");
    expect(all.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    const paged: string[] = [];
    const api = operatorClient(new URL(gateway.url), ADMIN_TOKEN);
    for await (const page of readPages(api, { route: "/many/*" }, Number.POSITIVE_INFINITY, 5)) {
      expect(page.length).toBeLessThanOrEqual(5);
      paged.push(...page.map(({ key }) => key));
    }
    expect(paged.toSorted()).toEqual(keys.toSorted());
    const some = await onceway("records", "list", "--json", "--route", "/many/*", "--limit", "5");
    expect(some.stdout.trimEnd().split("\n")).toHaveLength(5);
    expect(some.stderr).toContain("There may be more");
  });

  it("says what happened to all unknown ones, or of which it says it", async () => {
    const keys = [await unknownKey(), await unknownKey(), await unknownKey()];
    const unknown = ["records", "list", "--state", "unknown", "--route", "/hold/*"] as const;
    const some = await onceway(...unknown, "--limit", "2");
    expect(some.stdout).toMatch(/^unknown: 2\+ on \/hold\/\*, .* UTC, origin-dropped\n/);
    const all = await onceway(...unknown, "--all");
    expect(all.stdout).toMatch(/^unknown: \d+ on \/hold\/\*, .* UTC, origin-dropped\n/);
    for (const key of keys) expect(all.stdout).toContain(key);
  });
});

describe("show", () => {
  it("shows a record's timeline by its key, and the possible actions", async () => {
    const key = await unknownKey();
    const { code, stdout } = await onceway("records", "show", "--key", key);
    expect(code).toBe(0);
    expect(stdout).toContain(`key           ${key}`);
    expect(stdout).toMatch(/attempt 1 ambiguous after \d+m?s: origin-dropped/);
    expect(stdout).toContain(`npx onceway records release ${await idOf(key)}`);
  });

  it("prints the stored bytes and nothing else with --body", async () => {
    const key = freshKey();
    await origin.behave({ key }, { status: 201, body: "\u0001stored, no newline" });
    await client.send({ path: `/pay/${key}`, key });
    const stdout = "\u0001stored, no newline";
    expect(await onceway("records", "show", "--key", key, "--body")).toEqual({ code: 0, stdout, stderr: "" });
  });

  it("asks which record is meant when a key has records in two scopes", async () => {
    const key = freshKey();
    for (const credential of ["one", "two"]) {
      await client.send({ path: `/pay/${key}`, key, headers: [["Authorization", credential]] });
    }
    const { code, stdout, stderr } = await onceway("records", "show", "--key", key);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.match(/^ {2}[0-9a-f]{64} {2}completed {2}\/pay\/\*$/gm)).toHaveLength(2);
  });

  it("exits with 1 for a record that does not exist", async () => {
    const byKey = await onceway("records", "show", "--key", freshKey());
    const byId = await onceway("records", "show", "0".repeat(64));
    expect([byKey.code, byId.code]).toEqual([1, 1]);
    expect(byId.stderr).toContain("record-not-found");
  });
});

describe("release, resolve, forget", () => {
  it("release says which attempt the next request starts", async () => {
    const key = await unknownKey();
    const { code, stdout } = await onceway("records", "release", "--key", key, "--reason", "not in the books");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^released: [0-9a-f]{64}\n[^]* The next request with this key starts attempt 2/);
    expect(stdout).toMatch(/release by admin: not in the books/);
    expect(await list("--key", key)).toMatchObject([{ state: "failed" }]);
  });

  it("resolve gives retries the response that the operator found", async () => {
    const key = await unknownKey();
    const file = join(folder, "body");
    await writeFile(file, Buffer.from([0, 255, 10]));
    const response = ["--status", "202", "-H", "Content-Type: application/x-bytes", "--body-file", file];
    const { code, stdout } = await onceway(
      "records",
      "resolve",
      await idOf(key),
      ...response,
      "--yes",
      "--reason",
      "found",
      "--json",
    );
    expect({ code, state: v.parse(summarySchema, JSON.parse(stdout)).state }).toEqual({ code: 0, state: "completed" });
    const answer = await client.send({ path: `/hold/${key}`, key });
    expect(answer.status).toBe(202);
    expect(headerValue(answer, "content-type")).toBe("application/x-bytes");
    expect(headerValue(answer, "idempotent-replayed")).toBe("true");
    expect([...answer.body]).toEqual([0, 255, 10]);
    expect(await origin.requests(key)).toHaveLength(1);
  });

  it("forget makes the next request a first one", async () => {
    const key = freshKey();
    await client.send({ path: `/pay/${key}`, key });
    const id = await idOf(key);
    const forgotten = await onceway("records", "forget", id, "--reason", "asked to");
    expect(forgotten).toEqual({ code: 0, stdout: `forgotten: ${id}\n`, stderr: "" });
    expect(await list("--key", key)).toEqual([]);
  });

  it("shows the gateway's refusal and exits with 1", async () => {
    const key = freshKey();
    await origin.behave({ key }, { hold: true });
    const first = client.send({ path: `/pay/${key}`, key });
    await origin.arrived(key);
    const { code, stdout, stderr } = await onceway("records", "release", "--key", key, "--reason", "impatient");
    await origin.release(key);
    await first;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^change-refused: .* Try again in \d+ s\.$/m);
  });
});

describe("tokens", () => {
  it("may come from a file, and a read-only token changes nothing", async () => {
    const key = await unknownKey();
    const file = join(folder, "token");
    await writeFile(file, `${READ_TOKEN}\n`);
    const common = ["--url", gateway.url, "--token-file", file];
    expect((await callOnceway(["records", "show", "--key", key, ...common])).code).toBe(0);
    const refused = await callOnceway(["records", "release", "--key", key, "--reason", "x", ...common]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("operator-forbidden");
    expect(refused.stderr).toContain("ADMIN_TOKEN");
    expect(await list("--key", key)).toMatchObject([{ state: "unknown" }]);
  });

  it("are refused with a hint about where they came from", async () => {
    const env = { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: "t".repeat(48) };
    const { code, stderr } = await callOnceway(["records", "list"], env);
    expect(code).toBe(2);
    expect(stderr).toContain("ONCEWAY_TOKEN or --token-file");
  });

  it("find no API where the gateway serves no operators, and are told where to look", async () => {
    const elsewhere = `${gateway.url}/elsewhere`;
    const { code, stderr } = await callOnceway(["layouts", "list"], {
      ONCEWAY_URL: elsewhere,
      ONCEWAY_TOKEN: ADMIN_TOKEN,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining("--operator-port")]);
  });

  it("find no API at a server that is not a gateway", async () => {
    const { code, stderr } = await callOnceway(["records", "list"], {
      ONCEWAY_URL: origin.url,
      ONCEWAY_TOKEN: ADMIN_TOKEN,
    });
    expect(code).toBe(2);
    expect(stderr).toContain("Check --url");
  });
});
