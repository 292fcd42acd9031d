// Allows one gateway at a time on a state directory, because two would let two attempts of one record run at once. The lock
// is the operating system's (flock), on a file that both this process and workerd hold open. So it ends when both have ended,
// however they end, and it outlasts this process if workerd does.

import { spawnSync } from "node:child_process";
import { closeSync, fchmodSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface StateLock {
  /** The open file. A child process that inherits it holds the lock too. */
  readonly fd: number;
  /** Writes down who holds the lock, for the error that a second gateway gets. */
  note(holder: string): void;
}

/** There is no `flock` on this machine. */
export class NoFlock extends Error {}

/**
 * Throws a `NoFlock`, or an error that says who holds the lock and what to do. `alternative` completes the sentence "stop it,
 * or …".
 */
export function lockState(stateDir: string, alternative: string): StateLock {
  const path = join(stateDir, "lock");
  const fd = openSync(path, "a+", 0o600);
  // Whoever can open the file can take the lock, and so keep the gateway from starting.
  if (fstatSync(fd).uid === process.getuid?.()) fchmodSync(fd, 0o600);
  // The lock belongs to the open file, not to the process that took it, so it survives the exit of this `flock` command.
  const { status, error } = spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", fd] });
  if (error !== undefined) {
    throw new NoFlock(`the command flock (of util-linux) is required but cannot be run: ${error.message}`);
  }
  if (status !== 0) {
    closeSync(fd);
    const holder = readFileSync(path, "utf8").trim();
    throw new Error(
      `${stateDir} is in use by ${holder === "" ? "another gateway" : holder}: stop it, or ${alternative}`,
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
