// Every retry gets the response that an operator has entered, so an inconsistent response is refused, it is previewed first,
// and sending it needs an explicit yes. What is inconsistent is tested in integration/operators/given-response.test.ts.

import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../support/http.ts";
import { type OperatorScene, startOperatorScene, type OperatorAnswer } from "../../support/e2e/operator-scene.ts";

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 2, scope: ["none"] }, [{ path: "/pay/*", unknown: "hold" }]);
});
afterAll(() => scene.close());

const listed = v.object({ records: v.tuple([v.looseObject({ id: v.string() })]) });

interface Unknown {
  readonly key: string;
  readonly path: string;
  readonly id: string;
}

async function unknownRecord(): Promise<Unknown> {
  const key = freshKey();
  const path = `/pay/${key}`;
  await scene.send({ path, key, behave: { drop: "after-effect" } });
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  return { key, path, id: v.parse(listed, json).records[0].id };
}

function resolve(id: string, response: object, how: object): Promise<OperatorAnswer> {
  return scene.ask("POST", `/records/${id}/resolve`, { body: { reason: "seen at the bank", response, ...how } });
}

const stateOf = async (id: string): Promise<unknown> => (await scene.ask("GET", `/records/${id}`)).json;

const JSON_TYPE = ["content-type", "application/json"];

describe("a response that contradicts itself", () => {
  it.each([
    ["JSON that breaks off", { headers: [JSON_TYPE], body: '{"id":"pay_88101"' }, "not JSON"],
    ["a length of its own", { headers: [["content-length", "3"]], body: "1" }, "set by the gateway"],
  ])("is refused, shown or given: %s", async (_what, response, why) => {
    const { id } = await unknownRecord();
    for (const how of [{ preview: true }, { confirm: true }]) {
      const refused = await resolve(id, { status: 201, ...response }, how);
      expect(refused).toMatchObject({ status: 400, json: { code: "operator-request-invalid" } });
      expect(refused.text).toContain(why);
    }
    expect(await stateOf(id)).toMatchObject({ state: "unknown" });
  });

  it.each([
    [
      "JSON in gzip",
      { headers: [JSON_TYPE, ["content-encoding", "gzip"]], bodyBase64: gzipSync("1").toString("base64") },
    ],
  ])("is not %s", async (_what, response) => {
    const { id, key, path } = await unknownRecord();
    expect((await resolve(id, { status: 201, ...response }, { confirm: true })).status).toBe(200);
    expect(headerValue(await scene.send({ path, key }), "idempotent-replayed")).toBe("true");
  });
});

describe("a response", () => {
  const RESPONSE = {
    status: 402,
    headers: [JSON_TYPE, ["x-settled-by", "the bank"], ["Set-Cookie", "a=1"]],
    body: '{"id":"pay_88101","name":"Ä"}',
  };

  it("is previewed without any change, and retries get exactly the preview", async () => {
    const { id, key, path } = await unknownRecord();
    const before = await stateOf(id);
    const { json } = await resolve(id, RESPONSE, { preview: true });
    expect(json).toEqual({
      preview: {
        status: 402,
        headers: [JSON_TYPE, ["x-settled-by", "the bank"]],
        omittedHeaders: ["Set-Cookie"],
        sizeBytes: Buffer.byteLength(RESPONSE.body),
        body: RESPONSE.body,
        warnings: [expect.stringContaining("402")],
      },
    });
    expect(await stateOf(id)).toEqual(before);
    expect((await scene.send({ path, key })).status).toBe(409);

    expect((await resolve(id, RESPONSE, { confirm: true })).status).toBe(200);
    const retry = await scene.send({ path, key });
    expect([retry.status, retry.body.toString()]).toEqual([402, RESPONSE.body]);
    expect(headerValue(retry, "x-settled-by")).toBe("the bank");
    expect(headerValue(retry, "set-cookie")).toBeNull();
  });

  it.each([
    {},
    { preview: false, confirm: false },
    { preview: true, confirm: true },
    { confirm: "yes" },
    { confirmed: true },
  ])("is not given without a yes: %j", async (how) => {
    const { id } = await unknownRecord();
    expect((await resolve(id, RESPONSE, how)).status).toBe(400);
    expect(await stateOf(id)).toMatchObject({ state: "unknown" });
  });

  it("is not previewed for a record that cannot be resolved", async () => {
    expect((await resolve("0".repeat(64), RESPONSE, { preview: true })).status).toBe(404);
    const { id } = await unknownRecord();
    await resolve(id, RESPONSE, { confirm: true });
    expect(await resolve(id, RESPONSE, { preview: true })).toMatchObject({
      status: 409,
      json: { code: "change-refused" },
    });
    const key = freshKey();
    const running = scene.send({ path: "/pay/slow", key, behave: { hold: true } });
    await scene.origin.arrived(key);
    const { json } = await scene.ask("GET", `/records?key=${key}`);
    const started = v.parse(listed, json).records[0].id;
    expect(await resolve(started, RESPONSE, { preview: true })).toMatchObject({ status: 409 });
    await scene.origin.release(key);
    await running;
  });
});
