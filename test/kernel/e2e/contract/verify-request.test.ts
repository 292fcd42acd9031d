// How the origin is asked what became of a lost attempt: at which URL, about which key, and with which credential.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair } from "../../../support/http.ts";
import { type RecordedRequest, startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";
import { openVerificationRows, type VerificationRows } from "../../../support/e2e/verification-rows.ts";
import {
  attempts,
  expectGiven,
  expectOpen,
  expectHeld,
  LOCKED,
  loseAnswer,
  loseAnswerForGood,
  lookUpPath,
  verifications,
  SETTINGS,
  type Sent,
  tellOf,
  VERIFY,
} from "../../../support/e2e/verify-scene.ts";

let scene: Scene;
let other: TestOrigin;
let rows: VerificationRows;
beforeAll(async () => {
  other = await startOrigin();
  scene = await startScene(SETTINGS, [
    { path: "/locked/*", ...LOCKED },
    { path: "/step/*", ...LOCKED, forward_key: "charge" },
    { path: "/twice/*", ...LOCKED, verify: "/find/{key}/of/{key}?full=1" },
    { path: "/elsewhere/*", ...LOCKED, verify: { url: `${other.url}/look-up/{key}?x=1`, headers: ["X-Tenant"] } },
    {
      path: "/trusted/*",
      ...LOCKED,
      verify: { url: `${other.url}/look-up/{key}`, headers: ["authorization", "cookie"] },
    },
    { path: "/tenant/*", ...VERIFY, lock: "2500ms", scope: ["header:x-tenant"] },
    { path: "/slow-tenant/*", ...LOCKED, scope: ["header:x-tenant"] },
    { path: "/renamed/*", ...LOCKED, key_from: ["header:X-Request-Key"] },
  ]);
  await scene.send({ path: "/locked/first", key: freshKey() });
  rows = openVerificationRows(scene.gateway);
});
afterAll(async () => {
  rows.close();
  await scene.close();
  await other.close();
});

function sentHeader({ headers }: RecordedRequest, name: string): string | null {
  return headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1] ?? null;
}

const bearer = (name: string): HeaderPair => ["Authorization", `Bearer ${name}`];

describe("where the origin is asked", () => {
  // Each is a key of its own in every run, and still has these characters.
  it.each(["{key}", "$&$1", "..", "a+b:c=d@!'()*~", '[^`|]<>"'])(
    "names a key with %s in the path, escaped",
    async (characters) => {
      const key = `${characters}-${freshKey()}`;
      await loseAnswer(scene, { path: "/locked/escaped", key });
      await tellOf(scene.origin, key, { status: 200, body: "found" });
      expectGiven(await scene.send({ path: "/locked/escaped", key }), 200, "found");
      const [verification, ...more] = await verifications(scene.origin, key);
      expect([verification?.url, more]).toEqual([`/by-key/${encodeURIComponent(key)}`, []]);
    },
  );

  // An origin that decodes a path before it routes it would be asked about something else, and its answer believed.
  it.each([".", "..", "../../x", "a/b", "a\\b", "a?b", "a#b", "a;b", "50%2F%"])(
    "does not ask about a key with a special meaning in a path, and holds it instead: %s",
    async (key) => {
      // The key is fixed, so the caller is fresh.
      const message = { path: "/locked/dots", key, headers: [bearer(freshKey())] };
      await loseAnswerForGood(scene, message);
      // The origin would answer 200 to whatever it is asked.
      expectHeld(await scene.send(message), key);
      expect(await verifications(scene.origin, key)).toEqual([]);
    },
  );

  it("names a quoted key without its quotes, and echoes it with them", async () => {
    const key = `quoted,"-${freshKey()}`;
    const sent = `"${key.replaceAll(/["\\]/g, "\\$&")}"`;
    await loseAnswer(scene, { path: "/locked/quoted", key: sent }, key);
    await tellOf(scene.origin, key, { status: 200, body: "found" });
    expectGiven(await scene.send({ path: "/locked/quoted", key: sent }), 200, "found");
    const [verification] = await verifications(scene.origin, key);
    expect(verification?.url).toBe(`/by-key/${encodeURIComponent(key)}`);
    expect(verification === undefined ? null : sentHeader(verification, "idempotency-key")).toBe(sent);
  });

  it("puts the key wherever the path has it", async () => {
    const key = `a&b=c+${freshKey()}`;
    const escaped = encodeURIComponent(key);
    const asked = `/find/${escaped}/of/${escaped}`;
    await loseAnswer(scene, { path: "/twice/x?own=1", key });
    await scene.origin.behave({ key, path: asked }, { status: 200, effect: false, body: "found" });
    expectGiven(await scene.send({ path: "/twice/x?own=1", key }), 200, "found");
    expect((await verifications(scene.origin, key)).map(({ url }) => url)).toEqual([`${asked}?full=1`]);
  });

  it("asks about the key that the origin has seen: the step's", async () => {
    const key = freshKey();
    const step = `${key}:charge`;
    await loseAnswer(scene, { path: "/step/x", key }, step);
    await tellOf(scene.origin, step, { status: 200, body: "charged" });
    expectGiven(await scene.send({ path: "/step/x", key }), 200, "charged");
    const [verification, ...more] = await verifications(scene.origin, step);
    expect([verification?.url, more]).toEqual([`/by-key/${key}%3Acharge`, []]);
    expect(await scene.origin.requests(key)).toEqual([]);
  });

  it("asks with the header that carried the key", async () => {
    const path = `/renamed/${freshKey()}`;
    const key = freshKey();
    const headers: readonly HeaderPair[] = [["X-Request-Key", key]];
    await scene.origin.behave({ path }, { drop: "after-effect" });
    await scene.send({ path, headers });
    const answer = await scene.send({ path, headers });
    expectReplay(await scene.send({ path, headers }), answer);
    const asked = (await scene.origin.requests()).filter(({ url }) => url === `/by-key/${key}`);
    expect(asked.map((verification) => sentHeader(verification, "x-request-key"))).toEqual([key]);
  });

  const SECRETS: readonly HeaderPair[] = [
    bearer("caller"),
    ["Cookie", "session=s3cret"],
    ["X-Api-Key", "s3cret"],
    ["X-Tenant", "t1"],
  ];

  it("asks another host, and not the origin, with the headers alone that the route lists", async () => {
    for (const [route, listed] of [
      ["elsewhere", [["x-tenant", "t1"]]],
      ["trusted", SECRETS.slice(0, 2).map(([name, value]) => [name.toLowerCase(), value])],
    ] as const) {
      const key = freshKey();
      const path = `/look-up/${key}`;
      const message = { path: `/${route}/x`, key, headers: SECRETS };
      await loseAnswer(scene, message);
      await other.behave({ path }, { status: 200, effect: false, body: "it knows" });
      expectGiven(await scene.send(message), 200, "it knows");
      const [verification, ...more] = (await other.requests()).filter((one) => one.path === path);
      expect(more).toEqual([]);
      expect(verification?.method).toBe("GET");
      const own = new Set(SECRETS.map(([name]) => name.toLowerCase()));
      const sent = (verification?.headers ?? []).map(([name, value]): HeaderPair => [name.toLowerCase(), value]);
      expect(sent.filter(([name]) => own.has(name) || name === "idempotency-key")).toEqual(listed);
      expect(sent.map(([name]) => name)).toContain("x-forwarded-host");
      expect(await scene.origin.requests(key)).toHaveLength(1);
    }
  });
});

