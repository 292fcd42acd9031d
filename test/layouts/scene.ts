// Deployments of several layouts over one namespace of objects, for tests: each has a name, keeps its port across restarts, and
// sends to an origin of the test's own. The fewest shards that show something, so that every object is met by a few keys.

import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import type { Json } from "../../src/serve/workerd-config.ts";
import { quietPort } from "../chaos/gateway-box.ts";
import { type GatewayVars, makeStateDir } from "../support/gateway.ts";
import { type Deployments, startDeployments, withLayout } from "./deployments.ts";
import { ASKED_PATH, CLOCK_PATH } from "./points.ts";

type Layout = Readonly<Record<string, Json>>;

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
  /** How many questions objects have sent to older ones since the last start. The objects' code has to be the rig's own entry. */
  asked(): Promise<number>;
  /** How many objects are sealed. */
  sealed(): Promise<number>;
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
  const objectsPort = await quietPort();
  let inUse: readonly number[] = [];

  async function start({ workers, workersMain, objectsMain }: Fleet<Name>): Promise<Deployments> {
    const deployments = [];
    for (const [name, layout] of Object.entries<Layout | undefined>(workers)) {
      const port = ports.get(name) ?? (await quietPort());
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
    async asked() {
      const response = await fetch(`http://127.0.0.1:${objectsPort}${ASKED_PATH}`);
      return v.parse(askedAnswer, await response.json()).asked;
    },
    sealed: () => countSealed(stateDir),
    async close() {
      await running.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

const askedAnswer = v.object({ asked: v.number() });

const seals = v.array(v.object({ next: v.string() }));

/** Reads copies, because a reader of an original could hold a lock that its object needs. */
async function countSealed(stateDir: string): Promise<number> {
  const files = await readdir(stateDir, { recursive: true });
  const copies = await mkdtemp(join(tmpdir(), "onceway-seals-"));
  let sealed = 0;
  for (const [at, file] of files.filter((name) => /KeyShard\/[0-9a-f]{64}\.sqlite$/.test(name)).entries()) {
    const copy = join(copies, `${at}.sqlite`);
    await copyFile(join(stateDir, file), copy);
    await copyFile(join(stateDir, `${file}-wal`), `${copy}-wal`).catch(() => undefined);
    const database = new DatabaseSync(copy);
    const rows = hasSeal(database) ? v.parse(seals, database.prepare("SELECT next FROM seal").all()) : [];
    database.close();
    sealed += rows.length;
  }
  await rm(copies, { recursive: true, force: true });
  return sealed;
}

function hasSeal(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'seal'").all().length > 0;
}
