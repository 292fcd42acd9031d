// The conformance suite's profile for MCP, against a gateway with a JSON-RPC route and against one that knows nothing of JSON-RPC.

import * as v from "valibot";
import { expect, it } from "vitest";
import { startOnceway } from "../../../support/command-line.ts";
import { freePort } from "../../../support/ports.ts";
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

it("passes whole on a route for tools that says what is no result", async () => {
  const verdicts = [
    { at: "/error/code", equals: [-32_700, -32_600, -32_601, -32_602, -32_022, -32_021, -32_020], is: "refused" },
    { at: "/result/resultType", equals: "input_required", is: "refused" },
  ];
  const refused = ["4xx", 503, 521, 523, 525, 526, 530];
  const route = { jsonrpc: true, problems: "jsonrpc", duplicate: "wait", refused, after_refusal: "any", verdicts };
  expect(await notPassed(route)).toEqual([]);
});

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
  ]);
});
