// The command line of `onceway serve`: decides which arguments are valid. It opens nothing and starts nothing.

import { parseArgs } from "node:util";

import { parseDuration } from "../kernel/config/units.ts";

export const USAGE = `Usage: npx onceway serve [OPTIONS]            runs the gateway on this machine
       npx onceway serve health [OPTIONS]     checks a running gateway; exit code 0 if it is healthy, else 1

  --config FILE    the configuration file (the wrangler.json, wrangler.jsonc or wrangler.toml that Wrangler reads here)
  --env NAME       the environment [env.NAME] of that file
  --state DIR      where records are kept (.onceway/state); must be on a local disk
  --host ADDRESS   the address to listen on (127.0.0.1); 0.0.0.0 or :: for all interfaces
  --port PORT      the port to listen on (8787); 0 for any free port
  --operator-port PORT     a port for operators alone; the other port does not serve them then
  --operator-host ADDRESS  the address of that port (127.0.0.1)
  --process NUMBER         which of several processes this is: it answers for a key only if the proxy in front names its number
  --secrets FILE   a file of secrets, as NAME=value lines, such as .dev.vars
  --secret NAME    a secret to read from the environment variable NAME; may be repeated
  --grace TIME     how long exchanges in flight may take to end after SIGTERM or SIGINT (30s)

Exit codes: 0 stopped after every exchange ended; 1 could not start, or exchanges were cut off; 2 invalid arguments.`;

export interface ServeOptions {
  readonly command: "serve" | "health" | "help";
  /** `null`: what Wrangler reads here. */
  readonly config: string | null;
  readonly env: string | null;
  readonly state: string;
  readonly host: string;
  readonly port: number;
  /** `null`: operators use the same port as clients. */
  readonly operatorPort: number | null;
  readonly operatorHost: string;
  /** `null`: the only one. */
  readonly process: number | null;
  readonly secretsFile: string | null;
  readonly secretNames: readonly string[];
  readonly graceMs: number;
}

/** Throws a `TypeError` that says which argument is invalid and what to write instead. */
export function readOptions(args: readonly string[]): ServeOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: "string" },
      env: { type: "string" },
      state: { type: "string", default: ".onceway/state" },
      host: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "8787" },
      "operator-port": { type: "string" },
      "operator-host": { type: "string", default: "127.0.0.1" },
      process: { type: "string" },
      secrets: { type: "string" },
      secret: { type: "string", multiple: true, default: [] },
      grace: { type: "string", default: "30s" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    command: values.help ? "help" : readCommand(positionals),
    config: values.config ?? null,
    env: values.env ?? null,
    state: values.state,
    host: readHost(values.host),
    port: readPort("--port", values.port, 0),
    // 0 is not allowed, because a proxy needs a port that stays the same at each start.
    operatorPort:
      values["operator-port"] === undefined ? null : readPort("--operator-port", values["operator-port"], 1),
    operatorHost: readHost(values["operator-host"]),
    process: values.process === undefined ? null : readProcess(values.process),
    secretsFile: values.secrets ?? null,
    secretNames: values.secret,
    graceMs: readGrace(values.grace),
  };
}

function readCommand([command, ...more]: readonly string[]): "serve" | "health" {
  if (command === undefined) return "serve";
  if (command === "health" && more.length === 0) return "health";
  throw new TypeError(`unknown command "${[command, ...more].join(" ")}": write health, or no command`);
}

function readHost(text: string): string {
  return text.replace(/^\[(.*)\]$/, "$1");
}

function readPort(option: string, text: string, min: number): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= min && port <= 65_535) return port;
  throw new TypeError(`${option} must be a number from ${min} to 65535, not ${JSON.stringify(text)}`);
}

function readProcess(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new TypeError(`--process must be a number from 0 to 999, not ${JSON.stringify(text)}`);
}

function readGrace(text: string): number {
  const grace = parseDuration(text);
  if (grace.ok) return grace.value;
  throw new TypeError(`--grace ${grace.message}`);
}

/** `host:port`; an IPv6 address gets brackets. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