describe("the credential with which the origin is asked", () => {
  it("is each caller's own: the same key of another caller is a separate record with a separate question", async () => {
    const key = freshKey();
    const caller = (credential: string): Sent => ({ path: "/locked/x", key, headers: [["Authorization", credential]] });
    const callers = ["Bearer alice", "Bearer bob"];
    for (const credential of callers) await loseAnswer(scene, caller(credential));
    for (const credential of callers) {
      await tellOf(scene.origin, key, { status: 200, body: `for ${credential}` });
      expectGiven(await scene.send(caller(credential)), 200, `for ${credential}`);
    }
    const asked = await verifications(scene.origin, key);
    expect(asked.map((verification) => sentHeader(verification, "authorization"))).toEqual(callers);
    for (const credential of callers) expectGiven(await scene.send(caller(credential)), 200, `for ${credential}`);
    expect(await verifications(scene.origin, key)).toHaveLength(2);
    expect(await attempts(scene.origin, key)).toHaveLength(2);
  });

  it("is the lost attempt's, whichever caller asks; the alarm uses it too", async () => {
    const key = freshKey();
    const headers = (credential: string): readonly HeaderPair[] => [["X-Tenant", "one"], bearer(credential)];
    const message = { path: "/tenant/x", key };
    await tellOf(scene.origin, key, { status: 500 });
    await loseAnswer(scene, { ...message, headers: headers("old") });
    const { id } = rows.ofKey(key);
    await scene.send({ ...message, headers: headers("new") });
    const asked = await until(async () => {
      const all = await verifications(scene.origin, key);
      return all.length >= 2 ? all : null;
    }, "the alarm's question");
    await tellOf(scene.origin, key, { status: 200, body: "known" });
    const credentials = asked.slice(0, 2).map((verification) => sentHeader(verification, "authorization"));
    expect(credentials).toEqual(["Bearer old", "Bearer old"]);
    // The first attempt's question is kept, not the latest one.
    expect(rows.ofId(id).verification).toContain("Bearer old");
    // A question that is still being answered says nothing.
    const answer = await until(async () => {
      const response = await scene.send({ ...message, headers: headers("new") });
      return response.status === 409 ? null : response;
    }, "the answer");
    expectGiven(answer, 200, "known");
    expect(rows.ofId(id).verification).toBeNull();
  });

  it("is another caller's if the lost attempt's is no longer accepted, and then a 404 proves nothing", async () => {
    const key = freshKey();
    const headers = (credential: string): readonly HeaderPair[] => [["X-Tenant", "one"], bearer(credential)];
    const message = { path: "/slow-tenant/x", key };
    await loseAnswer(scene, { ...message, headers: headers("old") });
    const refused = { status: 401, effect: false };
    const sequence = [refused, { status: 404, effect: false }, refused, { status: 200, effect: false, body: "known" }];
    await scene.origin.behave({ key, path: lookUpPath(key) }, { sequence });
    expectOpen(await scene.send({ ...message, headers: headers("new") }), key, 600);
    expectGiven(await scene.send({ ...message, headers: headers("new") }), 200, "known");
    const asked = await verifications(scene.origin, key);
    expect(asked.map((verification) => sentHeader(verification, "authorization"))).toEqual([
      "Bearer old",
      "Bearer new",
      "Bearer old",
      "Bearer new",
    ]);
    expect(await attempts(scene.origin, key)).toHaveLength(1);
  });
});
