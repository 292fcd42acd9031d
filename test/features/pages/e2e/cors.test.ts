// What pages of other origins may read (`cors`), header by header, over all kinds of answer. What is decided for each page and each
// preflight is tested in unit/http/cors.test.ts; a real browser decides in browser.test.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";
import {
  startGateway,
  removeGateway,
  type Message,
  type Scene,
  startScene,
  clientOf,
} from "../../../support/e2e/scene.ts";

const SHOP = "https://shop.example.com";
const OTHER = "https://other.example";
const EVIL = "https://evil.example";

const CORS = { origins: [SHOP, OTHER], credentials: true, expose_headers: ["Location"] };

const ROUTES = [
  { path: "/pay/*", cors: CORS },
  { path: "/optional", key: "optional", cors: CORS },
  { path: "/passed", cors: { ...CORS, preflight: "pass" } },
  { path: "/small", cors: CORS, max_response_body: 10, max_request_body: 100 },
  { path: "/follow", cors: CORS, duplicate: "attach" },
  { path: "/plain" },
];

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({}, ROUTES);
});
afterAll(() => scene.close());

/** An origin that has its own opinion about pages. */
const OPINION = {
  status: 201,
  headers: [
    ["Access-Control-Allow-Origin", EVIL],
    ["Access-Control-Allow-Credentials", "true"],
    ["Access-Control-Expose-Headers", "X-Secret"],
    ["Vary", "Accept-Encoding"],
    ["Location", "/pay/1"],
  ] satisfies [string, string][],
  body: "paid",
};

const fromPage = (origin: string | null, message: Message): Message => ({
  ...message,
  headers: [...(message.headers ?? []), ...(origin === null ? [] : [["Origin", origin] as const])],
});

interface About {
  readonly origin: string | null;
  readonly credentials: string | null;
  readonly vary: string | null;
}

function aboutPages(response: RawResponse): About {
  return {
    origin: headerValue(response, "access-control-allow-origin"),
    credentials: headerValue(response, "access-control-allow-credentials"),
    vary: headerValue(response, "vary"),
  };
}

/** What an answer says to a listed page. */
const readableBy = (origin: string, vary = "Origin"): About => ({ origin, credentials: "true", vary });
const NOBODY: About = { origin: null, credentials: null, vary: "Origin" };

