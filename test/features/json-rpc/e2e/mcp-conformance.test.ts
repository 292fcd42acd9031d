// The conformance suite's profile for MCP, against a gateway that knows nothing of JSON-RPC, and against servers of the official SDK with a
// gateway in front and without. That a gateway with the preset passes whole is in test/features/presets/e2e/preset-conformance.test.ts.

import * as v from "valibot";
import { expect, it } from "vitest";
import { startOnceway } from "../../../support/command-line.ts";
import { freePort } from "../../../support/ports.ts";
import { SERVERS } from "../../../support/e2e/mcp-parties.ts";
import { removeGateway, startGateway } from "../../../support/e2e/scene.ts";

const report = v.object({
  profile: v.literal("mcp"),
  results: v.array(v.object({ id: v.string(), result: v.string() })),
});

async function notPassed(route: object): Promise<readonly string[]> {
  const port = await freePort();
  const gateway = await startGateway(`http://127.0.0.1:${port}`, { shards: 2 }, [{ path: "/mcp", ...route }]);
  try {
    const where = ["--path", "/mcp", "--origin-port", String(port), "--profile", "mcp", "--json"];
    const { stdout } = await startOnceway(["conformance", gateway.url, ...where]).outcome;
    const { results } = v.parse(report, JSON.parse(stdout));
    return results.filter(({ result }) => result !== "passed").map(({ id, result }) => `${id} ${result}`);
  } finally {
    await removeGateway(gateway);
  }
}

const TOOLS = {
  jsonrpc: true,
  problems: "jsonrpc",
  duplicate: "wait",
  refused: ["4xx", 503, 521, 523, 525, 526, 530],
  after_refusal: "any",
  verdicts: [
    { at: "/error/code", equals: [-32_700, -32_600, -32_601, -32_602, -32_022, -32_021, -32_020], is: "refused" },
    { at: "/result/resultType", equals: "input_required", is: "refused" },
  ],
};

it("fails on a route that knows nothing of JSON-RPC: a client would wait in vain for its own id", async () => {
  expect(await notPassed({ key: "optional" })).toEqual([
    "id.own failed",
    "retry.new-session failed",
    "session.not-replayed failed",
    "session.dead failed",
    "error.protocol failed",
    "mrtr.once failed",
    "stream.response-only failed",
    "conflict.json-rpc failed",
    "key.missing failed",
    "members.twice failed",
    "batch failed",
    "leave.once failed",
  ]);
});

/** What failed at a server that makes its own results: the suite counts no calls. */
async function failedAt(url: string): Promise<readonly string[]> {
  const order = { order: "{token}", amount: 25 };
  const call = ["--arguments", JSON.stringify(order), "--other-arguments", JSON.stringify({ ...order, amount: 26 })];
  const command = ["conformance", `${url}/mcp`, "--profile", "mcp", "--json", ...call];
  const { results } = v.parse(report, JSON.parse((await startOnceway(command).outcome).stdout));
  return results.flatMap(({ id, result }) => (result === "failed" ? [id] : []));
}

it.each(Object.entries(SERVERS))(
  "finds at a server of the official SDK, %s, what agents meet, and nothing where a gateway is in front of it",
  async (_name, { start }) => {
    const shop = await start(() => Promise.resolve());
    const gateway = await startGateway(shop.url, { shards: 2 }, [{ path: "/mcp", ...TOOLS }]);
    try {
      expect(await failedAt(shop.url)).toEqual([
        "id.own",
        "retry.new-session",
        "conflict.json-rpc",
        "key.missing",
        "members.twice",
        "batch",
        "burst.ten",
      ]);
      expect(await failedAt(gateway.url)).toEqual([]);
    } finally {
      await removeGateway(gateway);
      await shop.close();
    }
  },
);
