// The text of the wrangler.toml that `onceway init` writes: with comments, and only what a gateway needs. Pure; the checker
// decides on the finished text whether it is valid.

import { MIN_COMPATIBILITY_DATE } from "./check/deployment.ts";
import { API_REGIONS, type ApiRegion, type CallerIdentity, type GatewayPlan, jwtOf, settingsOf } from "./init-plan.ts";

export function wranglerToml(plan: GatewayPlan): string {
  const { name, origin, routes, caller, unknown, verify, near, label, paths } = plan;
  const { defaults, identities } = settingsOf(plan);
  return `#:schema ${paths.schema}

# An idempotency gateway in front of ${origin === null ? "a Hono application" : origin.replaceAll(/\s/g, " ")}.
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

# A trace of each request that is sampled, which says what its exchange was (onceway.outcome, onceway.key_hash, …).
# [observability.traces]
# enabled = true
# head_sampling_rate = 0.1
# destinations = ["…"] # OTLP destinations, by their names in the dashboard

# Defaults for every route; each route may override each of them.
[vars.IDEMPOTENCY]
origin = ${origin === null ? '{ entrypoint = "Origin" }' : quote(origin)} # requests that no route protects go there too
${near === null ? '# location_hint = "weur"' : `location_hint = ${quote(API_REGIONS[near].hint)}`} # ${placementComment(near)}
scope = ${JSON.stringify(defaults["scope"])} # ${SCOPE_COMMENTS[caller.kind]}
timeout = "30s" # until the origin's headers
retention = "24h" # as long as clients may retry
${verify === null ? `unknown = ${quote(unknown)}` : `verify = ${quote(verify)}`} # ${UNKNOWN_COMMENTS[unknown]}
${label === null ? '# note = { label = "json:/order_id" }' : `note = { label = ${quote(label)} }`} # a value of the request by which operators know it
${identities === null ? "" : identityTable(caller)}
# Routes are tried in order, and the first that matches counts.
${routes.map(routeTable).join("\n")}`;
}

const SCOPE_COMMENTS = {
  header: "the same key from another customer is another record",
  token: "the same key from another user is another record; a refreshed token is the same user",
  cookie: "the same key in another session is another record",
  nobody: "callers are not distinguished: they share their keys, and get each other's answers",
} as const;

const UNKNOWN_COMMENTS = {
  verify:
    "asked when an attempt's outcome is unknown; 2xx: it happened, 404: it did not; anything else: asked again later",
  retry: 'when an attempt\'s outcome is unknown, try once more after its lock; "hold" leaves it to you',
  hold: 'when an attempt\'s outcome is unknown, never try again on a guess; "retry" tries again after its lock',
} as const;

function placementComment(near: ApiRegion | null): string {
  if (near === "several") return "each object is created where it is needed first";
  const price = near === null ? null : API_REGIONS[near].price;
  return price ?? 'near the origin: enam wnam weur eeur apac oc; "first-use": where each object is needed first';
}

function identityTable(caller: CallerIdentity): string {
  if (caller.kind !== "token") return "";
  const { issuer, audience, jwks } = jwtOf(caller);
  return `
# The tokens' sub is the caller. See jwks_uri in ISSUER/.well-known/openid-configuration for where the issuer publishes its keys.
[vars.IDENTITIES.user]
jwt = { issuer = ${quote(issuer)}, audience = ${quote(audience)}, jwks = ${quote(jwks)} }
`;
}

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
