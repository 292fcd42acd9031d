// `npm run demo:mcp` as a newcomer runs it.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { projectDir } from "../../support/wrangler.ts";

it("pays twice straight to the shop, and once through the gateway", async () => {
  const { stdout } = await promisify(execFile)("npm", ["run", "-s", "demo:mcp"], { cwd: projectDir });
  expect(stdout).toBe(`An agent pays 25 for order-17 by an MCP tool call. The line breaks while the shop is paying.

Straight to the shop
  call        no answer: the line broke
  call again  paid 25 for order-17, receipt 2
  payments    2

Through the gateway
  call        no answer: the line broke
  call again  paid 25 for order-17, receipt 1
  payments    1

`);
});
