// `npm run build`, which npm also runs before it packs: writes `dist/`, the compiled package. It is made anew, so that it has nothing
// of files that are gone. Types are only those that the package's entries need.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const DIST = join(PROJECT, "dist");

const COMPILATIONS = [
  ["-p", "src/tsconfig.package.json"],
  ["-p", "src/cli/tsconfig.package.json"],
  ["-b", "src/client", "--force"],
];

const TYPED_ENTRIES = ["index.d.ts", "library.d.ts", "hono.d.ts", "client/index.d.ts"];

/** What a project may know of the class: that it is an object's. With this, it fits the binding that `wrangler types` declares. */
const OBJECT_CLASS = `import { DurableObject } from "cloudflare:workers";
/** The Durable Object that keeps records. To be exported from the Worker's main module, and used by the gateway alone. */
export declare class KeyShard extends DurableObject {
    fetch(request: Request): Promise<Response>;
    alarm(info?: AlarmInvocationInfo): void;
}
`;

rmSync(DIST, { recursive: true, force: true });
for (const args of COMPILATIONS) {
  const { status } = spawnSync("tsc", args, { cwd: PROJECT, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
writeFileSync(join(DIST, "worker/key-shard.d.ts"), OBJECT_CLASS);
removeOtherTypes();
cpSync(join(PROJECT, "src/kernel/config/wrangler.schema.json"), join(DIST, "kernel/config/wrangler.schema.json"));
chmodSync(join(DIST, "cli/onceway.js"), 0o755);

function removeOtherTypes(): void {
  const needed = new Set(TYPED_ENTRIES.map((name) => join(DIST, name)));
  // A set that grows while it is read is read to its end.
  for (const file of needed) {
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]*)\.ts"/g)) {
      needed.add(`${resolve(dirname(file), path)}.d.ts`);
    }
  }
  for (const name of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
    const file = join(DIST, name);
    if (name.endsWith(".d.ts") && !needed.has(file)) rmSync(file);
  }
}
