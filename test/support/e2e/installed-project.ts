// A project outside this repository that depends on the packed package, as a newcomer makes it: on the system's own Node if there is
// one, with nothing of this repository's `node_modules`. npm fetches the package's dependencies.

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { startOrigin, type TestOrigin } from "../origin.ts";
import { spawnGroup } from "../process-group.ts";
import type { ProcessGroup } from "../process-group.ts";
import { projectDir } from "../wrangler.ts";

const exec = promisify(execFile);

/** What npm packs, and what that is built from. */
const PACKED = ["package.json", "tsconfig.base.json", "src", "docs", "README.md", "CHANGELOG.md", "LICENSE"];

/** Packs a copy of the sources, so that `dist/` of this repository stays as it is. Resolves with the archive's path. */
export async function packPackage(folder: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "onceway-pack-"));
  try {
    for (const name of PACKED) await cp(join(projectDir, name), join(copy, name), { recursive: true });
    await symlink(join(projectDir, "node_modules"), join(copy, "node_modules"));
    await exec("node", ["src/cli/pack-package.ts", folder], { cwd: copy, env: withOwnTools() });
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error("npm pack made no archive");
  return join(folder, archive);
}

function withOwnTools(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: [join(projectDir, "node_modules/.bin"), process.env["PATH"]].join(delimiter) };
}

/** What an outer npm or test runner says; not which certificates the machine trusts. */
const OF_OTHERS = /^(?:npm_(?!config_)|NODE(?!_EXTRA_CA_CERTS)|VITEST|INIT_CWD)/;

/** No program of this repository, and nothing of others. */
function newcomersEnv(): NodeJS.ProcessEnv {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const kept = Object.entries(process.env).filter(([name]) => !OF_OTHERS.test(name));
  const quiet = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", NO_COLOR: "1" };
  return { ...Object.fromEntries(kept), ...quiet, PATH: path.join(delimiter) };
}

export interface InstalledProject {
  readonly dir: string;
  /** Runs a command in the project; resolves with what it printed, rejects where it fails. */
  run(command: string, ...args: readonly string[]): Promise<string>;
  /** Starts a command that goes on until it is stopped. */
  start(command: string, ...args: readonly string[]): Promise<ProcessGroup>;
  remove(): Promise<void>;
}

/** An empty folder beside the archive. */
export async function emptyProject(): Promise<InstalledProject & { readonly archive: string }> {
  const home = await mkdtemp(join(tmpdir(), "onceway-newcomer-"));
  const archive = await packPackage(home);
  const dir = join(home, "gateway");
  await mkdir(dir);
  const env = { ...newcomersEnv(), WRANGLER_REGISTRY_PATH: join(home, "registry") };
  return {
    dir,
    archive,
    run: async (command, ...args) => (await exec(command, args, { cwd: dir, env, timeout: 300_000 })).stdout,
    start: (command, ...args) => spawnGroup(command, args, { cwd: dir, env }),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

/** For the calling file: an empty project, and an origin for its gateway. They are there while its tests run. */
export function projectWithOrigin(): {
  readonly project: () => InstalledProject & { readonly archive: string };
  readonly origin: () => TestOrigin;
} {
  let origin: TestOrigin;
  let project: Awaited<ReturnType<typeof emptyProject>>;
  beforeAll(async () => {
    origin = await startOrigin();
    project = await emptyProject();
  }, 300_000);
  afterAll(async () => {
    await project.remove();
    await origin.close();
  });
  return { project: () => project, origin: () => origin };
}
