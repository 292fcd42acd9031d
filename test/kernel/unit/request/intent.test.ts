import { describe, expect, it } from "vitest";
import { type Intent, intentReader } from "../../../../src/kernel/request/intent.ts";
import { SESSION_COOKIE } from "../../../../src/kernel/request/session-cookie.ts";
import { configOf } from "../config/support.ts";

const config = configOf({
  ROUTES: [
    { path: "/required", key: "required" },
    { path: "/optional", key: "optional" },
    { path: "/elsewhere", key_from: ["header:Idempotency-Key", "json:/id"] },
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
    case "preflight":
      return `preflight ${intent.route.methods.join()}`;
    case "refuse":
    case "refuse-exchange":
      return `${intent.kind} ${intent.problem.code}`;
    case "pass":
      return `pass ${intent.route?.path ?? null}`;
    case "exchange":
      return `exchange ${intent.route.path} ${intent.key.key}`;
    case "search":
      return `search ${intent.route.path}`;
    case "monitor":
      return `monitor ${intent.route.path} ${intent.asked.key} ${intent.asked.print}`;
    case "operate":
    case "claim":
    case "publish":
    case "loop":
      return intent.kind;
  }
}

const ACCEPTED = configOf({
  ROUTES: [
    { path: "/jobs/:id", methods: ["POST", "PUT"], async: "prefer", cors: { origins: ["https://shop.example"] } },
    { path: "/reports", async: "always" },
    { path: "/payments" },
    { path: "/*", methods: ["DELETE"], key: "optional" },
  ],
});
const ASKS = { Origin: "https://shop.example", "Access-Control-Request-Method": "DELETE" };

describe("a question for a monitor", () => {
  const readAccepted = intentReader(ACCEPTED, (headers) => headers.get("authorization") === "Bearer operator");
  const inAccepted = (target: string, headers: Record<string, string> = {}): string => {
    const [method = "", path = ""] = target.split(" ");
    const url = new URL(`/.well-known/idempotency${path}`, "https://api.example");
    return wordsOf(readAccepted(new Request(url, { method, headers }), url));
  };

  it.each([
    ["GET /requests/jobs/7?key=k1&print=ab", {}, "monitor /jobs/:id k1 ab"],
    ["HEAD /requests/jobs/7?key=a%2Bb&print=ab", {}, "monitor /jobs/:id a+b ab"],
    ["DELETE /requests/jobs/7?key=k1&print=ab&method=PUT", {}, "monitor /jobs/:id k1 ab"],
    ["GET /requests/reports?print=ab", {}, "monitor /reports  ab"],
    ["GET /requests/jobs/7?key=k1&method=DELETE", {}, "refuse monitor-not-found"],
    ["GET /requests/payments?key=k1", {}, "refuse monitor-not-found"],
    ["GET /requests/nowhere?key=k1", {}, "refuse monitor-not-found"],
    ["POST /requests/jobs/7?key=k1", {}, "refuse request-invalid"],
    ["OPTIONS /requests/jobs/7?key=k1", {}, "refuse request-invalid"],
    ["OPTIONS /requests/jobs/7?key=k1", ASKS, "preflight GET,HEAD,DELETE"],
    ["OPTIONS /requests/reports?key=k1", ASKS, "refuse request-invalid"],
    ["DELETE /requests", {}, "pass /*"],
    ["DELETE /requestsjobs/7", {}, "pass /*"],
    ["GET /other", {}, "pass null"],
    ["GET ", {}, "publish"],
    ["GET /requests/jobs/7?key=k1", { Authorization: "Bearer operator" }, "refuse operator-not-found"],
  ])("for %s with %j is: %s", (target, headers, words) => {
    expect(inAccepted(target, headers)).toBe(words);
  });

  it("is the origin's where no route accepts requests", () => {
    expect(wordsOf(intentOf("GET /.well-known/idempotency/requests/required?key=k1"))).toBe("pass null");
  });
});

describe("a request's intent", () => {
  it.each([
    ["POST /other", {}, "pass null"],
    ["GET /required", {}, "pass null"],
    ["POST /optional", {}, "pass /optional"],
    ["POST /optional", { "Idempotency-Key": "k1" }, "exchange /optional k1"],
    ["POST /required", { "Idempotency-Key": '"k1"' }, "exchange /required k1"],
    ["POST /required", {}, "refuse-exchange key-missing"],
    ["POST /required", { "Idempotency-Key": "two words" }, "refuse-exchange key-invalid"],
    ["POST /elsewhere", { "Idempotency-Key": "k1" }, "search /elsewhere"],
    ["GET /elsewhere", {}, "pass null"],
    ["GET /.well-known/idempotency", {}, "publish"],
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

describe("a consumer's request", () => {
  const GROUPED = configOf({
    TOKEN: "t".repeat(32),
    CONSUMERS: [{ name: "billing", token: "TOKEN" }],
    ROUTES: [{ path: "/required" }],
    IDEMPOTENCY: { origin: "https://api.example", operator_hostname: "ops.example" },
  });
  const isBearer = (token: string) => (headers: Headers) => headers.get("authorization") === `Bearer ${token}`;
  const readGrouped = intentReader(GROUPED, isBearer("operator"), isBearer("consumer"));
  const inGrouped = (target: string, token: string, host = "api.example"): string => {
    const [method = "", path = ""] = target.split(" ");
    const url = new URL(path, `https://${host}`);
    return wordsOf(readGrouped(new Request(url, { method, headers: { authorization: `Bearer ${token}`, host } }), url));
  };

  it.each([
    ["POST /_claims/billing", "consumer", "claim"],
    ["POST /_claims/billing/complete", "nobody", "claim"],
    // It is refused there, and goes nowhere else.
    ["POST /_claims/billing", "operator", "claim"],
    ["POST /_CLAIMS/billing", "nobody", "refuse consumer-unauthorized"],
    ["POST /x/../%5fclaims/billing", "nobody", "refuse consumer-unauthorized"],
    // The origin would get the token.
    ["POST /_claim/billing", "consumer", "refuse consumer-unauthorized"],
    ["POST /required", "consumer", "refuse consumer-unauthorized"],
    ["POST /_claim/billing", "nobody", "pass null"],
  ])("%s with the token of %s: %s", (target, token, words) => {
    expect(inGrouped(target, token)).toBe(words);
  });

  it("is not served on the operators' host, and passes where there is no group", () => {
    expect(inGrouped("POST /_claims/billing", "consumer", "ops.example")).toBe("refuse operator-not-found");
    expect(wordsOf(intentOf("POST /_claims/billing"))).toBe("pass null");
  });
});
