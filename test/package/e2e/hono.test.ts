// `onceway/hono`: an application whose handlers are the origin, in one Worker with the gateway. What they did is asked of the Worker
// itself, past the middleware.

import { gunzipSync } from "node:zlib";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue } from "../../support/http.ts";
import { projectDir } from "../../support/wrangler.ts";
import { type Client, clientOf, removeGateway, until } from "../../support/e2e/scene.ts";

const IDEMPOTENCY = { origin: { entrypoint: "Origin" }, shards: 4 };
const ROUTES = [
  { path: "/v1/payments" },
  { path: "/v1/streams" },
  { path: "/v1/coded" },
  { path: "/v1/optional", key: "optional" },
];

let gateway: Gateway;
let client: Client;
beforeAll(async () => {
  const main = `${projectDir}test/workers/hono-app.ts`;
  gateway = await startWorkerd({ vars: { IDEMPOTENCY, ROUTES }, stateDir: await makeStateDir(), main });
  client = clientOf(gateway.url);
});
afterAll(() => removeGateway(gateway));

const PATH = "/v1/payments";

async function calls(key?: string) {
  const response = await fetch(`${gateway.url}/calls`);
  const all = v.parse(
    v.array(v.looseObject({ key: v.optional(v.string()), state: v.string() })),
    await response.json(),
  );
  return key === undefined ? all : all.filter((call) => call.key === key);
}

/** Waits until the handler has come so far with the call of this key. */
async function untilCall(key: string, state: "begun" | "ended"): Promise<void> {
  await until(async () => ((await calls(key))[0]?.state === state ? true : null), `the call has ${state}`);
}

const release = (key: string): Promise<Response> => fetch(`${gateway.url}/released/${key}`, { method: "PUT" });

const HELD = JSON.stringify({ held: true });

describe("a handler behind the middleware", () => {
  it("runs once, and a retry gets its answer to the byte", async () => {
    const key = freshKey();
    const first = await client.send({ path: PATH, key });
    const again = await client.send({ path: PATH, key });
    expect([first.status, headerValue(first, "x-made"), headerValue(first, "idempotency-status")]).toEqual([
      201,
      "once",
      "first",
    ]);
    expect(again.body).toEqual(first.body);
    expect([again.status, headerValue(again, "idempotent-replayed")]).toEqual([201, "true"]);
    expect(await calls(key)).toEqual([{ key, attempt: "1", state: "ended" }]);
  });

  it("lets middleware in front of it change every answer", async () => {
    const key = freshKey();
    const answers = [
      await client.send({ path: PATH, key }),
      await client.send({ path: PATH, key }),
      await client.send({ path: PATH }),
      await client.send({ path: "/v1/notes" }),
    ];
    expect(answers.map((answer) => [answer.status, headerValue(answer, "x-outer")])).toEqual([
      [201, "seen"],
      [201, "seen"],
      [400, "seen"],
      [200, "seen"],
    ]);
  });

  it("runs once for duplicates that arrive together", async () => {
    const key = freshKey();
    const first = client.open({ path: PATH, key, body: HELD });
    await untilCall(key, "begun");
    const others = await Promise.all(Array.from({ length: 20 }, () => client.send({ path: PATH, key, body: HELD })));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([409]));
    await release(key);
    expect((await first.response).status).toBe(201);
    expect(await calls(key)).toHaveLength(1);
  });

  it("runs on when its client has left (G5)", async () => {
    const key = freshKey();
    const leaver = client.open({ path: PATH, key, body: HELD });
    await untilCall(key, "begun");
    leaver.reset();
    const during = await client.send({ path: PATH, key, body: HELD });
    expect(during.status).toBe(409);
    await release(key);
    await untilCall(key, "ended");
    const replay = await until(async () => {
      const answer = await client.send({ path: PATH, key, body: HELD });
      return answer.status === 409 ? null : answer;
    }, "the answer is kept");
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    expect(await calls(key)).toEqual([{ key, attempt: "1", state: "ended" }]);
  });

  it("streams, and a replay has the same bytes", async () => {
    const key = freshKey();
    const first = await client.send({ path: "/v1/streams", key });
    const again = await client.send({ path: "/v1/streams", key });
    expect(first.body.toString()).toMatch(/^piece 0 .*\npiece 1 .*\npiece 2 .*\n$/);
    expect(again.body).toEqual(first.body);
    expect(headerValue(again, "idempotent-replayed")).toBe("true");
  });

  it("keeps the content coding of a handler that codes by itself", async () => {
    const key = freshKey();
    const first = await client.send({ path: "/v1/coded", key });
    const again = await client.send({ path: "/v1/coded", key });
    expect([headerValue(first, "content-encoding"), gunzipSync(first.body).toString()]).toEqual(["gzip", "coded"]);
    expect([headerValue(again, "content-encoding"), again.body]).toEqual(["gzip", first.body]);
  });

  it("runs at once where no route protects it, or where a key is optional and there is none", async () => {
    for (const path of ["/v1/notes", "/v1/none", "/v1/optional"]) {
      const answer = await client.send({ path });
      expect([path, answer.status]).toEqual([path, path === "/v1/notes" ? 200 : 404]);
      expect(headerValue(answer, "idempotency-status")).toBeNull();
    }
    const keyed = await client.send({ path: "/v1/notes", key: freshKey() });
    expect(headerValue(keyed, "idempotency-status")).toBe("ignored");
  });
});

/** What an object's call has, or could be thought to have. */
const FORGED: readonly HeaderPair[] = [
  ["Idempotency-Attempt", "7"],
  ["Idempotency_Attempt", "7"],
  ["Onceway-Delivery", "1"],
  ["CDN-Loop", "onceway"],
  ["CF-Worker", "onceway"],
  ["CF-EW-Via", "15"],
  ["X-Entrypoint", "Origin"],
  ["MF-Route", "Origin"],
  ["MF-Entrypoint", "Origin"],
  ["MF-Custom-Service", "gateway:Origin"],
  ["Upgrade", "capnp"],
];

describe("a client", () => {
  it("reaches no protected handler without a key, whatever it sends", async () => {
    const before = (await calls()).length;
    const hosts: readonly HeaderPair[][] = [
      [],
      [["Host", "origin"]],
      [["Host", "Origin.gateway"]],
      [["Host", "onceway"]],
    ];
    const paths = [
      PATH,
      "/v1//payments",
      "/v1/./payments",
      "/v1/payments/",
      "/v1/%70ayments",
      `${PATH}?entrypoint=Origin`,
    ];
    for (const host of hosts) {
      for (const header of FORGED.map((pair) => [pair])) {
        const { status } = await client.send({ path: PATH, headers: [...host, ...header] });
        expect([header, status]).toEqual([header, 400]);
      }
      for (const path of paths) await client.send({ path, headers: [...host, ...FORGED.slice(0, -1)] });
    }
    expect((await calls()).length).toBe(before);
  });

  it("cannot tell a handler that it is another attempt", async () => {
    const key = freshKey();
    await client.send({ path: PATH, key, headers: FORGED.slice(0, 3) });
    expect(await calls(key)).toEqual([{ key, attempt: "1", state: "ended" }]);
    const seen = await client.send({ path: "/v1/notes", headers: FORGED.slice(0, 3) });
    expect(seen.body.toString()).not.toMatch(/attempt|onceway/i);
  });
});
