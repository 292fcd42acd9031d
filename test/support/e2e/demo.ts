// The demo without `npm start`: its API in a process of its own, its page, and the gateway under workerd, with the demo's routes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import * as v from "valibot";
import { demoConfiguration } from "../../../src/demo/configuration.ts";
import { startDemo } from "../../../src/demo/demo.ts";
import { makeStateDir, startWorkerd } from "../gateway.ts";
import { freePort } from "../ports.ts";
import { projectDir } from "../wrangler.ts";

const table = v.record(v.string(), v.any());
const fileSchema = v.object({ vars: v.object({ IDEMPOTENCY: table, ROUTES: v.array(table) }) });

const ADMIN_TOKEN = "the-token-of-the-demo-in-its-own-test";

export interface DemoScene {
  readonly url: string;
  readonly gatewayUrl: string;
  readonly originUrl: string;
  close(): Promise<void>;
}

export async function startDemoScene(examples = "curl"): Promise<DemoScene> {
  const folder = await mkdtemp(join(tmpdir(), "onceway-demo-page-"));
  const stateDir = await makeStateDir();
  const [originPort, pagePort] = [await freePort(), await freePort()];
  const originUrl = `http://127.0.0.1:${originPort}`;
  const { vars } = v.parse(fileSchema, parse(demoConfiguration({ projectDir, originUrl, routes: "demo" })));
  const gateway = await startWorkerd({ stateDir, vars: { ...vars, ADMIN_TOKEN } });
  const demo = await startDemo({
    ports: { origin: originPort, page: pagePort },
    database: join(folder, "origin.sqlite"),
    gateway: gateway.url,
    adminToken: ADMIN_TOKEN,
    examples,
  });
  return {
    url: demo.pageUrl,
    gatewayUrl: gateway.url,
    originUrl,
    close: async () => {
      await demo.close();
      await gateway.stop();
      await Promise.all([folder, stateDir].map((path) => rm(path, { recursive: true, force: true })));
    },
  };
}
