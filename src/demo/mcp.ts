// `npm run demo:mcp`: an agent pays with an MCP tool call, the line breaks while the shop is paying, and the agent calls again. First straight to the
// shop, then through the gateway. Ends with status 1 if the gateway let it pay twice.

import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { demoConfiguration } from "./configuration.ts";
import { startCutLine } from "./cut-line.ts";
import { type McpShop, startMcpShop } from "./mcp-shop.ts";
import { startWranglerDev } from "./wrangler-dev.ts";

/** How long the shop takes to answer when it has paid. */
const ANSWER_MS = 500;

/** Before each call. */
const RETRY_MS = 200;

const ORDER = { order: "order-17", amount: 25 };
/** Of this payment, however often it is called. */
const KEY = "order-17-payment-1";

const projectDir = fileURLToPath(new URL("../../", import.meta.url));

interface Walk {
  /** What the agent got, call by call. */
  readonly got: readonly string[];
  readonly payments: number;
}

/** `gateway`: starts one in front of a shop, and resolves to its URL. Without it the agent's line ends at the shop. */
async function walk(gateway: ((shop: McpShop) => Promise<string>) | null): Promise<Walk> {
  let breaks = 1;
  const onPaid = async (): Promise<void> => {
    if (breaks-- > 0) line.cut();
    await pause(ANSWER_MS);
  };
  const shop = await startMcpShop({ port: 0, onPaid });
  const line = await startCutLine(gateway === null ? shop.url : await gateway(shop));
  const agent = new Client({ name: "agent", version: "1.0.0" });
  const requestInit = { headers: { authorization: "Bearer agent-7" } };
  const got: string[] = [];
  try {
    await agent.connect(new StreamableHTTPClientTransport(new URL("/mcp", line.url), { requestInit }));
    while (got.length < 2) {
      await pause(RETRY_MS);
      const answer = await agent
        .callTool({ name: "pay", arguments: ORDER, _meta: { idempotencyKey: KEY } })
        .catch(() => null);
      const [content] = answer?.content ?? [];
      got.push(content?.type === "text" ? content.text : "no answer: the line broke");
    }
    return { got, payments: shop.payments() };
  } finally {
    await agent.close();
    await line.close();
    await shop.close();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

function show(title: string, { got, payments }: Walk): void {
  const calls = got.map((text, at) => `  ${at === 0 ? "call      " : "call again"}  ${text}`);
  process.stdout.write(`${[title, ...calls, `  payments    ${payments}`].join("\n")}\n\n`);
}

process.stdout.write(
  `An agent pays ${ORDER.amount} for ${ORDER.order} by an MCP tool call. The line breaks while the shop is paying.\n\n`,
);
show("Straight to the shop", await walk(null));

const wranglerDir = join(projectDir, ".wrangler");
await mkdir(wranglerDir, { recursive: true });
const workDir = await mkdtemp(join(wranglerDir, "demo-mcp-"));
const configPath = join(workDir, "wrangler.toml");
let stop = (): Promise<void> => Promise.resolve();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => void stop().finally(() => process.exit(130)));
}
try {
  const protectedWalk = await walk(async (shop) => {
    await writeFile(configPath, demoConfiguration({ projectDir, originUrl: shop.url, routes: "mcp" }));
    const port = await freePort();
    const wrangler = startWranglerDev({
      projectDir,
      configPath,
      stateDir: join(workDir, "state"),
      port,
      lockFd: null,
      showsRequests: false,
    });
    stop = () => wrangler.stop();
    if (!(await wrangler.ready()))
      throw new Error(`${wrangler.startOutput()}\nwrangler ended before the gateway answered.`);
    return `http://127.0.0.1:${port}`;
  });
  show("Through the gateway", protectedWalk);
  process.exitCode = protectedWalk.payments === 1 ? 0 : 1;
} finally {
  await stop();
  await rm(workDir, { recursive: true, force: true });
}
