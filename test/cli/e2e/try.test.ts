// `onceway try` against the real gateway, and directly against an origin: what it prints, and what the origin has received.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandOutcome } from "../../support/command-line.ts";
import { wranglerToml } from "../../../src/cli/init-file.ts";
import { USUAL } from "../../../src/cli/init-plan.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import { freePort } from "../../support/ports.ts";
import { type Scene, startScene } from "../../support/e2e/scene.ts";

const ROUTES = [
  { path: "/pay/*" },
  { path: "/blind/*", fingerprint: { body: "none" } },
  { path: "/small/*", max_response_body: 10 },
  { path: "/hold/*", unknown: "hold" },
  { path: "/named/*", key_from: ["header:X-Request-Key"] },
];

const PATHS = ROUTES.map(({ path }) => path);

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 2 }, ROUTES);
});
afterAll(() => scene.close());

const trialSchema = v.object({
  diagnosis: v.string(),
  works: v.boolean(),
  key: v.string(),
  happened: v.array(v.string()),
  advice: v.nullable(v.string()),
  answers: v.array(v.object({ status: v.number(), replayed: v.boolean(), problem: v.nullable(v.string()) })),
});

function gateway(path: string): string {
  return `${scene.gateway.url}${path}`;
}

/** With `--json --yes`: what it found. */
async function trial(
  url: string,
  ...args: readonly string[]
): Promise<v.InferOutput<typeof trialSchema> & { code: number }> {
  const { code, stdout, stderr } = await callOnceway(["try", url, "--yes", "--json", ...args]);
  expect(stderr).toBe("");
  return { code, ...v.parse(trialSchema, JSON.parse(stdout)) };
}

describe("on a protected route", () => {
  it("proves the replay, with one effect, and explains it", async () => {
    const key = freshKey();
    const { code, stdout, stderr } = await callOnceway([
      "try",
      gateway(`/pay/${key}`),
      "--yes",
      "--key",
      key,
      "-d",
      '{"a":1}',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`key ${key}`);
    expect(stdout).toMatch(/the same again +201 Created .*replayed, kept until .* GMT/);
    expect(stdout).toContain(
      "✓ The second request got the first one's answer, byte for byte, and the origin was called once.",
    );
    expect(await scene.origin.effects(key)).toBe(1);
    const [request] = await scene.origin.requests(key);
    expect(request?.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1]).toBe("application/json");
  });

  it("sends another body with --mismatch and expects its refusal", async () => {
    const key = freshKey();
    const { code, diagnosis, answers } = await trial(
      gateway(`/pay/${key}`),
      "--mismatch",
      "--key",
      key,
      "-d",
      '{"a":1}',
    );
    expect({ code, diagnosis }).toEqual({ code: 0, diagnosis: "protected" });
    expect(answers.map(({ status, problem }) => [status, problem])).toEqual([
      [201, null],
      [201, null],
      [422, "key-reused"],
    ]);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("says that a route which ignores bodies replays a changed one", async () => {
    const { code, happened } = await trial(gateway(`/blind/${freshKey()}`), "--mismatch", "-d", "text");
    expect(code).toBe(0);
    expect(happened.join(" ")).toContain('right only with fingerprint.body = "none"');
  });

  it("says that a key which was used before got its first answer back", async () => {
    const key = freshKey();
    const url = gateway(`/pay/${key}`);
    await trial(url, "--key", key);
    const { code, happened } = await trial(url, "--key", key);
    expect(code).toBe(0);
    expect(happened[0]).toContain("This key had been used before");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("says that the second request was not forwarded where no answer is kept", async () => {
    const key = freshKey();
    const { code, diagnosis, happened, advice } = await trial(gateway(`/small/${key}`), "--key", key);
    expect({ code, diagnosis }).toEqual({ code: 0, diagnosis: "protected" });
    expect(happened[0]).toContain("response-not-kept");
    expect(advice).toContain("max_response_body");
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

describe("when the result proves nothing", () => {
  it("explains a refusal by the origin, which is called again", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { status: 503, effect: false });
    const { code, diagnosis } = await trial(gateway(`/pay/${key}`), "--key", key);
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "not-kept" });
    expect(await scene.origin.requests(key)).toHaveLength(2);
  });

  it.each([
    ["/named/x", [], "key-missing", "--key-header"],
    ["/pay/x", ["--key", "two,keys"], "key-invalid", "--key"],
  ])("sends no second request after the gateway's own problem (%s %j)", async (path, args, problem, advised) => {
    const { code, diagnosis, answers, advice } = await trial(gateway(path), ...args);
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "problem" });
    expect(answers.map((answer) => answer.problem)).toEqual([problem]);
    expect(advice).toContain(advised);
  });

  it("says what to do about a dropped call on a route with hold", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { drop: "after-effect" });
    const { code, diagnosis, answers } = await trial(gateway(`/hold/${key}`), "--key", key);
    expect({ code, diagnosis, problem: answers[0]?.problem }).toEqual({
      code: 1,
      diagnosis: "problem",
      problem: "origin-dropped",
    });
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

describe("without protection", () => {
  it("lists the routes for a path without one, and says that the origin acted twice", async () => {
    const key = freshKey();
    const { code, diagnosis, happened, advice } = await trial(gateway(`/other/${key}`), "--key", key, "--mismatch");
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "route-not-protected" });
    expect(happened.join(" ")).toContain("POST,PATCH /pay/*");
    expect(advice).toContain(`path = "/other/${key}"`);
    expect(await scene.origin.effects(key)).toBe(2);
  });

  it("says that the server is not Onceway, and sends no third request", async () => {
    const key = freshKey();
    const url = `${scene.origin.url}/pay/${key}`;
    const { code, diagnosis, happened } = await trial(url, "--key", key, "--mismatch");
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "no-gateway" });
    expect(happened[0]).toContain("No Onceway here");
    expect(await scene.origin.effects(key)).toBe(2);
  });

  it("does not mistake an origin's problem for the gateway's", async () => {
    const key = freshKey();
    const headers: [string, string][] = [["Content-Type", "application/problem+json"]];
    const body = JSON.stringify({ type: "/busy", code: "in-flight", detail: "Busy." });
    await scene.origin.behave({ key }, { status: 409, headers, body });
    const { diagnosis, answers } = await trial(`${scene.origin.url}/pay/${key}`, "--key", key);
    expect(diagnosis).toBe("no-gateway");
    expect(answers.map(({ problem }) => problem)).toEqual([null, null]);
  });

  it("is not deceived by an origin that echoes the key", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { headers: [["Idempotency-Key", key]] });
    const { code, diagnosis } = await trial(`${scene.origin.url}/pay/${key}`, "--key", key);
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "no-gateway" });
  });

  it("notices a replay with different bytes", async () => {
    const key = freshKey();
    const headers = [
      ["Idempotency-Key", key],
      ["Idempotent-Replayed", "true"],
    ] as [string, string][];
    await scene.origin.behave(
      { key },
      {
        sequence: [
          { headers, body: "one" },
          { headers, body: "two" },
        ],
      },
    );
    const { code, diagnosis } = await trial(`${scene.origin.url}/pay/${key}`, "--key", key);
    expect({ code, diagnosis }).toEqual({ code: 1, diagnosis: "replay-differs" });
  });
});

