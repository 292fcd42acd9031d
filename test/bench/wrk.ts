// wrk (Debian's package) as the load generator: one run, with the figures that its script prints at the end.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as v from "valibot";

export interface Load {
  readonly url: string;
  readonly path: string;
  /** Every request a new key, each key twice in a row, or so many known keys in turn. */
  readonly keys: "new" | "pairs" | number;
  /** The first of the known keys; 0 by default. */
  readonly from?: number;
  /** The keys are this and a number; with new keys no two runs may share it. */
  readonly prefix: string;
  readonly body: string;
  /** The header `Prefer`; none by default. */
  readonly prefer?: string | undefined;
  readonly connections: number;
  readonly seconds: number;
}

const figures = v.object({
  requests: v.number(),
  seconds: v.number(),
  not2xx: v.number(),
  /** Connections that failed, requests that timed out. */
  broken: v.number(),
  p50Ms: v.number(),
  p99Ms: v.number(),
  longestMs: v.number(),
});
export type Figures = v.InferOutput<typeof figures>;

const SCRIPT = fileURLToPath(new URL("wrk/keys.lua", import.meta.url));
const execute = promisify(execFile);

/** One thread: more would take processor time from the measured processes, and one can send ten times as many requests. */
export async function runWrk({
  url,
  path,
  keys,
  from = 0,
  prefix,
  body,
  prefer,
  connections,
  seconds,
}: Load): Promise<Figures> {
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", SCRIPT, url];
  const more = prefer === undefined ? "" : `Prefer: ${prefer}\r\n`;
  const settings = { KEYS: String(keys), FROM: String(from), PREFIX: prefix, TARGET: path, BODY: body, MORE: more };
  const { stdout } = await execute("wrk", args, { env: { ...process.env, ...settings } });
  const printed: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  return v.parse(figures, printed);
}
