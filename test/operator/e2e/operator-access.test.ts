// A caller who is not an operator changes nothing and learns nothing: every operation of the OpenAPI file, and unknown
// operations, without a token, with a wrong one, with a read-only one, and without operator tokens in the configuration.

import { withoutInstance } from "../../support/instance.ts";
import { randomBytes, randomUUID } from "node:crypto";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import { operations } from "../../support/e2e/openapi.ts";
import {
  ADMIN_TOKEN,
  type Ask,
  askGateway,
  BASE,
  type OperatorScene,
  READ_TOKEN,
} from "../../support/e2e/operator-scene.ts";
import { startOperatorScene, type OperatorAnswer } from "../../support/e2e/operator-scene.ts";

// A lock that outlasts the tests: what may be done about a record changes when its lock ends.
const SETTINGS = { shards: 2, scope: ["none"], lock: "10m" };
const ROUTES = [{ path: "/hold/*", unknown: "hold" }, { path: "/*" }];

const BODIES: Readonly<Record<string, unknown>> = {
  forgetScope: { scope: { "header:authorization": "Bearer x" }, reason: "x", confirm: true, includeUnknown: true },
  resendEvents: { destination: "billing", reason: "test", preview: true },
  dropEvents: { destination: "billing", reason: "test", preview: true },
  setPosition: { group: "billing", stream: "orders", partition: 3, next: 42, reason: "x" },
  closeLayout: { layout: "2" },
  tryQueue: { queue: "orders", body: { id: "forged" } },
  changeAll: {
    change: "forget",
    filter: { state: "unknown" },
    reason: "x",
    confirm: true,
    until: new Date().toISOString(),
  },
  decide: {
    decisions: [{ key: "x", decision: "forget", reason: "x" }],
    confirm: true,
    until: new Date().toISOString(),
  },
  release: { reason: "x" },
  resolve: { reason: "x", response: { status: 200, body: "forged" }, confirm: true },
  forget: { reason: "x" },
  note: { text: "forged" },
};

let scene: OperatorScene;
/** A record with an unknown outcome, which an administrator could release or resolve. */
let id = "";
const key = freshKey();
beforeAll(async () => {
  scene = await startOperatorScene(SETTINGS, ROUTES);
  await scene.send({ path: "/hold/x", key, behave: { drop: "after-effect" } });
  const { json } = await scene.ask("GET", `/records?key=${key}`);
  id = v.parse(v.object({ records: v.tuple([v.looseObject({ id: v.string() })]) }), json).records[0].id;
});
afterAll(() => scene.close());

const STRANGE: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/nothing"],
  ["GET", `/records/${"0".repeat(64)}`],
  ["OPTIONS", "/records"],
  ["PUT", "/records"],
  ["DELETE", "/health"],
];

/** All operations with the record's id, and unknown ones. */
function requests(): readonly (readonly [method: string, path: string, body: unknown])[] {
  return [
    ...operations.map((one) => [one.method, one.path.replace("{id}", id), BODIES[one.id]] as const),
    ...STRANGE.map(([method, path]) => [method, path, undefined] as const),
  ];
}

/** Everything that an answer reveals, except the date. */
function visibleParts({ status, headers, text }: OperatorAnswer): string {
  return JSON.stringify([status, [...headers].filter(([name]) => name !== "date"), withoutInstance(text)]);
}

function askPlainly(method: string, path: string, how: Ask): Promise<OperatorAnswer> {
  return askGateway(scene.gateway.url + BASE + path, method, how);
}

async function recordNow(): Promise<string> {
  return (await scene.ask("GET", `/records/${id}`)).text;
}

const byName = (one: string, other: string): number => one.localeCompare(other);

it("the OpenAPI file marks the changes and bodies that a read-only token may not have", () => {
  const idsOf = (some: typeof operations): readonly string[] => some.map((one) => one.id).toSorted(byName);
  expect(idsOf(operations.filter(({ mayRead }) => !mayRead))).toEqual([
    "changeAll",
    "closeLayout",
    "decide",
    "dropEvents",
    "endSessions",
    "forget",
    "forgetScope",
    "note",
    "release",
    "resendEvents",
    "resolve",
    "responseBody",
    "setPosition",
    "tryQueue",
  ]);
  expect(idsOf(operations.filter(({ hasBody }) => hasBody))).toEqual(Object.keys(BODIES).toSorted(byName));
});

