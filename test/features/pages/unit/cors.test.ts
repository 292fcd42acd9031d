import { describe, expect, it } from "vitest";
import {
  preflightEndpoint,
  preflightIn,
  preflightResponse,
  readableResponse,
} from "../../../../src/features/pages/cors.ts";
import { intentReader } from "../../../../src/kernel/request/intent.ts";
import { configOf, routeOf } from "../../../kernel/unit/config/support.ts";

const SHOP = "https://shop.example.com";
const OTHER = "https://other.example";

function corsOf(settings: object) {
  const { cors } = routeOf({ cors: { origins: [SHOP, OTHER], ...settings } });
  if (cors === null) throw new Error("no cors");
  return cors;
}

/** The headers of an answer that concern other origins. */
function about(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => /^(?:access-control-|vary$)/.test(name)));
}

const EXPOSED =
  "Idempotency-Key, Idempotency-Status, Idempotent-Replayed, Idempotency-Expires, Idempotency-Verified, Idempotency-Key-Source, Retry-After, Link, WWW-Authenticate, X-Should-Retry";

describe("an answer", () => {
  it("names the page that asks, if it is listed, and what it may read", () => {
    const answer = readableResponse(
      new Response("body", { status: 409 }),
      corsOf({ expose_headers: ["Location"] }),
      OTHER,
    );
    expect(about(answer)).toEqual({
      "access-control-allow-origin": OTHER,
      "access-control-expose-headers": `${EXPOSED}, Location`,
      vary: "Origin",
    });
    expect(answer.status).toBe(409);
  });

  it.each([[null], ["https://evil.example"], ["null"]])("for %s only says that it depends on the page", (origin) => {
    expect(about(readableResponse(new Response(), corsOf({}), origin))).toEqual({ vary: "Origin" });
  });

  it("says that credentials are allowed only if they are", () => {
    const allowed = readableResponse(new Response(), corsOf({ credentials: true }), SHOP);
    expect(allowed.headers.get("access-control-allow-credentials")).toBe("true");
    const unlisted = readableResponse(new Response(), corsOf({ credentials: true }), "https://evil.example");
    expect(about(unlisted)).toEqual({ vary: "Origin" });
  });

  it("loses whatever the origin, or the first answer, said about other pages", () => {
    const headers = {
      "Access-Control-Allow-Origin": "https://evil.example",
      "Access-Control-Allow-Credentials": "true",
      "Access-Control-Expose-Headers": "X-Secret",
      "Access-Control-Allow-Methods": "DELETE",
      "X-Kept": "1",
    };
    const answer = readableResponse(new Response("", { headers }), corsOf({}), SHOP);
    expect(about(answer)).toEqual({
      "access-control-allow-origin": SHOP,
      "access-control-expose-headers": EXPOSED,
      vary: "Origin",
    });
    expect(answer.headers.get("x-kept")).toBe("1");
  });

  it.each([
    ["Accept-Encoding", "Accept-Encoding, Origin"],
    ["accept, ORIGIN", "accept, ORIGIN"],
    ["*", "*"],
    ["Origin-Agent-Cluster", "Origin-Agent-Cluster, Origin"],
  ])("adds to Vary: %s", (vary, becomes) => {
    const answer = readableResponse(new Response("", { headers: { Vary: vary } }), corsOf({}), SHOP);
    expect(answer.headers.get("vary")).toBe(becomes);
  });

  it("is the same for all pages if all are let in", () => {
    const expected = { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED };
    const cors = corsOf({ origins: ["*"] });
    for (const origin of [SHOP, "null", null])
      expect(about(readableResponse(new Response(), cors, origin))).toEqual(expected);
  });

  it("keeps status, reason, body and every cookie", async () => {
    const given = new Response("text", { status: 202, statusText: "Later", headers: { "Set-Cookie": "a=1" } });
    given.headers.append("Set-Cookie", "b=2");
    const answer = readableResponse(given, corsOf({}), SHOP);
    expect([answer.status, answer.statusText, await answer.text()]).toEqual([202, "Later", "text"]);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });
});

const ASKED = { Origin: SHOP, "Access-Control-Request-Method": "POST" };

describe("a preflight", () => {
  const config = configOf({
    ROUTES: [
      { path: "/answered", cors: { origins: [SHOP], allow_headers: ["X-Trace"] } },
      { path: "/passed", cors: { origins: [SHOP], preflight: "pass" } },
      { path: "/without" },
    ],
  });
  const readIntent = intentReader(config, () => false, [preflightEndpoint(config)]);
  const kindOf = (path: string, headers: Record<string, string>, method = "OPTIONS"): string => {
    const url = new URL(path, "https://api.example");
    return readIntent(new Request(url, { method, headers }), url).kind;
  };

  it.each([
    ["/answered", ASKED, "own"],
    ["/answered", { ...ASKED, Origin: "https://evil.example" }, "own"],
    ["/answered", { ...ASKED, "Access-Control-Request-Method": "GET" }, "pass"],
    ["/answered", { ...ASKED, "Access-Control-Request-Method": "post" }, "pass"],
    ["/answered", { Origin: SHOP }, "pass"],
    ["/answered", { "Access-Control-Request-Method": "POST" }, "pass"],
    ["/ANSWERED/", ASKED, "own"],
    ["/passed", ASKED, "pass"],
    ["/without", ASKED, "pass"],
    ["/unknown", ASKED, "pass"],
    ["/_onceway/records", ASKED, "operate"],
  ])("for %s with %j is: %s", (path, headers, kind) => {
    expect(kindOf(path, headers)).toBe(kind);
  });

  const route = routeOf({ methods: ["POST", "PUT"], cors: { origins: [SHOP], allow_headers: ["X-Trace"] } });
  const answerTo = (headers: Record<string, string>, settings: object = {}): Response => {
    const preflight = preflightIn("OPTIONS", new Headers(headers));
    if (preflight === null) throw new Error("no preflight");
    return preflightResponse(route, corsOf({ allow_headers: ["X-Trace"], ...settings }), preflight);
  };

  it("is told the route's methods, the headers and how long that holds", () => {
    const answer = answerTo(ASKED);
    expect(answer.status).toBe(204);
    expect(about(answer)).toEqual({
      "access-control-allow-origin": SHOP,
      "access-control-allow-methods": "POST, PUT",
      "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Trace",
      "access-control-max-age": "600",
      vary: "Origin",
    });
  });

  it("of a page that is not listed is told nothing", () => {
    const answer = answerTo({ ...ASKED, Origin: "https://evil.example" }, { credentials: true });
    expect([answer.status, about(answer)]).toEqual([204, { vary: "Origin" }]);
  });

  it("of a listed page may ask for a private network", () => {
    const asked = { ...ASKED, "Access-Control-Request-Private-Network": "true" };
    expect(answerTo(asked).headers.get("access-control-allow-private-network")).toBe("true");
    expect(about(answerTo({ ...asked, Origin: "https://evil.example" }))).toEqual({ vary: "Origin" });
  });

  it("of any page gets no leave for a private network where all pages are listed", () => {
    const asked = { ...ASKED, "Access-Control-Request-Private-Network": "true" };
    const answer = about(answerTo(asked, { origins: ["*"] }));
    expect(answer).toMatchObject({ "access-control-allow-origin": "*" });
    expect(answer).not.toHaveProperty("access-control-allow-private-network");
  });
});
