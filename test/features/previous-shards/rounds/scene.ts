// Deployments of several layouts over one namespace of objects, for tests: each has a name, keeps its port across restarts, and
// sends to an origin of the test's own. The fewest shards that show something, so that every object is met by a few keys.

import { rm } from "node:fs/promises";
import type { VariableValue } from "../../../../src/serve/workerd-config.ts";
import { ADMIN_TOKEN } from "../../../chaos/operators.ts";
import { type GatewayVars, makeStateDir } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";
import { type Deployments, startDeployments, withLayout } from "./deployments.ts";
import { CLOCK_PATH } from "./points.ts";

type Layout = Readonly<Record<string, VariableValue>>;

/** Which Workers run, and the code of all. */
export interface Fleet<Name extends string> {
  /** The layout of each Worker that runs. */
  readonly workers: Readonly<Partial<Record<Name, Layout>>>;
  /** The entry of the Workers' code, and of the objects'; today's gateway by default. */
  readonly workersMain?: string;
  readonly objectsMain?: string;
}

export interface LayoutScene<Name extends string> {
  /** Where the Worker of this name takes requests. */
  url(name: Name): string;
  readonly stateDir: string;
  output(): string;
  /** SIGKILL, then a start on the same state. */
  restart(fleet: Fleet<Name>): Promise<void>;
  /** Sets every clock so far ahead of the machine's (below 0: behind). The code has to be the rig's own entry. */
  setClock(aheadMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface LayoutSceneOptions<Name extends string> extends Fleet<Name> {
  /** The configuration of all Workers but for their layouts. */
  readonly vars: GatewayVars;
  readonly bucketPort?: number;
}

export async function startLayoutScene<Name extends string>(
  options: LayoutSceneOptions<Name>,
): Promise<LayoutScene<Name>> {
  const { vars, bucketPort } = options;
  const stateDir = await makeStateDir();
  const ports = new Map<string, number>();
  const objectsPort = await freePort();
  let inUse: readonly number[] = [];

  async function start({ workers, workersMain, objectsMain }: Fleet<Name>): Promise<Deployments> {
    const deployments = [];
    for (const [name, layout] of Object.entries<Layout | undefined>(workers)) {
      const port = ports.get(name) ?? (await freePort());
      ports.set(name, port);
      const service = {
        vars: withLayout(vars, layout ?? {}),
        ...(workersMain === undefined ? {} : { main: workersMain }),
      };
      deployments.push({ name, port, ...service });
    }
    inUse = deployments.map(({ port }) => port);
    const [first] = deployments;
    if (first === undefined) throw new Error("a scene needs a Worker");
    const objects = { vars: first.vars, ...(objectsMain === undefined ? {} : { main: objectsMain }) };
    const bucket = bucketPort === undefined ? {} : { bucketPort };
    return startDeployments({ stateDir, objects, workers: deployments, objectsPort, ...bucket });
  }

  let running = await start(options);
  return {
    url: (name) => `http://127.0.0.1:${ports.get(name)}`,
    stateDir,
    output: () => running.output(),
    async restart(fleet) {
      await running.kill9();
      running = await start(fleet);
    },
    async setClock(aheadMs) {
      for (const port of [objectsPort, ...inUse]) {
        const { status } = await fetch(`http://127.0.0.1:${port}${CLOCK_PATH}?ahead=${aheadMs}`);
        if (status !== 204) throw new Error(`the clock was not set: ${status}`);
      }
    },
    async close() {
      await running.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** An operator closes a previous layout through a deployment that lists it. */
export async function closeLayout(url: string, layout: string, token = ADMIN_TOKEN): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/_onceway/layouts/${layout}/close`, { method: "POST", headers });
  if (response.status !== 200) throw new Error(`not closed: ${response.status} ${await response.text()}`);
}
