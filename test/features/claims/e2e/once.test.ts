// `once` against a real gateway, and the example of src/features/claims/README.md as it stands there, in a process of its own.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  InFlightError,
  KeyReusedError,
  NoEffectError,
  once,
  OutcomeUnknownError,
  readPosition,
} from "../../../../src/client/index.ts";
import { BILLING_TOKEN, MAIL_TOKEN, type ClaimScene, startClaimScene } from "../../../support/claim-scene.ts";
import { blockWith } from "../../../support/docs.ts";
import { projectDir } from "../../../support/wrangler.ts";

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
    isKept: true,
    completedAt: null,
  });
  expect(await once(options(), key, { a: 1 }, handler)).toMatchObject({ result: { number: 1 }, replayed: true });
  await expect(once(options(), key, { a: 2 }, handler)).rejects.toBeInstanceOf(KeyReusedError);
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
  await expect(once(options(), key, "p", async () => 2)).rejects.toBeInstanceOf(InFlightError);
  gate.resolve();
  expect(await first).toMatchObject({ result: 1 });
});

it("frees the key when nothing happened, and leaves the outcome unknown after anything else", async () => {
  const [free, held] = [randomUUID(), randomUUID()];
  const fail = (error: Error) => async (): Promise<number> => {
    throw error;
  };
  await expect(once(options(), free, "p", fail(new NoEffectError("not yet")))).rejects.toThrow("not yet");
  expect(await once(options(), free, "p", async ({ attempt }) => attempt)).toMatchObject({ result: 2 });
  await expect(once(options(), held, "p", fail(new Error("half way")))).rejects.toThrow("half way");
  await expect(once(options(), held, "p", async () => 1)).rejects.toBeInstanceOf(OutcomeUnknownError);
});

it.each<readonly [string, unknown]>([
  ["of more than 64 KiB", "x".repeat(70_000)],
  ["without a JSON form", { cents: 1n }],
  ["that is bytes", new Uint8Array([1])],
])("acts once in four deliveries with a result %s", async (_, value) => {
  const key = randomUUID();
  let effects = 0;
  const handler = async (): Promise<unknown> => {
    effects += 1;
    return value;
  };
  const done = [];
  for (let delivery = 0; delivery < 4; delivery += 1) done.push(await once(options(), key, "p", handler));
  expect(done[0]).toEqual({ replayed: false, result: value, isKept: false, completedAt: null });
  expect(done.slice(1).map(({ replayed, result }) => [replayed, result])).toEqual(
    Array.from({ length: 3 }, () => [true, undefined]),
  );
  expect(effects).toBe(1);
});

it("keeps the result of a handler that ends while the gateway is restarted", async () => {
  const key = randomUUID();
  let effects = 0;
  const url = "http://gateway.test/_claims";
  let backAtMs = 0;
  const send: typeof fetch = async (input, init) => {
    if (Date.now() < backAtMs) throw new TypeError("fetch failed");
    const { pathname } = new URL(new Request(input).url);
    return fetch(scene.gateway().url + pathname, init);
  };
  // Unknown as soon as the lock ends, and with "retry" the next delivery would act again.
  const own = { ...options(), group: "mail", token: MAIL_TOKEN, url, fetch: send, lockMs: 60_000 };
  const crashes: Promise<void>[] = [];
  const handler = async (): Promise<number> => {
    effects += 1;
    backAtMs = Date.now() + 5000;
    crashes.push(scene.crash());
    return effects;
  };
  expect(await once(own, key, "p", handler)).toMatchObject({ replayed: false, result: 1 });
  await Promise.all(crashes);
  expect(await once(own, key, "p", handler)).toMatchObject({ replayed: true, result: 1 });
  expect(effects).toBe(1);
});

it("refuses a payload that JSON does not say, and tells one buffer from another", async () => {
  const key = randomUUID();
  const bytes = (...list: number[]): ArrayBuffer => new Uint8Array(list).buffer;
  await once(options(), key, bytes(1, 2), async () => "one payment");
  await expect(once(options(), key, bytes(3, 4), async () => "another")).rejects.toBeInstanceOf(KeyReusedError);
  await expect(once(options(), key, new Map([["a", 1]]), async () => 1)).rejects.toBeInstanceOf(TypeError);
});

it("comes back to a message whose claim never arrived, though those after it were completed beside it", async () => {
  const stream = randomUUID();
  let isCut = true;
  const send: typeof fetch = async (input, init) => {
    const text = await new Request(input, init).text();
    if (isCut && text.includes('"offset":5')) throw new TypeError("fetch failed");
    return fetch(input, init);
  };
  const own = { ...options(), fetch: send, tries: 1 };
  const handle = (offset: number): Promise<unknown> =>
    once({ ...own, position: { stream, partition: 0, offset } }, `${stream}-${offset}`, "p", async () => offset);
  const done = await Promise.allSettled([4, 5, 6, 7].map(handle));
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(await readPosition(own, stream, 0)).toBe(5);
  await scene.crash();
  const url = `${scene.gateway().url}/_claims`;
  expect(await readPosition({ ...own, url }, stream, 0)).toBe(5);
  isCut = false;
  own.url = url;
  await Promise.all([5, 6, 7].map(handle));
  expect(await readPosition(own, stream, 0)).toBe(8);
});

it("does what the page shows", async () => {
  const example = blockWith("src/features/claims/README.md", "export async function handle")
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