describe("before anything is sent", () => {
  async function refused(...args: readonly string[]): Promise<CommandOutcome> {
    const outcome = await callOnceway(["try", ...args]);
    expect(outcome).toMatchObject({ code: 2, stdout: "" });
    return outcome;
  }

  it("warns, and sends nothing without --yes when there is no terminal", async () => {
    const key = freshKey();
    const url = `${scene.origin.url}/pay/${key}`;
    const { stderr } = await refused(url, "--key", key);
    expect(stderr).toContain("the operation takes effect TWICE");
    expect(stderr).toContain("Nothing was sent: add --yes");
    expect(await scene.origin.requests(key)).toEqual([]);
  });

  it("looks for the API of the gateway that runs with the file of this folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "onceway-try-"));
    const dead = `http://127.0.0.1:${await freePort()}`;
    const paths = { main: "index.ts", schema: "schema.json", settings: "README.md" };
    const write = (origin: string, routes: readonly string[]): Promise<void> =>
      writeFile(join(folder, "wrangler.toml"), wranglerToml({ ...USUAL, name: "pay", origin, routes, paths }));
    const before = process.cwd();
    process.chdir(folder);
    try {
      const key = freshKey();
      const call = () => callOnceway(["try", gateway(`/pay/${key}`), "--key", key, "--yes"]);
      await write(dead, PATHS);
      expect(await call()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `No answer from ${dead}, which wrangler.toml names. Is the name right, and does it listen? Try: curl -i ${dead}/`,
        ),
      });
      expect(await scene.origin.requests(key)).toEqual([]);
      // It is another gateway's file, or its API is there.
      await write(dead, ["/other"]);
      expect(await call()).toMatchObject({ code: 0 });
      await write(scene.origin.url, PATHS);
      expect(await call()).toMatchObject({ code: 0 });
    } finally {
      process.chdir(before);
      await rm(folder, { recursive: true });
    }
  });

  it("says that the server is unreachable", async () => {
    const { stderr } = await refused(`http://127.0.0.1:${await freePort()}/pay`, "--yes");
    expect(stderr).toContain("nothing listens there");
  });
});
