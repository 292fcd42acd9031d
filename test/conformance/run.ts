// Runs the conformance suite against the gateway and against public middlewares, each in front of the suite's own origin, and prints
// the table of src/conformance/README.md. `sh test/conformance/install.sh`, then `npx node test/conformance/run.ts [NAME…]`.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { startOnceway } from "../support/command-line.ts";
import { listen } from "../support/origin-server.ts";
import { freePort, untilAnswers } from "../support/ports.ts";
import { type ProcessGroup, spawnGroup } from "../support/process-group.ts";
import { removeGateway, startGateway } from "../support/e2e/scene.ts";
import { comparison, reportSchema, type Row, versionsOf } from "./table.ts";

const PEERS = fileURLToPath(new URL("peers/", import.meta.url));
/** Long enough that a lost call meets the end of its lock, and not that of its record. */
const RETENTION_SECONDS = 16;
const LOCK_SECONDS = 5;

/** A server that forwards to the suite's origin, and can be killed and started again on its own state. */
interface Contestant {
  readonly url: string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

async function startOurs(originPort: number): Promise<Contestant> {
  const settings = { shards: 4, timeout: "4s", lock: `${LOCK_SECONDS}s`, retention: `${RETENTION_SECONDS}s` };
  let gateway = await startGateway(`http://127.0.0.1:${originPort}`, settings, [{ path: "/v1/*" }]);
  return {
    url: gateway.url,
    async restart() {
      await gateway.kill9();
      gateway = await gateway.restart();
    },
    stop: () => removeGateway(gateway),
  };
}

async function startPeer(name: string, originPort: number): Promise<Contestant> {
  if (!existsSync(join(PEERS, "node_modules")))
    throw new Error("the peers are not installed: sh test/conformance/install.sh");
  const dir = await mkdtemp(join(tmpdir(), "onceway-peer-"));
  const redisPort = await freePort();
  const redis = await spawnGroup(
    "redis-server",
    [
      "--port",
      String(redisPort),
      "--bind",
      "127.0.0.1",
      "--dir",
      dir,
      "--appendonly",
      "yes",
      "--appendfsync",
      "always",
      "--save",
      "",
    ],
    { cwd: dir, env: process.env },
  );
  const port = await freePort();
  const args = [`${name}.mjs`, port, `http://127.0.0.1:${originPort}`, redisPort, RETENTION_SECONDS, LOCK_SECONDS].map(
    String,
  );
  const start = async (): Promise<ProcessGroup> => {
    const group = await spawnGroup(process.execPath, args, { cwd: PEERS, env: process.env });
    const failure = (): string | null => (group.hasExited() ? `${name} has ended:\n${group.output()}` : null);
    await untilAnswers({ port, path: "/ready", timeoutMs: 15_000, failure });
    return group;
  };
  let server = await start();
  return {
    url: `http://127.0.0.1:${port}`,
    async restart() {
      await server.kill9();
      server = await start();
    },
    async stop() {
      await server.stop();
      await redis.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Runs the whole suite against one server. */
async function conform(
  start: (originPort: number) => Promise<Contestant>,
  requiresKey: boolean,
): Promise<readonly Row[]> {
  const originPort = await freePort();
  const contestant = await start(originPort);
  const restarter = createServer((_, response) => {
    contestant.restart().then(
      () => response.end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const { port } = await listen(restarter, 0);
  const restart = `"${process.execPath}" -e "fetch('http://127.0.0.1:${port}').then((r) => process.exit(r.ok ? 0 : 1))"`;
  const options = {
    path: "/v1/payments",
    "origin-port": originPort,
    "restart-command": restart,
    lock: `${LOCK_SECONDS}s`,
    retention: `${RETENTION_SECONDS}s`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  try {
    const { stdout, stderr } = await startOnceway([
      "conformance",
      contestant.url,
      ...args,
      ...(requiresKey ? ["--requires-key"] : []),
      "--json",
    ]).outcome;
    if (stdout === "") throw new Error(stderr);
    return v.parse(reportSchema, JSON.parse(stdout)).results;
  } finally {
    restarter.close();
    await contestant.stop();
  }
}

const CONTESTANTS = [
  { name: "Onceway", start: startOurs, packages: [], requiresKey: true },
  { name: "node-idempotency", start: null, packages: ["@node-idempotency/core"], requiresKey: true },
  {
    name: "express-idempotency",
    start: null,
    packages: ["express-idempotency", "express-idempotency-redis-adapter"],
    requiresKey: false,
  },
  { name: "powertools", start: null, packages: ["@aws-lambda-powertools/idempotency"], requiresKey: false },
  { name: "none", start: null, packages: [], requiresKey: false },
] as const;

const wanted = process.argv.slice(2);
const columns = [];
for (const { name, start, packages, requiresKey } of CONTESTANTS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(name);
  const rows = await conform(start ?? ((originPort) => startPeer(name, originPort)), requiresKey);
  const versions = await versionsOf(PEERS, packages);
  columns.push({ name, versions, rows });
}
console.log(comparison(columns));
