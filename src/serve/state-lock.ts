// One gateway at a time on a state directory: two of them would let two attempts of one record run at once. The lock is
// the operating system's (flock), on a file that both this process and workerd hold open: it ends when the last of them
// has ended, however they end, and outlasts this process where workerd does.

import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface StateLock {
  /** To be handed to workerd, so that it holds the lock too. */
  readonly fd: number;
  /** Notes who holds it, for the message to whoever comes second. */
  note(holder: string): void;
}

/** There is no `flock` on this machine. */
export class NoFlock extends Error {}

/** Throws an error that says who holds the lock and what to do about it (`otherwise`: "name another …"), or a `NoFlock`. */
export function lockState(stateDir: string, otherwise: string): StateLock {
  const path = join(stateDir, "lock");
  const fd = openSync(path, "a+");
  // The lock belongs to the open file, not to the process that asked for it, so this one's exit does not end it.
  const { status, error } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", fd] });
  if (error !== undefined) {
    throw new NoFlock(`the command flock (of util-linux) is needed and cannot be run: ${error.message}`);
  }
  if (status !== 0) {
    closeSync(fd);
    const holder = readFileSync(path, "utf8").trim();
    throw new Error(
      `${stateDir} is in use by ${holder === "" ? "another gateway" : holder}: stop that one, or ${otherwise}`,
    );
  }
  return {
    fd,
    note(holder) {
      ftruncateSync(fd);
      writeSync(fd, `${holder}\n`);
    },
  };
}
