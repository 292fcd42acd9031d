// From a line of the log to its record: the line names the key by its hash, and any beginning of a record's id finds it, in the
// API, in the console and on the command line.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import {
  ADMIN_TOKEN,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../support/e2e/operator-scene.ts";
import { until } from "../../support/e2e/scene.ts";

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 4, log: "all", scope: ["header:authorization"] }, [
    { path: "/pay/*" },
    { path: "/other/*", shards: 3 },
    { path: "/single/*", shards: "per-key" },
  ]);
});
afterAll(() => scene.close());

const summary = v.looseObject({ id: v.string(), key: v.string(), route: v.string() });
const page = v.looseObject({ records: v.array(summary), cursor: v.nullable(v.string()) });
const line = v.looseObject({ message: v.literal("exchange"), keyHash: v.string(), route: v.string() });

/** What the log says of the next exchange with a fresh key. */
async function exchange(
  path: string,
  callers: readonly string[],
): Promise<{ readonly key: string; readonly hash: string }> {
  const key = freshKey();
  const before = logged().length;
  for (const caller of callers) await scene.send({ path, key, headers: [["Authorization", caller]] });
  const [first] = await until(async () => {
    const lines = logged().slice(before);
    return lines.length < callers.length ? null : lines;
  }, "the log's lines");
  return { key, hash: first?.keyHash ?? "" };
}

function logged(): readonly v.InferOutput<typeof line>[] {
  return scene.gateway
    .output()
    .split("\n")
    .flatMap((text) => {
      const [json = ""] = /\{.*"keyHash".*\}/.exec(text) ?? [];
      const read = v.safeParse(line, json === "" ? null : JSON.parse(json));
      return read.success ? [read.output] : [];
    });
}

async function found(id: string): Promise<readonly v.InferOutput<typeof summary>[]> {
  return v.parse(page, (await scene.ask("GET", `/records?id=${id}`)).json).records;
}

const onceway = (...args: readonly string[]) =>
  callOnceway(args, { ONCEWAY_URL: scene.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });

async function consoleSearch(text: string): Promise<string> {
  const { url } = scene.gateway;
  const form = new URLSearchParams({ "operator-token": READ_TOKEN });
  const signed = await fetch(`${url}${BASE}/console/sign-in`, {
    method: "POST",
    headers: { Origin: url },
    body: form,
    redirect: "manual",
  });
  const Cookie = signed.headers.get("set-cookie")?.split(";")[0] ?? "";
  return (await fetch(`${url}${BASE}/console/records?key=${text}`, { headers: { Cookie } })).text();
}

describe.each([
  ["with four shards", "/pay/x"],
  ["with three", "/other/x"],
  ["with an object for each key", "/single/x"],
])("a line of the log of a route %s", (_name, path) => {
  it("finds its record everywhere", async () => {
    const { key, hash } = await exchange(path, ["Bearer one"]);
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    const [record] = await found(hash);
    expect(record).toMatchObject({ key });
    const id = record?.id ?? "";
    for (const prefix of [id.slice(0, 33), id.slice(0, 63), id]) expect(await found(prefix)).toMatchObject([{ id }]);
    const text = await consoleSearch(hash);
    expect(text).toContain(`${BASE}/console/records/${id}"`);
    const shown = await onceway("records", "show", hash, "--json");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(v.parse(summary, JSON.parse(shown.stdout))).toMatchObject({ id, key });
    const listed = await onceway("records", "list", "--id", hash.toUpperCase(), "--json");
    expect(v.parse(summary, JSON.parse(listed.stdout)).id).toBe(id);
  });

  it("finds all records of a key that several callers use, and a longer prefix finds one", async () => {
    const { key, hash } = await exchange(path, ["Bearer one", "Bearer two"]);
    const both = await found(hash);
    expect(both.map((one) => one.key)).toEqual([key, key]);
    const [one, other] = both.map(({ id }) => id);
    const text = await consoleSearch(hash);
    for (const id of [one, other]) expect(text).toContain(`${BASE}/console/records/${id}"`);
    const refused = await onceway("records", "release", hash, "--reason", "which one?");
    expect(refused.code).toBe(1);
    for (const id of [one, other]) expect(refused.stderr).toContain(id);
    let digits = 33;
    while (one?.slice(0, digits) === other?.slice(0, digits)) digits += 1;
    expect(await found(one?.slice(0, digits) ?? "")).toMatchObject([{ id: one }]);
  });
});

describe("the beginning of an id", () => {
  it("may have eight digits if they determine the shard", async () => {
    const { key, hash } = await exchange("/pay/x", ["Bearer one"]);
    expect(await found(hash.slice(0, 8))).toMatchObject([{ key }]);
    expect((await onceway("records", "show", hash.slice(0, 8))).stdout).toContain(key);
  });

  it.each(["1234567", "0123456x", "ABCDEF0123", "0".repeat(65), ""])("is not %j", async (prefix) => {
    const reported = await scene.ask("GET", `/records?id=${prefix}`);
    expect(reported).toMatchObject({ status: 400, json: { code: "operator-request-invalid" } });
  });

  it("cannot be combined with a key", async () => {
    expect((await scene.ask("GET", `/records?id=${"0".repeat(32)}&key=a`)).status).toBe(400);
    expect(await found("0".repeat(32))).toEqual([]);
    expect((await onceway("records", "show", "0".repeat(32))).stderr).toContain(
      "There is no record whose ID begins with",
    );
  });

  it("is searched for only if no key matches: a key of digits comes first", async () => {
    const { hash } = await exchange("/pay/x", ["Bearer one"]);
    await scene.send({ path: "/pay/x", key: hash, headers: [["Authorization", "Bearer one"]] });
    const text = await consoleSearch(hash);
    expect(text).toContain(`>${hash}<`);
    expect(text.match(/\/console\/records\/[0-9a-f]{64}"/g)).toHaveLength(1);
  });
});
