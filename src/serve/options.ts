// The command line of `npm run serve`. Decides what an argument may be; opens nothing and starts nothing.

import { parseArgs } from "node:util";

import { parseDuration } from "../config/units.ts";

export const USAGE = `Usage: npm run serve -- [OPTIONS]            runs the gateway on this machine
       npm run serve -- health [OPTIONS]     asks a running one; exit code 0 if it answers, else 1

  --config FILE    the configuration (wrangler.toml)
  --env NAME       an environment of it: [env.NAME]
  --state DIR      where the records are kept (.onceway/state); on a local disk
  --host ADDRESS   where to listen (127.0.0.1); 0.0.0.0 or :: for every interface
  --port PORT      (8787); 0 for any that is free
  --operator-port PORT     where operators come in; takes operator_listener = "own" in the configuration
  --operator-host ADDRESS  (127.0.0.1)
  --secrets FILE   secrets as NAME=value lines, such as .dev.vars
  --secret NAME    a secret from the environment variable NAME; may be repeated
  --grace TIME     how long exchanges in flight may take after SIGTERM or SIGINT (30s)

Exit codes: 0 stopped, every exchange ended; 1 it could not start, or exchanges were cut off; 2 the arguments are wrong.`;

export interface ServeOptions {
  readonly command: "serve" | "health" | "help";
  readonly config: string;
  readonly env: string | null;
  readonly state: string;
  readonly host: string;
  readonly port: number;
  /** Null: operators come in where clients do. */
  readonly operatorPort: number | null;
  readonly operatorHost: string;
  readonly secretsFile: string | null;
  readonly secretNames: readonly string[];
  readonly graceMs: number;
}

/** Throws a `TypeError` that says which argument is wrong and what to write. */
export function readOptions(args: readonly string[]): ServeOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: "string", default: "wrangler.toml" },
      env: { type: "string" },
      state: { type: "string", default: ".onceway/state" },
      host: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "8787" },
      "operator-port": { type: "string" },
      "operator-host": { type: "string", default: "127.0.0.1" },
      secrets: { type: "string" },
      secret: { type: "string", multiple: true, default: [] },
      grace: { type: "string", default: "30s" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return {
    command: values.help ? "help" : readCommand(positionals),
    config: values.config,
    env: values.env ?? null,
    state: values.state,
    host: readHost(values.host),
    port: readPort("--port", values.port, 0),
    // One that changes at each start would be of no use to a proxy.
    operatorPort:
      values["operator-port"] === undefined ? null : readPort("--operator-port", values["operator-port"], 1),
    operatorHost: readHost(values["operator-host"]),
    secretsFile: values.secrets ?? null,
    secretNames: values.secret,
    graceMs: readGrace(values.grace),
  };
}

function readCommand([command, ...more]: readonly string[]): "serve" | "health" {
  if (command === undefined) return "serve";
  if (command === "health" && more.length === 0) return "health";
  throw new TypeError(`there is no command "${[command, ...more].join(" ")}": write health, or none at all`);
}

function readHost(text: string): string {
  return text.replace(/^\[(.*)\]$/, "$1");
}

function readPort(option: string, text: string, least: number): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= least && port <= 65_535) return port;
  throw new TypeError(`${option} must be a number from ${least} to 65535, and not ${JSON.stringify(text)}`);
}

function readGrace(text: string): number {
  const grace = parseDuration(text);
  if (grace.ok) return grace.value;
  throw new TypeError(`--grace ${grace.message}`);
}

/** An address and a port as one text; an IPv6 address stands in brackets. */
export function addressOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
