// A record says what its request was, as its route allows: an operator at night knows it only from there.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { ADMIN_TOKEN, type OperatorScene, READ_TOKEN, startOperatorScene } from "../../support/e2e/operator-scene.ts";

const ENCRYPTION_SECRET = "s".repeat(64);

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene(
    { shards: 2, scope: ["header:authorization"] },
    [
      { path: "/plain/*" },
      { path: "/path/*", note: { request: "path" } },
      { path: "/none/*", note: { request: "none" } },
      { path: "/label/*", note: { request: "none", label: "json:/order/id" } },
      { path: "/header/*", note: { label: "header:x-customer" } },
      { path: "/excerpt/*", note: { excerpt: 10 } },
      { path: "/short/*", note: { excerpt: 10, excerpt_retention: "1ms" } },
      { path: "/encrypted/*", encrypt_responses: true },
    ],
    { ADMIN_TOKEN, READ_TOKEN, ENCRYPTION_SECRET },
  );
});
afterAll(() => scene.close());

const listed = v.object({ records: v.tuple([v.looseObject({ id: v.string(), request: v.unknown() })]) });

const found = v.object({ records: v.array(v.object({ id: v.string(), request: v.object({ caller: v.string() }) })) });

interface Sent {
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunked?: boolean;
}

interface Seen {
  readonly request: unknown;
  readonly excerpt: unknown;
  /** All that the operator API says of the record. */
  readonly text: string;
}

/** What operators see of a request that has just been sent. */
async function seen({ path, body = '{"order":{"id":1042}}', headers = {}, chunked = false }: Sent): Promise<Seen> {
  const key = freshKey();
  const sent = { authorization: "Bearer ann", "content-type": "application/json", ...headers };
  expect((await scene.send({ path, key, body, headers: Object.entries(sent), chunked })).status).toBe(201);
  const query = path.startsWith("/encrypted/") ? `route=${encodeURIComponent("/encrypted/*")}` : `key=${key}`;
  const { records } = v.parse(listed, (await scene.ask("GET", `/records?${query}`)).json);
  const [summary] = records;
  const { json, text } = await scene.ask("GET", `/records/${summary.id}`);
  const { request, excerpt } = v.parse(v.looseObject({ request: v.unknown(), excerpt: v.unknown() }), json);
  expect(summary.request).toEqual(request);
  return { request, excerpt, text };
}

const CALLER = /^[0-9a-f]{12}$/;

describe("a record", () => {
  it("says the method, the target, the size and the caller of its request, and nothing of its credential", async () => {
    const { request, excerpt, text } = await seen({ path: "/plain/1?a=%20b" });
    const caller = expect.stringMatching(CALLER);
    expect(request).toEqual({ method: "POST", target: "/plain/1?a=%20b", sizeBytes: 21, caller, label: null });
    expect(excerpt).toBeNull();
    expect(await seen({ path: "/plain/1", chunked: true })).toMatchObject({ request: { sizeBytes: 21 } });
    expect(text).not.toContain("ann");
    // Digits of an id or a digest may be the same.
    expect(text).not.toMatch(/(?<![0-9a-f])1042(?![0-9a-f])/);
  });

  it("has the same caller for each request of one credential, and another for another", async () => {
    const callerOf = async (authorization: string) =>
      v.parse(
        v.looseObject({ caller: v.string() }),
        (await seen({ path: "/plain/2", headers: { authorization } })).request,
      ).caller;
    const ann = await callerOf("Bearer ann");
    expect(await callerOf("Bearer ann")).toBe(ann);
    expect(await callerOf("Bearer bob")).not.toBe(ann);
  });

  it("is found by its caller, and by the status of its result", async () => {
    const key = freshKey();
    const send = (path: string, authorization: string) =>
      scene.send({ path, key, headers: Object.entries({ authorization }) });
    await send("/plain/3", "Bearer cleo");
    await send("/plain/3", "Bearer dan");
    const of = async (query: string) => v.parse(found, (await scene.ask("GET", `/records?${query}`)).json).records;
    const both = await of(`key=${key}`);
    expect(both).toHaveLength(2);
    for (const { id, request } of both) {
      expect(await of(`caller=${request.caller}`)).toEqual([{ id, request }]);
      expect(await of(`caller=${request.caller}&status=201&state=completed`)).toHaveLength(1);
      expect(await of(`caller=${request.caller}&status=404`)).toEqual([]);
    }
    for (const query of ["caller=Bearer", "status=2xx"]) {
      expect(await scene.ask("GET", `/records?${query}`)).toMatchObject({ status: 400 });
    }
  });

  it("leaves out the query, or all of it, where its route says so", async () => {
    expect(await seen({ path: "/path/1?secret=1" })).toMatchObject({ request: { target: "/path/1" } });
    expect(await seen({ path: "/none/1?secret=1" })).toMatchObject({ request: null });
  });

  it("has the label that its route names, if the request has it", async () => {
    const only = { target: null, caller: null };
    expect(await seen({ path: "/label/1" })).toMatchObject({ request: { ...only, label: "1042" } });
    expect(await seen({ path: "/label/1", body: '{"order":null}' })).toMatchObject({
      request: { ...only, label: null },
    });
    expect(await seen({ path: "/label/1", body: "{" })).toMatchObject({ request: { ...only, label: null } });
    const headers = { "x-customer": "c".repeat(400) };
    expect(await seen({ path: "/header/1", headers })).toMatchObject({ request: { label: `${"c".repeat(299)}…` } });
  });

  it("cuts a long target", async () => {
    const path = `/plain/${"p".repeat(400)}`;
    expect(await seen({ path })).toMatchObject({ request: { target: `${path.slice(0, 299)}…` } });
  });

  it("keeps the beginning of the body where its route says so, and no longer", async () => {
    const keptUntil = expect.any(String);
    expect(await seen({ path: "/excerpt/1" })).toMatchObject({ excerpt: { text: '{"order":{', keptUntil } });
    expect(await seen({ path: "/short/1" })).toMatchObject({ excerpt: null });
  });

  it("of an encrypted route says nothing of its request", async () => {
    expect(await seen({ path: "/encrypted/1" })).toMatchObject({ request: null });
  });
});
