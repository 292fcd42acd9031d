// Where a request's key may be (`key_from`), with effects counted at the origin: in the body, the query, an event's attributes or
// several places together. How each value is read is tested in unit/find-key.test.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RecordedRequest } from "../../../support/origin.ts";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene } from "../../../support/e2e/scene.ts";

const BODY = ["header:Idempotency-Key", "json:/id"];

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 2, timeout: "20s", lock: "30s" }, [
    { path: "/body/*", key_from: BODY },
    { path: "/small/*", key_from: BODY, max_request_body: "1kB" },
    { path: "/flows/*", key_from: BODY, fingerprint: { body: "none" } },
    { path: "/optional/*", key_from: [...BODY, "form:id"], key: "optional" },
    { path: "/places/*", key_from: ["form:id", "query:id", "cloudevent", ["header:X-A", "json:/b"]] },
    { path: "/template/*", key_from: [{ template: "order-{json:/id}" }], forward_key: "none" },
    { path: "/none/*", key_from: BODY, forward_key: "none" },
    { path: "/step/*", key_from: BODY, forward_key: "charge" },
    { path: "/verify/*", key_from: BODY, unknown: "verify", verify: "/asked/{key}", timeout: "2s", lock: "2500ms" },
    { path: "/caller/*", key_from: BODY, scope: ["header:X-Caller"] },
  ]);
});
afterAll(() => scene.close());

const JSON_LINE: HeaderPair = ["Content-Type", "application/json"];
const FORM_LINE: HeaderPair = ["Content-Type", "application/x-www-form-urlencoded"];

function withId(path: string, id: unknown, headers: readonly HeaderPair[] = []): Message {
  return { path, headers: [JSON_LINE, ...headers], body: JSON.stringify({ id, amount: 1 }) };
}

async function arrived(path: string): Promise<readonly RecordedRequest[]> {
  return (await scene.origin.requests()).filter((request) => request.path === path.split("?", 1)[0]);
}

function bytesOf([request]: readonly RecordedRequest[]): string {
  return Buffer.from(request?.body?.base64 ?? "", "base64").toString();
}

/** Refused, and nothing reached the origin. */
async function expectRefused(
  message: Message,
  code: string,
  status = 400,
  echo: string | null = null,
): Promise<string> {
  const problem = expectProblem(await scene.send(message), {
    code,
    status,
    retryable: false,
    echo,
  });
  expect(await arrived(message.path)).toEqual([]);
  return problem.detail;
}

async function expectOneEffect(message: Message, key: string): Promise<RawResponse> {
  const first = await scene.send(message);
  expectFirstAnswer(first, 201);
  expect(headerValue(first, "idempotency-key")).toBe(key);
  expectReplay(await scene.send(message), first);
  const requests = await arrived(message.path);
  expect(requests.map(({ effect }) => effect)).toEqual([1]);
  expect(bytesOf(requests)).toBe(message.body);
  return first;
}

describe("a key in the body", () => {
  it("protects the request, which reaches the origin byte by byte as it came", async () => {
    const id = freshKey();
    await expectOneEffect({ ...withId(`/body/${freshKey()}`, id), chunked: true }, id);
    await expectOneEffect(
      { path: `/body/${freshKey()}`, headers: [JSON_LINE], body: `{ "id" :\t"b${id}" }` },
      `b${id}`,
    );
  });

  it("is missing where no place has one, and the answer names all places", async () => {
    const path = `/body/${freshKey()}`;
    const detail = await expectRefused({ path, headers: [JSON_LINE], body: "{}" }, "key-missing");
    expect(detail).toContain("requires the Idempotency-Key header, or the member /id of the JSON body.");
    await expectRefused({ path, body: null }, "key-missing");
  });

  it("is not looked for in a body that is too large to be held, and such a body flows with a key in a header", async () => {
    const body = JSON.stringify({ id: freshKey(), filler: "x".repeat(1 << 20) });
    for (const chunked of [false, true]) {
      const path = `/flows/${freshKey()}`;
      const detail = await expectRefused({ path, headers: [JSON_LINE], body, chunked }, "body-too-large", 413);
      expect(detail).toContain("1048576 bytes, because its idempotency key may be in it");
      const message = { path, key: freshKey(), headers: [JSON_LINE], body, chunked };
      const first = await scene.send(message);
      expectFirstAnswer(first, 201);
      expectReplay(await scene.send(message), first);
      expect((await arrived(path)).map((request) => request.body?.bytes)).toEqual([body.length]);
    }
    const small = { path: `/small/${freshKey()}`, headers: [JSON_LINE], body: body.slice(0, 2000) };
    expect(await expectRefused(small, "body-too-large", 413)).toContain("1000 bytes.");
  });
});

