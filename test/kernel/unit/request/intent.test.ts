import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../../src/kernel/request-feature.ts";
import { type Intent, intentReader } from "../../../../src/kernel/request/intent.ts";
import { SESSION_COOKIE } from "../../../../src/kernel/request/session-cookie.ts";
import { configOf } from "../config/support.ts";

const config = configOf({
  ROUTES: [
    { path: "/required", key: "required" },
    { path: "/optional", key: "optional" },
    { path: "/elsewhere", key_from: ["header:Idempotency-Key", "json:/id"] }, // feature: key-sources
  ],
});
const readIntent = intentReader(config, (headers) => headers.get("authorization") === "Bearer operator");

function intentOf(target: string, headers: Record<string, string> = {}): Intent {
  const [method = "", path = ""] = target.split(" ");
  const url = new URL(path, "https://api.example");
  return readIntent(new Request(url, { method, headers }), url);
}

/** An intent in a few words. */
function wordsOf(intent: Intent): string {
  switch (intent.kind) {
    case "refuse":
    case "refuse-exchange":
      return `${intent.kind} ${intent.problem.code}`;
    case "pass":
      return `pass ${intent.route?.path ?? null}`;
    case "exchange":
      return `exchange ${intent.route.path} ${intent.key.key}`;
    case "search":
      return `search ${intent.route.path}`;
    case "operate":
    case "own":
    case "policy":
    case "loop":
      return intent.kind;
  }
}

describe("a request's intent", () => {
  it.each([
    ["POST /other", {}, "pass null"],
    ["GET /required", {}, "pass null"],
    ["POST /optional", {}, "pass /optional"],
    ["POST /optional", { "Idempotency-Key": "k1" }, "exchange /optional k1"],
    ["POST /required", { "Idempotency-Key": '"k1"' }, "exchange /required k1"],
    ["POST /required", {}, "refuse-exchange key-missing"],
    ["POST /required", { "Idempotency-Key": "two words" }, "refuse-exchange key-invalid"],
    ["POST /elsewhere", { "Idempotency-Key": "k1" }, "search /elsewhere"], // feature: key-sources
    ["GET /elsewhere", {}, "pass null"],
    ["GET /.well-known/idempotency", {}, "policy"],
    ["POST /.well-known/idempotency", {}, "pass null"],
    ["GET /_onceway/records", {}, "operate"],
    ["GET /%5fonceway/records", {}, "refuse operator-not-found"],
    ["POST /required", { Authorization: "Bearer operator" }, "refuse operator-not-found"],
    ["POST /required", { "CDN-Loop": "onceway", "Idempotency-Key": "k1" }, "loop"],
    ["POST /other", { "CDN-Loop": "a, onceway" }, "loop"],
  ])("for %s with %j is: %s", (target, headers, words) => {
    expect(wordsOf(intentOf(target, headers))).toBe(words);
  });

  it("leaves the console's session out of what is sent on", () => {
    const intent = intentOf("POST /other", { Cookie: `a=1; ${SESSION_COOKIE}=secret` });
    expect(intent.kind === "pass" && intent.passing.request.headers.get("cookie")).toBe("a=1");
  });
});

describe("a feature's endpoint", () => {
  const own = { kind: "own", isAboutRecord: false, route: null, answer: () => new Response() } as const;
  const isBearer = (token: string) => (headers: Headers) => headers.get("authorization") === `Bearer ${token}`;
  const refusal = { kind: "refuse", problem: { code: "consumer-unauthorized" } } as const;
  const withTokens: Endpoint = {
    tokens: { isTheirs: isBearer("consumer"), refusal },
    find: (_request, { pathname }) => (pathname === "/own" ? own : pathname === "/OWN" ? refusal : null),
  };
  const other: Endpoint = { find: (_request, { pathname }) => (pathname === "/required" ? own : null) };
  const read = intentReader(config, isBearer("operator"), [other, withTokens]);

  it.each([
    ["POST /own", "consumer", "own"],
    // It is refused there, and goes nowhere else.
    ["POST /own", "operator", "own"],
    ["POST /OWN", "nobody", "refuse consumer-unauthorized"],
    ["POST /OWN", "operator", "refuse operator-not-found"],
    // The origin would get the token.
    ["POST /other", "consumer", "refuse consumer-unauthorized"],
    ["POST /required", "consumer", "refuse consumer-unauthorized"],
    ["POST /required", "operator", "refuse operator-not-found"],
    ["POST /required", "nobody", "own"],
    ["POST /optional", "nobody", "pass /optional"],
  ])("%s with the token of %s: %s", (target, token, words) => {
    const [method = "", path = ""] = target.split(" ");
    const url = new URL(path, "https://api.example");
    expect(wordsOf(read(new Request(url, { method, headers: { authorization: `Bearer ${token}` } }), url))).toBe(words);
  });
});
