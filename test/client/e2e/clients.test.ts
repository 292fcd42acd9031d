// What src/client/README.md tells clients to send and how to retry: each example runs as it stands there, against the gateway,
// with its first answer lost; `onceway/client` from the package as npm packs it.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Behaviour } from "../../support/origin.ts";
import { projectDir } from "../../support/wrangler.ts";
import { type InstalledClient, installClient } from "../../support/e2e/installed-client.ts";
import { type LossyProxy, startLossyProxy } from "../../support/e2e/lossy-proxy.ts";
import { type Scene, startScene } from "../../support/e2e/scene.ts";

let scene: Scene;
let proxy: LossyProxy;
let installed: InstalledClient;
let examples: {
  readonly curl: string;
  readonly fetch: string;
  readonly client: string;
  readonly later: string;
  readonly giveUp: string;
};

beforeAll(async () => {
  // Payments as `npm start` sets them.
  scene = await startScene({}, [
    { path: "/v1/payments/*", unknown: "hold", duplicate: "wait", wait: "10s" },
    { path: "/v1/reports", async: "prefer" },
  ]);
  proxy = await startLossyProxy(scene.gateway.port);
  installed = await installClient();
  examples = await readExamples();
});
afterAll(async () => {
  await installed.remove();
  await proxy.close();
  await scene.close();
});

// The examples have one path and make their own keys.
beforeEach(async () => {
  await scene.origin.reset();
  proxy.forget();
});

/** The examples that clients are given, in their order, with the gateway's address of this run. */
async function readExamples(): Promise<typeof examples> {
  const readme = await readFile(join(projectDir, "src/client/README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```(?:sh|js)\n(.*?)^```/gms)].map(([, code = ""]) =>
    code.replaceAll("http://127.0.0.1:8787", proxy.url),
  );
  const [curl = "", fetch = "", client = "", later = "", giveUp = "", ...others] = blocks;
  if (giveUp === "" || others.length > 0) {
    throw new Error(`src/client/README.md has ${blocks.length} examples; this test knows five`);
  }
  return { curl, fetch, client, later, giveUp };
}

async function runModule(name: string, code: string): Promise<string> {
  await writeFile(join(installed.dir, name), code);
  return installed.run(process.execPath, [name]);
}

/** One effect, two requests with one key, and the first answer printed by the second. */
async function expectOneEffect(printed: string): Promise<void> {
  const [first, second, ...more] = proxy.passages();
  expect(first).toEqual({ key: expect.any(String), status: 201 });
  expect([second, more]).toEqual([first, []]);
  expect(await scene.origin.effects(first?.key ?? "")).toBe(1);
  expect(printed).toMatch(/\beffect"?: ?1\b/);
}

describe("The example in src/client/README.md", () => {
  it("for curl gets a lost answer, with one effect", async () => {
    proxy.loseAnswer("whole");
    await installed.run("bash", ["-c", examples.curl]);
    await expectOneEffect(await readFile(join(installed.dir, "answer.json"), "utf8"));
  });

  it("for curl waits as Retry-After asks, and keeps the last answer only", async () => {
    const refused: Behaviour = { status: 503, headers: [["Retry-After", "2"]], body: "busy, not now", effect: false };
    await scene.origin.behave({}, { sequence: [refused, { status: 201, body: '{"id":1}' }] });
    await installed.run("bash", ["-c", examples.curl]);
    expect(await readFile(join(installed.dir, "answer.json"), "utf8")).toBe('{"id":1}');
    const [first, second] = await scene.origin.requests();
    expect((second?.arrivedAtMs ?? 0) - (first?.answeredAtMs ?? 0)).toBeGreaterThan(1900);
  });

  it("for fetch gets a lost answer, with one effect", async () => {
    proxy.loseAnswer("whole");
    const printed = await runModule("fetch.mjs", examples.fetch);
    await expectOneEffect(printed);
    expect(printed).toMatch(/^201 /);
  });

  it("for fetch returns a problem that no retry can fix", async () => {
    await scene.origin.behave({}, { drop: "after-effect" });
    expect(await runModule("held.mjs", examples.fetch)).toMatch(/^502 .*code: 'origin-dropped'/s);
    expect(proxy.passages()).toHaveLength(1);
  });

  it.each(["whole", "half"] as const)("for onceway/client gets a lost answer (%s), with one effect", async (how) => {
    proxy.loseAnswer(how);
    const printed = await runModule("client.mjs", examples.client);
    await expectOneEffect(printed);
    expect(printed).toMatch(/^201 /);
  });

  it("for an accepted request prints its result, with one effect", async () => {
    await scene.origin.behave({}, { delayMs: 1_500, status: 201, body: "a report" });
    expect(await runModule("later.mjs", examples.later)).toBe("201 a report\n");
    const [accepted, looked] = proxy.passages();
    expect([accepted?.status, looked?.status]).toEqual([202, 202]);
    expect(await scene.origin.requests()).toHaveLength(1);
  });

  it("for a key that is given up begins with a new one, and what was sent with the first does nothing", async () => {
    expect(await runModule("give-up.mjs", examples.giveUp)).toBe("201\n");
    expect(await scene.origin.requests()).toHaveLength(1);
    const headers = { Authorization: "Bearer demo", "Idempotency-Key": "the-key-of-the-lost-request" };
    const late = await fetch(`${proxy.url}/v1/payments`, { method: "POST", headers, body: '{"amount":4200}' });
    expect(await late.json()).toMatchObject({ code: "key-abandoned" });
    expect(await scene.origin.requests()).toHaveLength(1);
  });

  it("for onceway/client reports an unknown outcome", async () => {
    await scene.origin.behave({}, { drop: "after-effect" });
    const printed = await runModule("unknown.mjs", examples.client.replace("console.error", "console.log"));
    expect(printed).toMatch(/^unknown [0-9a-f-]{36} origin-dropped\n$/);
  });
});

describe("onceway/client, installed", () => {
  it("has self-contained types", async () => {
    const code = `import { createFetch, IdempotencyError, type Outcome } from "onceway/client";
const send: typeof fetch = createFetch({ tries: 3 });
export const outcome = (error: IdempotencyError): Outcome => error.outcome;
export const status: Promise<number> = send("http://localhost/").then((response) => response.status);
// @ts-expect-error: a number of tries is a number.
createFetch({ tries: "3" });
`;
    await writeFile(join(installed.dir, "consumer.mts"), code);
    const tsc = join(projectDir, "node_modules/.bin/tsc");
    const strict = ["--strict", "--noEmit", "--target", "es2022"];
    for (const mode of [
      ["--module", "nodenext"],
      ["--module", "esnext", "--moduleResolution", "bundler"],
    ]) {
      expect(await installed.run(tsc, [...strict, ...mode, "consumer.mts"])).toBe("");
    }
  });
});
