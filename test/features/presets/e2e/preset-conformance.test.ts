// The conformance suite with a protocol's rules, against a gateway with that protocol's preset and nothing else, and against one without it.

import { createServer, type Server } from "node:http";
import { json } from "node:stream/consumers";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startOnceway } from "../../../support/command-line.ts";
import { freePort } from "../../../support/ports.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { removeGateway, startGateway } from "../../../support/e2e/scene.ts";
import { listen } from "../../../support/origin-server.ts";

/** As short as an answer on a busy machine allows. */
const RETENTION = "9s";
const SHORT = { timeout: "7s", lock: "8s", unknown: "retry" };

const report = v.object({
  profile: v.picklist(["acp", "ucp", "ucp-mcp", "adcp", "mcp"]),
  results: v.array(v.object({ id: v.string(), level: v.string(), result: v.string() })),
});

/** Each with a path, which the suite is told. All have one gateway, before the port on which the suite's origin listens. */
const HELD = { unknown: "hold" };
const ROUTES = {
  "/acp": { preset: "acp", ...SHORT },
  "/acp-short": { preset: "acp", ...SHORT, retention: RETENTION },
  "/acp-held": { preset: "acp", ...HELD },
  "/plain": HELD,
  "/mcp": { preset: "mcp" },
  "/ucp": { preset: "ucp", ...HELD },
  "/ucp-mcp": { preset: "ucp-mcp", ...HELD },
  "/adcp": { preset: "adcp", ...HELD },
  "/adcp-short": { preset: "adcp", ...SHORT, retention: RETENTION },
  "/plain-mcp": { ...HELD, key: "optional" },
  "/ucp-signed": { preset: "ucp", ...HELD, scope: ["identity:platform", "path"] }, // feature: identities
} as const;

let originPort: number;
let gateway: Gateway;
beforeAll(async () => {
  originPort = await freePort();
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: `http://127.0.0.1:${originPort}`, shards: 2 },
      // feature: identities begins
      IDENTITIES: { platform: { signature: { trust: [`http://127.0.0.1:${originPort}/platforms/*`] } } },
      // feature: identities ends
      ROUTES: Object.entries(ROUTES).flatMap(([path, route]) => [
        { path, ...route },
        { path: `${path}/*`, ...route },
      ]),
    },
  });
});
afterAll(() => removeGateway(gateway));

/** What did not pass: `life.24h failed`. */
async function conform(
  profile: string,
  path: keyof typeof ROUTES,
  ...more: readonly string[]
): Promise<readonly string[]> {
  const where = ["--path", path, "--origin-port", String(originPort), "--profile", profile, "--json"];
  const { stdout } = await startOnceway(["conformance", gateway.url, ...where, ...more]).outcome;
  const { results } = v.parse(report, JSON.parse(stdout));
  return results.filter(({ result }) => result !== "passed").map(({ id, result }) => `${id} ${result}`);
}

it("ACP passes whole, and with a short retention all but that it is a day", async () => {
  expect(await conform("acp", "/acp", "--lock", SHORT.lock)).toEqual(["life.then-new skipped"]);
  expect(await conform("acp", "/acp-short", "--retention", RETENTION, "--only", "life")).toEqual(["life.24h failed"]);
});

it('ACP lacks with unknown = "hold" the fresh attempt after a lost call, which a person decides', async () => {
  expect(await conform("acp", "/acp-held", "--lock", "2s", "--only", "lost")).toEqual(["lost.fresh failed"]);
});

it("ACP fails without the preset what the preset is for", async () => {
  expect(await conform("acp", "/plain")).toEqual([
    "key.required failed",
    "equal.order failed",
    "equal.number failed",
    "equal.null failed",
    "equal.array failed",
    "equal.extension failed",
    "scope.path failed",
    "scope.session failed",
    "conflict.body failed",
    "flight.body failed",
    "flight.retry-after failed",
    "flight.conflict failed",
    "5xx.not-kept failed",
    "5xx.fresh-body failed",
    "lost.fresh failed",
    "life.then-new skipped",
  ]);
});

it("MCP passes whole, in one line", async () => {
  expect(await conform("mcp", "/mcp")).toEqual([]);
});

