// The demo's configuration, as the text of a wrangler.toml: the same form that a deployment uses.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";

/** The routes of the demo's own origin: one of each kind that the printed commands show. */
const DEMO_ROUTES = `
[[vars.ROUTES]]
path = "/v1/payments/*"   # matches /v1/payments too
methods = ["POST"]
unknown = "hold"          # money: no second attempt while the first may have taken effect
duplicate = "wait"        # a duplicate gets the first answer, not a 409
wait = "10s"

[[vars.ROUTES]]
path = "/v1/transfers"
methods = ["POST"]
unknown = "verify"        # a lost call: the gateway asks what became of it
verify = "/v1/transfers/by-key/{key}"

[[vars.ROUTES]]
path = "/v1/orders"
fingerprint = { body = "json" }

[[vars.ROUTES]]
path = "/v1/slow"

[[vars.ROUTES]]
path = "/v1/flaky"

[[vars.ROUTES]]
path = "/v1/lost"
unknown = "hold"          # its records need a decision in the console
`;

/** The routes of the user's own API: requests with a key are protected, all others pass through. */
const OWN_ROUTES = `
[[vars.ROUTES]]
path = "/*"
methods = ["POST", "PATCH"]
key = "optional"
duplicate = "wait"
`;

const MCP_ROUTES = `
[[vars.ROUTES]]
path = "/mcp"
preset = "mcp"            # tool calls are protected, all else passes
`;

const ROUTES = { demo: DEMO_ROUTES, own: OWN_ROUTES, mcp: MCP_ROUTES };

export interface DemoConfiguration {
  readonly projectDir: string;
  readonly originUrl: string;
  readonly routes: keyof typeof ROUTES;
}

export function demoConfiguration({ projectDir, originUrl, routes }: DemoConfiguration): string {
  return `name = "onceway-demo"
main = ${quote(join(projectDir, "src/index.ts"))}
compatibility_date = ${quote(compatibilityDate(projectDir))}
compatibility_flags = ["enable_request_signal"]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]

vars.ONCEWAY_PLACE = "local"

[vars.IDEMPOTENCY]
origin = ${quote(originUrl)}
scope = ["header:authorization"]
${ROUTES[routes]}`;
}

/** The lines of a .dev.vars file with the operators' tokens that the environment has. */
export function demoSecrets(env: Readonly<Record<string, string | undefined>>): string {
  const lines = ["ADMIN_TOKEN", "READ_TOKEN"].flatMap((name) => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [`${name}=${quote(value)}\n`];
  });
  return lines.join("");
}

/** The deployment's own date, so that the demo runs under the same runtime rules. */
function compatibilityDate(projectDir: string): string {
  const date = parse(readFileSync(join(projectDir, "wrangler.toml"), "utf8"))["compatibility_date"];
  if (typeof date !== "string") throw new Error("wrangler.toml has no compatibility_date");
  return date;
}

/** A JSON string is also a valid TOML string. */
function quote(text: string): string {
  return JSON.stringify(text);
}
