// Runs the project's own wrangler without network access: no update check, no telemetry, no log files, and a separate
// registry, so that gateways of parallel tests do not find each other.

import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "smol-toml";
import { PLACE_BINDING } from "../../src/kernel/config/read.ts";
import type { WorkerCompatibility, VariableValue } from "../../src/serve/workerd-config.ts";
import { spawnGroup } from "./process-group.ts";
import type { ProcessGroup } from "./process-group.ts";

export const projectDir = fileURLToPath(new URL("../../", import.meta.url));
export const gatewayMain = join(projectDir, "src/index.ts");

/** Used if the project's wrangler.toml has none. */
const DEFAULT_COMPATIBILITY_DATE = "2026-10-01";

/** Read from the project's wrangler.toml, so that tests run with the settings of a deployment. */
export function projectCompatibility(): WorkerCompatibility {
  const path = join(projectDir, "wrangler.toml");
  const config = existsSync(path) ? parse(readFileSync(path, "utf8")) : {};
  const date = config["compatibility_date"];
  const flags = config["compatibility_flags"];
  return {
    date: typeof date === "string" ? date : DEFAULT_COMPATIBILITY_DATE,
    flags: Array.isArray(flags) ? flags.filter((flag) => typeof flag === "string") : [],
  };
}

export interface TomlOptions {
  readonly main: string;
  readonly vars: Readonly<Record<string, VariableValue>>;
  /** Appended unchanged. Tables only, because it comes after other tables. */
  readonly extraToml?: string | undefined;
}

/** Writes `wrangler.toml` into a folder and returns its path. */
export async function writeWranglerToml(dir: string, options: TomlOptions): Promise<string> {
  const compatibility = projectCompatibility();
  const config = {
    name: "onceway-test",
    main: options.main,
    compatibility_date: compatibility.date,
    compatibility_flags: compatibility.flags,
    vars: { [PLACE_BINDING]: "local", ...options.vars },
    durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
  };
  await mkdir(dir, { recursive: true });
  const path = join(dir, "wrangler.toml");
  await writeFile(path, `${stringify(config)}\n${options.extraToml ?? ""}\n`);
  return path;
}

/** `workDir` receives wrangler's other files. */
export function spawnWrangler(args: readonly string[], workDir: string): Promise<ProcessGroup> {
  const bin = join(projectDir, "node_modules/wrangler/bin/wrangler.js");
  const env = {
    ...process.env,
    NODE_OPTIONS: "",
    NO_COLOR: "1",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CLOUDFLARE_TELEMETRY_DISABLED: "1",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_REGISTRY_PATH: join(workDir, "registry"),
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_WRITE_LOGS: "false",
  };
  return spawnGroup(process.execPath, [bin, ...args], { cwd: workDir, env });
}
