// Copies of the gateway's sources for the rig: as they are, or broken on purpose at one place. Each
// copy is a folder named after a digest of its contents, so that its bundle is made once and is never a stale one.

import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectDir } from "../../../support/wrangler.ts";

/** A change to one file of `src`: `find` must be there exactly once. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

const COPIES = join(projectDir, ".wrangler/layouts");
const RIG = ["test/features/previous-shards/rounds/object", "test/features/previous-shards/rounds/points.ts"];
const ENTRY = "test/features/previous-shards/rounds/object/worker.ts";

/** The entry of the gateway whose objects stop at named points, made from today's sources with these patches. */
export async function rigEntry(patches: readonly Patch[] = []): Promise<string> {
  return copyOf(ENTRY, async (folder) => {
    for (const part of ["src", "package.json", "tsconfig.base.json", ...RIG]) {
      await cp(join(projectDir, part), join(folder, part), { recursive: true });
    }
    for (const patch of patches) await apply(folder, patch);
  });
}

async function apply(folder: string, { file, find, put }: Patch): Promise<void> {
  const path = join(folder, "src", file);
  const text = await readFile(path, "utf8");
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`src/${file} has ${parts.length - 1} times what is to be replaced: ${find}`);
  await writeFile(path, parts.join(put));
}

async function copyOf(entry: string, fill: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(COPIES, { recursive: true });
  const fresh = await mkdtemp(join(COPIES, "copying-"));
  try {
    await fill(fresh);
    const copy = join(COPIES, await digestOf(fresh));
    // Another process may have made the same copy first.
    if (!existsSync(copy)) {
      await rename(fresh, copy).catch((error: unknown) => {
        if (!existsSync(copy)) throw error;
      });
    }
    return join(copy, entry);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.toSorted()) hash.update(`\n${file.slice(folder.length)}\n`).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}