describe('with key = "optional"', () => {
  it.each([
    ["JSON without a key", [JSON_LINE], '{ "other": "é" }'],
    ["a form without a key", [FORM_LINE], "other=1&"],
    ["bytes", [["Content-Type", "application/octet-stream"]], "\u0000\u0001"],
    ["nothing", [], ""],
  ] as const)("a request with %s passes as it came, unprotected", async (_what, headers, body) => {
    for (const chunked of [false, true]) {
      const path = `/optional/${freshKey()}`;
      for (const effect of [1, 2]) {
        const answer = await scene.send({ path, headers, body, chunked });
        expectFirstAnswer(answer, 201, null);
        const requests = await arrived(path);
        expect(requests).toHaveLength(effect);
        expect(bytesOf(requests)).toBe(body);
      }
    }
  });

  it("a request with a key is protected", async () => {
    const id = freshKey();
    await expectOneEffect(withId(`/optional/${freshKey()}`, id), id);
    await expectOneEffect({ path: `/optional/${freshKey()}`, headers: [FORM_LINE], body: `a=1&id=f${id}` }, `f${id}`);
  });

  it("a large request of another type passes", async () => {
    const path = `/optional/${freshKey()}`;
    const body = "x".repeat(3 << 20);
    const answer = await scene.send({ path, headers: [["Content-Type", "video/mp4"]], body });
    expectFirstAnswer(answer, 201, null);
    expect((await arrived(path)).map((request) => request.body?.bytes)).toEqual([body.length]);
  });
});

describe("other places", () => {
  it("are a form, a query, an event and several values together", async () => {
    const id = freshKey();
    const path = (): string => `/places/${freshKey()}`;
    await expectOneEffect({ path: path(), headers: [FORM_LINE], body: `x=1&id=f${id}` }, `f${id}`);
    await expectOneEffect({ path: `${path()}?id=q${id}`, body: "{}" }, `q${id}`);
    const binary: HeaderPair[] = [
      ["ce-specversion", "1.0"],
      ["ce-source", "/shop"],
      ["ce-id", id],
    ];
    await expectOneEffect({ path: path(), headers: [JSON_LINE, ...binary], body: "{}" }, `(/shop:${id})`);
    const event = JSON.stringify({ specversion: "1.0", source: "/hall", id, type: "t" });
    const structured: HeaderPair[] = [["Content-Type", "application/cloudevents+json"]];
    await expectOneEffect({ path: path(), headers: structured, body: event }, `(/hall:${id})`);
    await expectOneEffect({ path: path(), headers: [JSON_LINE, ["X-A", id]], body: '{"b":7}' }, `(${id}:7)`);
  });
});

describe("what the origin gets of a key that is in the body", () => {
  const keyLines = ([request]: readonly RecordedRequest[]): readonly (readonly string[])[] =>
    (request?.headers ?? [])
      .map(([name, value]) => [name.toLowerCase(), value])
      .filter(([name]) => name === "idempotency-key");

  it("is what the client sent, and nothing more", async () => {
    for (const route of ["body", "none"]) {
      const path = `/${route}/${freshKey()}`;
      expectFirstAnswer(await scene.send(withId(path, freshKey())), 201);
      expect(keyLines(await arrived(path))).toEqual([]);
    }
    const path = `/template/${freshKey()}`;
    const id = freshKey();
    await expectOneEffect({ ...withId(path, id), key: "means nothing here" }, `order-${id}`);
    expect(keyLines(await arrived(path))).toEqual([["idempotency-key", "means nothing here"]]);
  });

  it("is the key of a step, where the route names one", async () => {
    const [path, id] = [`/step/${freshKey()}`, freshKey()];
    expectFirstAnswer(await scene.send(withId(path, id)), 201);
    expect(keyLines(await arrived(path))).toEqual([["idempotency-key", `${id}:charge`]]);
  });

  it("is the key by which it is asked", async () => {
    const [path, id] = [`/verify/${freshKey()}`, `a&${freshKey()}`];
    const asking = `/asked/${encodeURIComponent(id)}`;
    const message = withId(path, id);
    await scene.origin.behave({ path }, { drop: "after-effect" });
    const lost = await scene.send(message);
    expect(headerValue(lost, "idempotency-status")).toBe("origin-dropped");
    await scene.origin.behave({ path: asking }, { status: 200, body: "known", effect: false });
    const settled = await scene.send(message);
    expect([settled.status, settled.body.toString()]).toEqual([200, "known"]);
    expect(await arrived(asking)).toHaveLength(1);
    expect(await arrived(path)).toHaveLength(1);
  });
});
