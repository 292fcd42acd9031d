// What the origin learns about the requested URL: X-Forwarded-Host and X-Forwarded-Proto. Only the gateway sets them, unless
// it is configured to trust a proxy in front of it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair } from "../../../support/http.ts";
import { isReplay } from "../../../support/e2e/guarantees-client.ts";
import type { RecordedRequest } from "../../../support/origin.ts";
import {
  type Client,
  clientOf,
  removeGateway,
  type Scene,
  startGateway,
  startScene,
  until,
} from "../../../support/e2e/scene.ts";

const ROUTES = [
  { path: "/protected/*" },
  { path: "/tenants/*", scope: ["host"] },
  { path: "/asked", unknown: "verify", verify: "/by-key/{key}", timeout: "2s", lock: "2500ms" },
];

let scene: Scene;
let trusting: Gateway;
let behindProxy: Client;
beforeAll(async () => {
  scene = await startScene({ shards: 2 }, ROUTES);
  trusting = await startGateway(scene.origin.url, { shards: 2, trust_forwarded: true }, ROUTES);
  behindProxy = clientOf(trusting.url);
});
afterAll(async () => {
  await removeGateway(trusting);
  await scene.close();
});

const HOST: HeaderPair = ["Host", "API.example.com:8080"];
const CLAIMED: readonly HeaderPair[] = [
  ["X-Forwarded-Host", "claimed.example"],
  ["X-Forwarded-Proto", "https"],
  ["X-Forwarded-For", "192.0.2.1"],
  ["Forwarded", "for=192.0.2.1;host=claimed.example;proto=https"],
];

const NAMES = ["x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "forwarded"];

/** The values of these headers, in this order; each line apart. */
function reported(request: RecordedRequest | undefined): readonly (readonly string[])[] {
  const lines = request?.headers ?? [];
  return NAMES.map((name) => lines.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value));
}

const ways = [
  { name: "an unprotected request", method: "POST", path: "/open/x" },
  { name: "an unprotected request without a body", method: "GET", path: "/open/x", body: null },
  { name: "a GET with a body", method: "GET", path: "/open/x" },
  { name: "a protected request", method: "POST", path: "/protected/x" },
];

describe.each(ways)("$name", ({ name: _name, ...message }) => {
  it("carries the requested host and scheme", async () => {
    const key = freshKey();
    await scene.send({ ...message, key, headers: [HOST] });
    const [request] = await scene.origin.requests(key);
    expect(reported(request)).toEqual([["api.example.com:8080"], ["http"], [], []]);
  });

  it("cannot be forged by the client, not even with Connection", async () => {
    const key = freshKey();
    const nominated: HeaderPair = ["Connection", "close, x-forwarded-host, x-forwarded-proto"];
    await scene.send({ ...message, key, headers: [HOST, nominated, ...CLAIMED] });
    const [request] = await scene.origin.requests(key);
    expect(reported(request)).toEqual([["api.example.com:8080"], ["http"], ["192.0.2.1"], []]);
  });

  it("carries what a trusted proxy has sent, and fills in what it has not", async () => {
    const [key, other] = [freshKey(), freshKey()];
    await behindProxy.send({ ...message, key, headers: [HOST, ...CLAIMED] });
    const [request] = await scene.origin.requests(key);
    expect(reported(request)).toEqual([
      ["claimed.example"],
      ["https"],
      ["192.0.2.1"],
      ["for=192.0.2.1;host=claimed.example;proto=https"],
    ]);
    await behindProxy.send({ ...message, key: other, headers: [HOST, ["X-Forwarded-Proto", "https"]] });
    const [partly] = await scene.origin.requests(other);
    expect(reported(partly)).toEqual([["api.example.com:8080"], ["https"], [], []]);
  });

  it("carries no header that a CGI-style server would read as one of them, behind any proxy", async () => {
    for (const client of [behindProxy, scene]) {
      const key = freshKey();
      const names = ["X_Forwarded_Host", "X-Forwarded_Host", "X_Forwarded-Proto", "x_forwarded_proto"];
      await client.send({
        ...message,
        key,
        headers: [HOST, ...names.map((name): HeaderPair => [name, "claimed.example"])],
      });
      const [request] = await scene.origin.requests(key);
      expect(request?.headers.filter(([, value]) => value.includes("claimed.example"))).toEqual([]);
    }
  });
});

it("separate callers by the forwarded host, which the origin gets too", async () => {
  const key = freshKey();
  const ask = async (client: Client, tenant: string): Promise<string | null> => {
    const answer = await client.send({ path: "/tenants/x", key, headers: [HOST, ["X-Forwarded-Host", tenant]] });
    return isReplay(answer) ? "replay" : null;
  };
  expect(await ask(behindProxy, "one.example")).toBeNull();
  expect(await ask(behindProxy, "other.example")).toBeNull();
  expect(await ask(behindProxy, "one.example")).toBe("replay");
  expect(await scene.origin.effects(key)).toBe(2);
  // An untrusted client cannot change its scope with these headers.
  expect(await ask(scene, "one.example")).toBeNull();
  expect(await ask(scene, "other.example")).toBe("replay");
});

it("are sent with the question whether an operation took effect", async () => {
  const key = freshKey();
  const path = `/by-key/${key}`;
  await scene.origin.behave({ path }, { status: 200, body: "done", effect: false });
  await scene.send({ path: "/asked", key, headers: [HOST, ...CLAIMED], behave: { drop: "after-effect" } });
  const asked = await until(async () => {
    const requests = await scene.origin.requests();
    return requests.find((request) => request.path === path) ?? null;
  }, "the question");
  expect(reported(asked)).toEqual([["api.example.com:8080"], ["http"], ["192.0.2.1"], []]);
});
