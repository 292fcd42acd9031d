// The text of the wrangler.toml that `onceway init` writes: with comments, and only what a gateway needs. Pure; the checker
// decides on the finished text whether it is valid.

import { MIN_COMPATIBILITY_DATE } from "../config/check-deployment.ts";
import type { UnknownRule } from "../core/record.ts";

export interface GatewayPlan {
  /** The Worker's name. */
  readonly name: string;
  readonly origin: string;
  /** Path patterns, in the order in which they are matched. */
  readonly routes: readonly string[];
  /** Asking the origin (`verify`) needs an address that only the operator knows. */
  readonly unknown: Exclude<UnknownRule, "verify">;
  readonly paths: Paths;
}

/** Seen from the file. */
export interface Paths {
  /** The Worker's entry. */
  readonly main: string;
  /** The JSON Schema of wrangler.toml. */
  readonly schema: string;
  /** The page about all settings. */
  readonly settings: string;
}

export function wranglerToml({ name, origin, routes, unknown, paths }: GatewayPlan): string {
  return `#:schema ${paths.schema}

# An idempotency gateway in front of ${origin.replaceAll(/\s/g, " ")}.
# "npx onceway check" checks this file; ${paths.settings} explains every setting.

name = ${quote(name)}
main = ${quote(paths.main)}

# ${MIN_COMPATIBILITY_DATE} or later: from then on a call runs to its end although its client has hung up. Never add the flag
# "request_signal_passthrough", which would undo that.
compatibility_date = ${quote(MIN_COMPATIBILITY_DATE)}
compatibility_flags = ["enable_request_signal"] # an object notices when its caller disconnects

# What is deployed is small; source maps keep what errors say readable.
minify = true
keep_names = false
upload_source_maps = true

# Every record lives in one of these objects.
[[durable_objects.bindings]]
name = "KEY_SHARD"
class_name = "KeyShard"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["KeyShard"]

[observability]
enabled = true

# Defaults for every route; each route may override each of them.
[vars.IDEMPOTENCY]
origin = ${quote(origin)} # requests that no route protects go there too
# location_hint = "weur" # near the origin: wnam enam sam weur eeur apac oc afr me
scope = ["header:authorization"] # the same key from another customer is another record
timeout = "30s" # until the origin's headers
lock = "40s" # exceeds timeout: an attempt must have ended before the next may start
retention = "24h" # as long as clients may retry
unknown = ${quote(unknown)} # ${UNKNOWN_COMMENTS[unknown]}

# Routes are tried in order, and the first that matches counts.
${routes.map(routeTable).join("\n")}`;
}

const UNKNOWN_COMMENTS = {
  retry: 'when an attempt\'s outcome is unknown, try once more after its lock; "hold" leaves it to you',
  hold: 'when an attempt\'s outcome is unknown, never try again on a guess; "retry" tries again after its lock',
} as const;

function routeTable(path: string): string {
  return `
[[vars.ROUTES]]
path = ${quote(path)}
# methods = ["POST", "PATCH"]
# key = "optional" # while clients are being moved: without a key a request passes unprotected
# duplicate = "wait" # for the first answer, instead of 409 while it runs
`;
}

/** A JSON string is a basic string of TOML. */
function quote(text: string): string {
  return JSON.stringify(text);
}