describe("a first answer and its replays", () => {
  it("are readable by each page that asks, if it is listed, and by no other", async () => {
    const message = { path: "/pay/first", key: freshKey(), behave: OPINION };
    const first = await scene.send(fromPage(SHOP, message));
    expect([first.status, aboutPages(first)]).toEqual([201, readableBy(SHOP, "Accept-Encoding, Origin")]);
    // More than the Worker's memory needs to answer by itself.
    for (const origin of [OTHER, SHOP, OTHER, SHOP]) {
      const replay = await scene.send(fromPage(origin, message));
      expect(headerValue(replay, "idempotency-status")).toBe("replayed");
      expect(aboutPages(replay)).toEqual(readableBy(origin, "Accept-Encoding, Origin"));
      expect(headerValue(replay, "access-control-expose-headers")).toMatch(
        /^Idempotency-Key, .*, X-Should-Retry, Location$/,
      );
      expect(headerValue(replay, "location")).toBe("/pay/1");
    }
    for (const origin of [EVIL, "null", null]) {
      const replay = await scene.send(fromPage(origin, message));
      expect([replay.status, replay.body.toString()]).toEqual([201, "paid"]);
      expect(aboutPages(replay)).toEqual({ ...NOBODY, vary: "Accept-Encoding, Origin" });
      expect(headerValue(replay, "access-control-expose-headers")).toBeNull();
    }
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("keep the bytes of a stream that is followed", async () => {
    const key = freshKey();
    const events = {
      headers: [["Content-Type", "text/event-stream"]] satisfies [string, string][],
      chunks: ["id: 1\ndata: a\n\n", "data: b\n\n"],
      holdBody: 1,
    };
    const first = scene.open(fromPage(SHOP, { path: "/follow", key, behave: events }));
    await first.head;
    const second = scene.open(fromPage(OTHER, { path: "/follow", key, behave: events }));
    await second.head;
    await scene.origin.release(key);
    const [one, other] = await Promise.all([first.response, second.response]);
    expect([aboutPages(one), aboutPages(other)]).toEqual([readableBy(SHOP), readableBy(OTHER)]);
    expect([one.complete, other.complete, other.body.equals(one.body)]).toEqual([true, true, true]);
    const rest = await scene.send(
      fromPage(SHOP, { path: "/follow", key, behave: events, headers: [["Last-Event-ID", "1"]] }),
    );
    expect([aboutPages(rest), rest.body.toString()]).toEqual([readableBy(SHOP), "data: b\n\n"]);
  });

  it.each([204, 304])("keep status %s", async (status) => {
    const message = { path: "/pay/status", key: freshKey(), behave: { status } };
    for (const became of ["first", "replayed"]) {
      const response = await scene.send(fromPage(SHOP, message));
      expect([response.status, headerValue(response, "idempotency-status")]).toEqual([status, became]);
      expect(aboutPages(response)).toEqual(readableBy(SHOP));
    }
  });
});

describe("the gateway's problems", () => {
  it.each<[code: string, status: number, message: Omit<Message, "key">]>([
    ["key-missing", 400, { path: "/pay/x" }],
    ["body-too-large", 413, { path: "/small", headers: [["Idempotency-Key", freshKey()]], body: "x".repeat(200) }],
  ])("%s can be read by a listed page", async (code, status, message) => {
    const response = await scene.send(fromPage(SHOP, message));
    expect([response.status, aboutPages(response)]).toEqual([status, readableBy(SHOP)]);
    expect(response.body.toString()).toContain(`"${code}"`);
    expect(aboutPages(await scene.send(fromPage(EVIL, message)))).toEqual(NOBODY);
  });

  it("about keys can be read by a listed page", async () => {
    const key = freshKey();
    const held = scene.open(fromPage(SHOP, { path: "/pay/held", key, behave: { hold: true } }));
    await scene.origin.arrived(key);
    const inFlight = await scene.send(fromPage(OTHER, { path: "/pay/held", key, behave: { hold: true } }));
    expectProblem(inFlight, { code: "in-flight", status: 409, retryable: true, echo: key });
    await scene.origin.release(key);
    await held.response;
    const reused = await scene.send(fromPage(OTHER, { path: "/pay/held", key, body: "{}" }));
    expectProblem(reused, { code: "key-reused", status: 422, retryable: false, echo: key });
    for (const response of [inFlight, reused]) expect(aboutPages(response)).toEqual(readableBy(OTHER));
  });

  it("can be read if the origin drops the call, or its answer is not kept", async () => {
    const dropped = { path: "/pay/drop", key: freshKey(), behave: { drop: "after-effect" as const } };
    const large = { path: "/small", key: freshKey(), behave: { body: "x".repeat(100) } };
    const codes: unknown[] = [];
    for (const message of [dropped, dropped, large, large]) {
      const response = await scene.send(fromPage(SHOP, message));
      expect(aboutPages(response)).toEqual(readableBy(SHOP));
      codes.push(headerValue(response, "idempotency-status"));
    }
    expect(codes).toEqual(["origin-dropped", "outcome-unknown", "first", "response-not-kept"]);
  });
});

describe("a preflight", () => {
  const ask = (path: string, method: string, origin = SHOP): Promise<RawResponse> =>
    scene.send({
      method: "OPTIONS",
      path,
      body: null,
      headers: [
        ["Origin", origin],
        ["Access-Control-Request-Method", method],
        ["Access-Control-Request-Headers", "authorization,content-type,idempotency-key"],
      ],
    });
  const arrivedAt = async (path: string): Promise<readonly string[]> =>
    (await scene.origin.requests()).filter((one) => one.path === path).map(({ method }) => method);

  it("of a protected request is answered without the origin", async () => {
    const response = await ask("/pay/preflight", "POST");
    expect([response.status, aboutPages(response)]).toEqual([204, readableBy(SHOP)]);
    expect(headerValue(response, "access-control-allow-methods")).toBe("POST, PATCH");
    expect(headerValue(response, "access-control-allow-headers")).toBe(
      "Authorization, Content-Type, Idempotency-Key, Last-Event-ID",
    );
    expect(headerValue(response, "access-control-max-age")).toBe("600");
    expect(aboutPages(await ask("/pay/preflight", "POST", EVIL))).toEqual(NOBODY);
    expect(await arrivedAt("/pay/preflight")).toEqual([]);
  });

  it.each([
    ["another method", "/pay/get", "GET"],
    ["a route that passes preflights", "/passed", "POST"],
  ])("of %s reaches the origin, whose answer stays", async (_what, path, method) => {
    await scene.origin.behave({ path }, { status: 200, headers: [["Access-Control-Allow-Origin", EVIL]] });
    const response = await ask(path, method);
    expect([response.status, aboutPages(response)]).toEqual([200, { origin: EVIL, credentials: null, vary: null }]);
    expect(await arrivedAt(path)).toEqual(["OPTIONS"]);
  });
});

describe("what passes", () => {
  it.each([
    ["without a key", { path: "/optional" }],
    ["with another method", { path: "/pay/read", method: "GET", body: null }],
    ["where no route has cors", { path: "/plain", key: freshKey() }],
  ])("%s keeps what the origin says about pages", async (_what, message) => {
    const response = await scene.send(fromPage(SHOP, { ...message, behave: OPINION }));
    expect(aboutPages(response)).toEqual({ origin: EVIL, credentials: "true", vary: "Accept-Encoding" });
  });

  it("is readable where the gateway has to answer itself", async () => {
    const response = await scene.send(fromPage(SHOP, { path: "/optional", behave: { drop: "after-read" } }));
    expect([response.status, aboutPages(response)]).toEqual([502, readableBy(SHOP)]);
    const elsewhere = await scene.send(fromPage(SHOP, { path: "/plain2", behave: { drop: "after-read" } }));
    expect(aboutPages(elsewhere)).toEqual({ origin: null, credentials: null, vary: null });
  });
});

it("lets every page read the policy, if some may read answers", async () => {
  const ask = { method: "GET", path: "/.well-known/idempotency", body: null };
  expect(aboutPages(await scene.send(fromPage(EVIL, ask)))).toEqual({ origin: "*", credentials: null, vary: null });
  const without = await startGateway(scene.origin.url, {}, [{ path: "/plain" }]);
  const response = await clientOf(without.url).send(fromPage(SHOP, ask));
  expect(aboutPages(response)).toEqual({ origin: null, credentials: null, vary: null });
  await removeGateway(without);
});
