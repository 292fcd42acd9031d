// `npm run build`, which npm also runs before it packs: writes `dist/`, the compiled package. It is made anew, so
// that it has nothing of files that are gone.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const DIST = join(PROJECT, "dist");

const COMPILATIONS = [
  ["-p", "src/tsconfig.package.json"],
  ["-p", "src/cli/tsconfig.package.json"],
  ["-b", "src/client", "--force"],
];

rmSync(DIST, { recursive: true, force: true });
for (const args of COMPILATIONS) {
  const { status } = spawnSync("tsc", args, { cwd: PROJECT, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
cpSync(join(PROJECT, "src/config/wrangler.schema.json"), join(DIST, "config/wrangler.schema.json"));
chmodSync(join(DIST, "cli/onceway.js"), 0o755);
