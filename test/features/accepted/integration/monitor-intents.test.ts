// Which requests are questions for a monitor, and which are preflights of them.

import { describe, expect, it } from "vitest";
import { monitorEndpoint } from "../../../../src/features/accepted/monitor.ts";
import { preflightEndpoint } from "../../../../src/features/pages/cors.ts"; // feature: pages
import { readConfig } from "../../../../src/features/settings.ts";
import type { Config } from "../../../../src/kernel/config/resolved.ts";
import { type Intent, intentReader } from "../../../../src/kernel/request/intent.ts";

function configOf(env: Readonly<Record<string, unknown>>): Config {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example" }, ...env });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

/** An intent in a few words. */
function wordsOf(intent: Intent): string {
  if (intent.kind === "refuse") return `refuse ${intent.problem.code}`;
  if (intent.kind === "pass") return `pass ${intent.route?.path ?? null}`;
  if (intent.kind !== "own") return intent.kind;
  const { isAboutRecord, route, answer } = intent;
  if (isAboutRecord) return `monitor ${route?.path}`;
  const preflight = answer();
  if (preflight instanceof Promise) throw new TypeError("a preflight is answered at once");
  return `preflight ${preflight.headers.get("access-control-allow-methods")}`;
}

const ACCEPTED = configOf({
  ROUTES: [
    {
      path: "/jobs/:id",
      methods: ["POST", "PUT"],
      async: "prefer",
      cors: { origins: ["https://shop.example"] }, // feature: pages
    },
    { path: "/reports", async: "always" },
    { path: "/payments" },
    { path: "/*", methods: ["DELETE"], key: "optional" },
  ],
});
const ASKS = { Origin: "https://shop.example", "Access-Control-Request-Method": "DELETE" };

describe("a question for a monitor", () => {
  const proveCaller = (): Promise<never> => Promise.reject(new Error("nobody is asked"));
  const endpoints = [
    preflightEndpoint(ACCEPTED), // feature: pages
    monitorEndpoint({ proveCaller, askMonitor: () => Promise.resolve(null) }),
  ];
  const readAccepted = intentReader(
    ACCEPTED,
    (headers) => headers.get("authorization") === "Bearer operator",
    endpoints,
  );
  const inAccepted = (target: string, headers: Record<string, string> = {}): string => {
    const [method = "", path = ""] = target.split(" ");
    const url = new URL(`/.well-known/idempotency${path}`, "https://api.example");
    return wordsOf(readAccepted(new Request(url, { method, headers }), url));
  };

  it.each([
    ["GET /requests/jobs/7?key=k1&print=ab", {}, "monitor /jobs/:id"],
    ["HEAD /requests/jobs/7?key=a%2Bb&print=ab", {}, "monitor /jobs/:id"],
    ["DELETE /requests/jobs/7?key=k1&print=ab&method=PUT", {}, "monitor /jobs/:id"],
    ["GET /requests/reports?print=ab", {}, "monitor /reports"],
    ["GET /requests/jobs/7?key=k1&method=DELETE", {}, "refuse monitor-not-found"],
    ["GET /requests/payments?key=k1", {}, "refuse monitor-not-found"],
    ["GET /requests/nowhere?key=k1", {}, "refuse monitor-not-found"],
    ["POST /requests/jobs/7?key=k1", {}, "refuse request-invalid"],
    ["OPTIONS /requests/jobs/7?key=k1", {}, "refuse request-invalid"],
    ["OPTIONS /requests/jobs/7?key=k1", ASKS, "preflight GET, HEAD, DELETE"], // feature: pages
    ["OPTIONS /requests/reports?key=k1", ASKS, "refuse request-invalid"],
    ["DELETE /requests", {}, "pass /*"],
    ["DELETE /requestsjobs/7", {}, "pass /*"],
    ["GET /other", {}, "pass null"],
    ["GET ", {}, "policy"],
    ["GET /requests/jobs/7?key=k1", { Authorization: "Bearer operator" }, "refuse operator-not-found"],
  ])("for %s with %j is: %s", (target, headers, words) => {
    expect(inAccepted(target, headers)).toBe(words);
  });
});