it("UCP passes whole; without the preset, five MUST fail", async () => {
  const unsigned = ["client", "again", "rotated", "wba", "missing", "digest", "coverage"].map(
    (name) => `sign.${name} skipped`,
  );
  expect(await conform("ucp", "/ucp")).toEqual(unsigned);
  expect(await conform("ucp", "/plain")).toEqual([
    "bytes.other failed",
    "body.shape failed",
    "key.required failed",
    "scope.operation failed",
    "life.48h failed",
    ...unsigned,
  ]);
});

// feature: identities begins
it("UCP passes whole where platforms are known by their signatures alone; where they are not, one gets the answer of another", async () => {
  expect(await conform("ucp", "/ucp-signed", "--signed")).toEqual([]);
  expect(await conform("ucp", "/ucp", "--signed", "--only", "sign")).toEqual([
    "sign.client failed",
    "sign.missing failed",
    "sign.digest failed",
    "sign.coverage failed",
  ]);
});
// feature: identities ends

it("UCP over MCP passes whole; without the preset, five MUST fail", async () => {
  expect(await conform("ucp-mcp", "/ucp-mcp")).toEqual([]);
  const without = await conform("ucp-mcp", "/plain-mcp");
  expect(without).toHaveLength(5);
  expect(without).toContain("mcp.id failed");
});

it("AdCP passes whole; without the preset, 13 MUST fail", async () => {
  expect(await conform("adcp", "/adcp")).toEqual(["caps.declared skipped", "expired skipped"]);
  const without = await conform("adcp", "/plain-mcp");
  expect(without.filter((one) => one.endsWith("failed"))).toHaveLength(13);
  expect(await conform("adcp", "/adcp-short", "--retention", RETENTION, "--only", "expired")).toEqual([]);
});

/** A seller whose media buys differ, and which knows nothing of keys. */
async function startSeller(): Promise<{ readonly server: Server; readonly origin: string }> {
  let buys = 0;
  const server = createServer((request, response) => {
    if (request.method !== "POST") return void response.writeHead(404).end();
    void json(request).then((message) => {
      const { id, method, params } = v.parse(toolCall, message);
      if (method !== "tools/call") return response.writeHead(404).end();
      buys += 1;
      const declared = { adcp: { idempotency: { supported: true, replay_ttl_seconds: 86_400 } } };
      const bought = { status: "completed", media_buy_id: `mb-${buys}`, context: params?.arguments?.["context"] };
      const structuredContent = params?.name === "get_adcp_capabilities" ? declared : bought;
      response.writeHead(200, { "Content-Type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [], structuredContent } }));
    });
  });
  const { port } = await listen(server, 0);
  return { server, origin: `http://127.0.0.1:${port}` };
}

const toolCall = v.object({
  id: v.optional(v.union([v.string(), v.number()])),
  method: v.string(),
  params: v.optional(
    v.object({ name: v.optional(v.string()), arguments: v.optional(v.record(v.string(), v.unknown())) }),
  ),
});

it("passes in front of a seller that is judged by its media buys, which by itself fails eight MUST", async () => {
  const { server, origin } = await startSeller();
  const before = await startGateway(origin, { shards: 2 }, [{ path: "/mcp", preset: "adcp", ...HELD }]);
  const buy = { idempotency_key: "{key}", account: { account_id: "one" }, packages: [{ budget: 100 }] };
  const other = { ...buy, packages: [{ budget: 101 }] };
  const call = ["--arguments", JSON.stringify(buy), "--other-arguments", JSON.stringify(other), "--json"];
  const failedAt = async (url: string): Promise<readonly string[]> => {
    const { stdout } = await startOnceway(["conformance", `${url}/mcp`, "--profile", "adcp", ...call]).outcome;
    return v.parse(report, JSON.parse(stdout)).results.flatMap(({ id, result }) => (result === "failed" ? [id] : []));
  };
  try {
    expect(await failedAt(before.url)).toEqual([]);
    expect(await failedAt(origin)).toHaveLength(8);
  } finally {
    await removeGateway(before);
    server.closeAllConnections();
    server.close();
  }
});