describe("without a valid token", () => {
  it.each([
    ["none", null],
    ["a wrong one", randomBytes(32).toString("hex")],
    ["both at once", `${ADMIN_TOKEN},${READ_TOKEN}`],
  ])("%s: the same answer to everything, and nothing changes", async (_name, token) => {
    const before = await recordNow();
    const answers = new Set<string>();
    for (const [method, path, body] of requests()) {
      const reported = await askPlainly(method, path, { token, body });
      expect(reported.status).toBe(401);
      expect(reported.headers.get("www-authenticate")).toBe("Bearer");
      answers.add(visibleParts(reported));
    }
    expect([...answers]).toHaveLength(1);
    expect(await recordNow()).toBe(before);
  });

  it("a token counts only in the Authorization header", async () => {
    for (const headers of [
      { Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` },
      { Authorization: ADMIN_TOKEN },
      { Cookie: `token=${ADMIN_TOKEN}` },
      { "X-Admin-Token": ADMIN_TOKEN },
    ]) {
      const url = `${scene.gateway.url}${BASE}/health?token=${ADMIN_TOKEN}&access_token=${ADMIN_TOKEN}`;
      const response = await fetch(url, { headers: { ...headers, "cf-connecting-ip": randomUUID() } });
      expect(response.status).toBe(401);
    }
  });
});

describe("with a token that may only read", () => {
  it.each(operations.map((one) => [one.id, one] as const))("%s", async (_name, one) => {
    const before = await recordNow();
    const path = one.path.replace("{id}", id);
    const reported = await scene.ask(one.method, path, { token: READ_TOKEN, body: BODIES[one.id] });
    expect(reported.status).toBe(one.mayRead ? 200 : 403);
    if (!one.mayRead) {
      // The answer does not reveal whether the record exists.
      const nowhere = one.path.replace("{id}", "0".repeat(64));
      expect(visibleParts(await scene.ask(one.method, nowhere, { token: READ_TOKEN, body: BODIES[one.id] }))).toBe(
        visibleParts(reported),
      );
    }
    expect(await recordNow()).toBe(before);
  });
});

it("a caller with a token learns why a request was refused, however much of its body was still to come", async () => {
  const body = { reason: "x".repeat(30 << 20) };
  const path = `/records/${id}/release`;
  expect((await scene.ask("POST", path, { token: READ_TOKEN, body })).status).toBe(403);
  expect((await scene.ask("POST", path, { body })).status).toBe(413);
});

it("no answer may be cached, sniffed, or read by another site", async () => {
  for (const token of [ADMIN_TOKEN, READ_TOKEN, null]) {
    for (const [method, path] of requests().filter(([name]) => name !== "POST")) {
      const { headers } = await askPlainly(method, path, { token });
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  }
});

describe("wrong tokens", () => {
  it("are throttled after ten from an address, and lock out no right one there", async () => {
    const address = randomUUID();
    for (let sent = 0; sent < 30; sent += 1) await scene.ask("GET", "/health", { token: null, address });
    for (let sent = 0; sent < 10; sent += 1) {
      const { status } = await scene.ask("GET", "/health", { token: `${ADMIN_TOKEN}${sent}`, address });
      expect(status).toBe(401);
    }
    const slowed = await scene.ask("GET", "/health", { token: `${ADMIN_TOKEN}x`, address });
    expect(slowed).toMatchObject({ status: 429, json: { code: "operator-throttled", retryable: true } });
    expect(Number(slowed.headers.get("retry-after"))).toBeGreaterThan(50);
    expect((await scene.ask("GET", "/health", { address })).status).toBe(200);
  });
});

it("tokens appear neither in the output nor in answers", async () => {
  const published = await (await fetch(`${scene.gateway.url}/.well-known/idempotency`)).text();
  const texts = [scene.gateway.output(), published, (await scene.ask("GET", "/health")).text];
  for (const text of texts) for (const token of [ADMIN_TOKEN, READ_TOKEN]) expect(text).not.toContain(token);
  expect(published).not.toContain("operator");
});

describe("without usable operator tokens", () => {
  it("every operator path is not found, with any token", async () => {
    const off = await startOperatorScene(SETTINGS, ROUTES, {});
    try {
      const answers = new Set<string>();
      const texts = new Set<string>();
      const ofConsole = ["", "/console/sign-in", "/console/records"].map((path) => ["GET", path, undefined] as const);
      for (const token of [ADMIN_TOKEN, null]) {
        for (const [method, path, body] of [...requests(), ...ofConsole]) {
          const reported = await off.ask(method, path, { token, body });
          answers.add(visibleParts(reported));
          texts.add(withoutInstance(reported.text));
        }
      }
      expect([...answers]).toHaveLength(1);
      expect([...answers][0]).toContain("operator-not-found");
      expect([...answers][0]).toContain("It is on where the secret ADMIN_TOKEN is set");
      // A gateway whose API is on says the same to a stranger who misspells its path: its texts tell nobody which of both it is.
      const misspelt = await askPlainly("GET", "//health", { token: null });
      expect([...texts]).toEqual([withoutInstance(misspelt.text)]);
      const env = { ONCEWAY_URL: off.gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN };
      const listed = await callOnceway(["records", "list"], env);
      expect([listed.code, listed.stderr]).toEqual([
        2,
        expect.stringMatching(/run "npx wrangler secret put ADMIN_TOKEN".* check --url/),
      ]);
      expect(await off.origin.requests()).toEqual([]);
    } finally {
      await off.close();
    }
  });
});
