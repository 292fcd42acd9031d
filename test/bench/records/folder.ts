// Where a measurement of records keeps its state.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A temporary folder, in memory on request. */
export async function withFolder<T>(inMemory: boolean, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(inMemory ? "/dev/shm" : tmpdir(), "onceway-records-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
