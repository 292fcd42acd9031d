// Runs the profiles for agents against public servers of their protocols, each by itself and behind a gateway with the preset, and prints the tables of
// src/conformance/README.md. `sh test/conformance/install.sh`, then `npx node test/conformance/agents.ts [NAME…]`.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { startOnceway } from "../support/command-line.ts";
import { freePort, untilAnswers } from "../support/ports.ts";
import { spawnGroup } from "../support/process-group.ts";
import { removeGateway, startGateway } from "../support/e2e/scene.ts";
import { comparison, reportSchema, type Row, versionsOf } from "./table.ts";

const PEERS = fileURLToPath(new URL("peers/agents/", import.meta.url));
const SELLER = ["--caller", "authorization: Bearer sk_harness_do_not_use_in_prod"];
const BUY = [
  "--arguments",
  `@${join(PEERS, "media-buy.json")}`,
  "--other-arguments",
  `@${join(PEERS, "other-buy.json")}`,
];

interface PublicServer {
  /** The file that starts it. */
  readonly file: string;
  readonly more: readonly string[];
  readonly packages: readonly string[];
}

interface Protocol {
  readonly profile: "mcp" | "adcp";
  readonly route: object;
  readonly options: readonly string[];
  readonly servers: Readonly<Record<string, PublicServer>>;
}

const pays = (file: string, ...packages: readonly string[]): PublicServer => ({ file, more: [], packages });
const sells = (...more: readonly string[]): PublicServer => ({ file: "adcp-seller", more, packages: ["@adcp/sdk"] });

const PROTOCOLS: readonly Protocol[] = [
  {
    profile: "mcp",
    route: { preset: "mcp" },
    options: [],
    servers: {
      "SDK 1": pays("mcp-sdk", "@modelcontextprotocol/sdk"),
      "SDK 2": pays("mcp-server", "@modelcontextprotocol/server"),
      fastmcp: pays("fastmcp", "fastmcp"),
      "@hono/mcp": pays("hono-mcp", "@hono/mcp"),
      "mcp-handler": pays("mcp-handler", "mcp-handler"),
    },
  },
  {
    profile: "adcp",
    route: { preset: "adcp", unknown: "hold" },
    options: [...SELLER, ...BUY],
    servers: { "sample seller": sells(), "without its own keys": sells("bare") },
  },
];

/** Its results by itself, and behind a gateway with the preset. */
async function conform(
  { profile, route, options }: Protocol,
  server: PublicServer,
): Promise<readonly (readonly Row[])[]> {
  const [port, upstreamPort] = [await freePort(), await freePort()];
  const args = [`${server.file}.mjs`, port, upstreamPort, ...server.more].map(String);
  const group = await spawnGroup(process.execPath, args, { cwd: PEERS, env: process.env });
  const origin = `http://127.0.0.1:${port}`;
  try {
    const failure = (): string | null => (group.hasExited() ? `${server.file} has ended:\n${group.output()}` : null);
    await untilAnswers({ port, path: "/", timeoutMs: 60_000, failure });
    const judge = async (url: string): Promise<readonly Row[]> => {
      const command = ["conformance", `${url}/mcp`, "--profile", profile, "--timeout", "10s", "--json", ...options];
      const { stdout, stderr } = await startOnceway(command).outcome;
      if (stdout === "") throw new Error(stderr);
      return v.parse(reportSchema, JSON.parse(stdout)).results.filter(({ result }) => result !== "skipped");
    };
    const alone = await judge(origin);
    const gateway = await startGateway(origin, { shards: 4 }, [{ path: "/mcp", ...route }]);
    try {
      return [alone, await judge(gateway.url)];
    } finally {
      await removeGateway(gateway);
    }
  } finally {
    await group.stop();
  }
}

/** Of each case the result of a server that failed, if one did. */
function worstOf([first = [], ...others]: readonly (readonly Row[])[]): readonly Row[] {
  return first.map((row) => {
    const rows = [row, ...others.flatMap((all) => all.filter(({ id }) => id === row.id))];
    return rows.find(({ result }) => result === "failed") ?? row;
  });
}

if (!existsSync(join(PEERS, "node_modules")))
  throw new Error("the servers are not installed: sh test/conformance/install.sh");
const wanted = process.argv.slice(2);
for (const protocol of PROTOCOLS) {
  const columns = [];
  const protectedRows: (readonly Row[])[] = [];
  for (const [name, server] of Object.entries(protocol.servers)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.error(name);
    const [alone = [], behind = []] = await conform(protocol, server);
    columns.push({ name, versions: await versionsOf(PEERS, server.packages), rows: alone });
    protectedRows.push(behind);
  }
  if (columns.length === 0) continue;
  columns.push({ name: "each behind Onceway", versions: [], rows: worstOf(protectedRows) });
  console.log(`${protocol.profile}\n\n${comparison(columns)}\n`);
}
