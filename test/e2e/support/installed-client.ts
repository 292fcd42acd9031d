// A folder in which the package is installed as a user gets it: packed by npm, its scripts run, unpacked below
// node_modules. Needs no network, since `onceway/client` needs no other package.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectDir } from "../../support/wrangler.ts";

export interface InstalledClient {
  readonly dir: string;
  /** Runs a command in the folder; resolves with what it printed, rejects where it fails. */
  run(command: string, args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

const exec = promisify(execFile);

export async function installClient(): Promise<InstalledClient> {
  const dir = await mkdtemp(join(tmpdir(), "onceway-installed-"));
  await exec("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: projectDir });
  const archive = (await readdir(dir)).find((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error("npm pack made no archive");
  const home = join(dir, "node_modules/onceway");
  await mkdir(home, { recursive: true });
  await exec("tar", ["-xzf", join(dir, archive), "-C", home, "--strip-components=1"]);
  return {
    dir,
    run: async (command, args) => (await exec(command, args, { cwd: dir, timeout: 60_000 })).stdout,
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
