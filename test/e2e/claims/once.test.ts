// `once` against a real gateway, and the example of src/claims/README.md as it stands there, in a process of its own.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { InDoubt, InFlight, Mismatch, NothingHappened, once } from "../../../src/client/index.ts";
import { BILLING_TOKEN, type ClaimScene, startClaimScene } from "../../support/claim-scene.ts";
import { blockWith } from "../../support/docs.ts";
import { projectDir } from "../../support/wrangler.ts";

let scene: ClaimScene;
let dir: string;
beforeAll(async () => {
  scene = await startClaimScene();
  dir = await mkdtemp(join(tmpdir(), "onceway-once-"));
});
afterAll(async () => {
  await scene.close();
  await rm(dir, { recursive: true, force: true });
});

const options = () => ({ group: "billing", token: BILLING_TOKEN, url: `${scene.gateway().url}/_claims` });

it("calls a handler once for a key, and gives everybody its result", async () => {
  const key = randomUUID();
  let effects = 0;
  const handler = async () => ({ number: (effects += 1) });
  expect(await once(options(), key, { a: 1 }, handler)).toEqual({
    result: { number: 1 },
    replayed: false,
    completedAt: null,
  });
  expect(await once(options(), key, { a: 1 }, handler)).toMatchObject({ result: { number: 1 }, replayed: true });
  await expect(once(options(), key, { a: 2 }, handler)).rejects.toBeInstanceOf(Mismatch);
  expect(effects).toBe(1);
});

it("lets one of many begin, and the others know", async () => {
  const key = randomUUID();
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const first = once(options(), key, "p", async () => {
    begun.resolve();
    await gate.promise;
    return 1;
  });
  await begun.promise;
  await expect(once(options(), key, "p", async () => 2)).rejects.toBeInstanceOf(InFlight);
  gate.resolve();
  expect(await first).toMatchObject({ result: 1 });
});

it("frees the key when nothing happened, and leaves doubt after anything else", async () => {
  const [free, held] = [randomUUID(), randomUUID()];
  const fail = (error: Error) => async (): Promise<number> => {
    throw error;
  };
  await expect(once(options(), free, "p", fail(new NothingHappened("not yet")))).rejects.toThrow("not yet");
  expect(await once(options(), free, "p", async ({ attempt }) => attempt)).toMatchObject({ result: 2 });
  await expect(once(options(), held, "p", fail(new Error("half way")))).rejects.toThrow("half way");
  await expect(once(options(), held, "p", async () => 1)).rejects.toBeInstanceOf(InDoubt);
});

it("does what the page shows", async () => {
  const example = blockWith("src/claims/README.md", "export async function handle")
    .replace('"onceway/client"', JSON.stringify(join(projectDir, "src/client/index.ts")))
    .replace("https://gateway.example.com", scene.gateway().url);
  const file = join(dir, "example.mjs");
  const order = JSON.stringify({ id: randomUUID(), total: 5 });
  const charge = "let charges = 0; const charge = (of, { fence }) => `${of.total} for ${++charges}, ${fence}`;";
  await writeFile(file, `${charge}\n${example}\nawait handle(${order}); await handle(${order});`);
  const env = { ...process.env, BILLING_TOKEN };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
  expect(stdout).toBe("charged 5 for 1, 1\ncharged before 5 for 1, 1\n");
});
