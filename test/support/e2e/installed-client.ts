// A folder in which the package is installed as a user gets it: packed by npm, its scripts run, unpacked below
// node_modules. Needs no network, since `onceway/client` needs no other package.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { packPackage } from "./installed-project.ts";

export interface InstalledClient {
  readonly dir: string;
  /** Runs a command in the folder; resolves with what it printed, rejects where it fails. */
  run(command: string, args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

const exec = promisify(execFile);

export async function installClient(): Promise<InstalledClient> {
  const dir = await mkdtemp(join(tmpdir(), "onceway-installed-"));
  const archive = await packPackage(dir);
  const home = join(dir, "node_modules/onceway");
  await mkdir(home, { recursive: true });
  await exec("tar", ["-xzf", archive, "-C", home, "--strip-components=1"]);
  return {
    dir,
    run: async (command, args) => (await exec(command, args, { cwd: dir, timeout: 60_000 })).stdout,
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
