// Files as newcomers write them, each with one mistake or with a few of a kind: the sound one with a part replaced, or with more.

/** Without a problem. */
export const SOUND_FILE = `name = "gateway"
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]

[[durable_objects.bindings]]
name = "KEY_SHARD"
class_name = "KeyShard"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["KeyShard"]

[vars.IDEMPOTENCY]
origin = "https://api.acme.com"
location_hint = "weur"
[[vars.ROUTES]]
path = "/v1/payments"
methods = ["POST"]
`;

function replaced(part: string, other: string): string {
  return SOUND_FILE.replace(part, () => other);
}

function withMore(more: string): string {
  return `${SOUND_FILE}${more}`;
}

const withPath = (value: string): string => replaced('"/v1/payments"', value);
const withOrigin = (value: string): string => replaced('"https://api.acme.com"', value);
const withMethods = (value: string): string => replaced('["POST"]', value);

const BINDINGS = '[[env.staging.durable_objects.bindings]]\nname = "KEY_SHARD"\nclass_name = "KeyShard"\n';
const STAGING = '[env.staging.vars.IDEMPOTENCY]\norigin = "https://staging.acme.com"\n';
const QUEUE = '\n[[vars.QUEUES]]\nqueue = "orders"\nto = "/v1/orders"\ndead_letter = { binding = "DEAD" }\n'; // feature: queues

/** Made here, because scanners of secrets read this file too. */
export const KEY_OF_STRIPE = ["sk", "live", "4eC39HqLyjWDarjtT1zdp7dc"].join("_");

const SECRETS = `[vars]
ADMIN_TOKEN = "correct horse battery staple"
STRIPE = "${KEY_OF_STRIPE}"
DB_PASSWORD = "hunter2hunter2"
`;

/** The example of src/cli/findings/README.md. */
export const EXAMPLE_FILE = withMore(
  'timeout = "2m"\nlock = "50s"\n\n[[vars.ROUTES]]\npath = "/v1/payments/"\n',
).replace("[vars.IDEMPOTENCY]", '[vars]\nADMIN_TOKEN = "hunter2hunter2"\n\n[vars.IDEMPOTENCY]');

/** By what is wrong with them. */
export const WRONG_FILES: Readonly<Record<string, string>> = {
  nothing: "",
  "a misspelt setting": replaced("methods", "method"),
  "an unknown setting": withMore('colour = "red"\n'),
  "a setting of the gateway in a route": withMore('consumer_path = "/ops"\n'),
  "a path among the defaults": replaced("origin =", 'path = "/v1"\norigin ='),
  "no path": replaced('path = "/v1/payments"\n', ""),

  "a URL for a path": withPath('"https://api.acme.com/v1/payments?x=1"'),
  "a path with a query": withPath('"/v1/payments?x=1"'),
  "a path without its slash": withPath('"v1/payments"'),
  "a regular expression for a path": withPath('"^/v1/.*$"'),
  "a parameter of OpenAPI": withPath('"/v1/orders/{id}/lines"'),
  "a path that differs in its last slash": withMore('\n[[vars.ROUTES]]\npath = "/v1/payments/"\n'),
  "a route behind a wider one": withMore(
    '\n[[vars.ROUTES]]\npath = "/v1/*"\n\n[[vars.ROUTES]]\npath = "/v1/orders"\nmethods = ["POST"]\n',
  ),
  "a route of which one method is taken": withMore(
    '\n[[vars.ROUTES]]\npath = "/v1/:any"\nmethods = ["POST"]\n\n[[vars.ROUTES]]\npath = "/v1/orders"\nmethods = ["POST", "PATCH"]\n',
  ),
  "a route twice": withMore('\n[[vars.ROUTES]]\npath = "/v1/payments"\nmethods = ["POST"]\nlock = "60s"\n'),
  "a route below the path of operators": withPath('"/_onceway/payments"'),

  "a method in lower case": withMethods('["POST", "patch"]'),
  "a star for the methods": withMethods('["*"]'),
  "methods in one text": withMethods('["POST, PATCH"]'),
  "a misspelt method": withMethods('["PSOT"]'),
  "a safe method": withMethods('["GET", "POST"]'),
  "one method that is no list": withMethods('"POST"'),
  "a scope that is no list": withMore('scope = "authorization"\n'),
  "unknown words": withMore('unknown = "reject"\nkey = "yes"\n'),
  "a misspelt word": withMore('unknown = "varify"\n'),
  "durations without units": withMore('timeout = 30\nretention = "1 day"\n'),
  "a size with a space": withMore('max_response_body = "50 MB"\n'),
  "a lock within the timeout": withMore('timeout = "2m"\nlock = "50s"\n'),
  "a lock within the timeout of all": replaced("origin =", 'timeout = "2m"\norigin =') + 'lock = "50s"\n',
  "a question without an address": withMore('unknown = "verify"\n'),
  "an identity that is not described": withMore('scope = ["identity:user"]\n'), // feature: identities
  "a destination that is misspelt": withMore(
    'publish = [{ to = "web-hok", type = "paid" }]\n\n[[vars.DESTINATIONS]]\nname = "web-hook"\nurl = "https://hooks.acme.com/"\nsecret = ["HOOK_SECRET"]\n',
  ),
  "what may take effect twice": withMore(
    'on_store_failure = "open"\nfingerprint = { body = "json", except = ["/amount"] }\n',
  ),
  "JSON in a variable": replaced(
    '[[vars.ROUTES]]\npath = "/v1/payments"\nmethods = ["POST"]',
    '[vars]\nROUTES = \'[{ "path": "/v1/payments", "lok": "1s" }]\'',
  ),

  "no origin": replaced('origin = "https://api.acme.com"\n', ""),
  "no origin behind a custom domain": replaced('origin = "https://api.acme.com"\n', "").replace(
    "\n\n",
    '\nroutes = [{ pattern = "api.acme.com", custom_domain = true }]\n\n',
  ),
  "an origin behind a slash": withOrigin('"/https://api.acme.com"'),
  "a host for an origin": withOrigin('"api.acme.com"'),
  "an origin of this machine without its scheme": withOrigin('"localhost:3000"'),
  "an origin of this machine": withOrigin('"http://localhost:3000"'),
  "an origin from an example": withOrigin('"https://api.example.com"'),
  "a password in the origin": withOrigin('"https://bob:hunter2hunter2@api.acme.com"'),
  "a password in JSON": replaced(
    '[vars.IDEMPOTENCY]\norigin = "https://api.acme.com"',
    `[vars]\nIDEMPOTENCY = '{ "origin": "https://bob:hunter2hunter2@api.acme.com", "lok": "1s" }'`,
  ),
  "an origin without its binding": withOrigin('{ binding = "API" }'),
  "the Worker as its own origin": replaced(
    "\n\n",
    '\nroutes = [{ pattern = "api.acme.com", custom_domain = true }]\n\n',
  ),
  "no way to the Worker": replaced("\n\n", "\nworkers_dev = false\n\n"),

  "a table for the routes": replaced("[[vars.ROUTES]]", "[vars.ROUTES]"),
  "a misspelt variable": replaced("[[vars.ROUTES]]", "[[vars.ROUTE]]"),
  "misspelt defaults": replaced("IDEMPOTENCY", "IDEMPOTENCE"),
  "a misspelt vars": replaced("[[vars.ROUTES]]", "[[var.ROUTES]]"),
  "routes outside of vars": replaced("[[vars.ROUTES]]", "[[ROUTES]]"),
  "routes in the list of wrangler": replaced("[[vars.ROUTES]]", "[[routes]]"),
  "a misspelt date": replaced("compatibility_date", "compatability_date"),
  "an early date": replaced("2026-10-01", "2024-01-01"),
  "no flags": replaced('compatibility_flags = ["enable_request_signal"]\n', ""),
  "flags that are no list": replaced('["enable_request_signal"]', '"enable_request_signal"'),
  "a harmful flag": replaced('"enable_request_signal"', '"request_signal_passthrough"'),
  "no binding": replaced('[[durable_objects.bindings]]\nname = "KEY_SHARD"\nclass_name = "KeyShard"\n', ""),
  "another class": replaced('class_name = "KeyShard"', 'class_name = "Shard"'),
  "an older migration": replaced("new_sqlite_classes", "new_classes"),
  "no migration": replaced('[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["KeyShard"]\n', ""),
  "a variable that is too large": withPath(`"/${"long".repeat(1_300)}"`),

  "a misspelt env": withMore(`\n${STAGING.replace("env.", "environments.")}`),
  "incomplete environments": withMore(
    '\n[env.staging]\nname = "gateway-staging"\n\n[env.production.vars.IDEMPOTENCY]\norigin = "https://api.acme.com"\n',
  ),
  "an environment without the bucket": withMore(
    `\n[[r2_buckets]]\nbinding = "BODIES"\nbucket_name = "bodies"\n\n${STAGING}\n[[env.staging.vars.ROUTES]]\npath = "/v1/payments"\n\n${BINDINGS}`,
  ),
  "a secret of an environment": withMore(
    `\n[env.staging.vars]\nREAD_TOKEN = "hunter2hunter2"\n\n${STAGING}\n[[env.staging.vars.ROUTES]]\npath = "/v1/payments"\n\n${BINDINGS}`,
  ),
  secrets: replaced("[vars.IDEMPOTENCY]", `${SECRETS}\n[vars.IDEMPOTENCY]`),
  "a private key": replaced(
    "[vars.IDEMPOTENCY]",
    "[vars]\nSIGNER = '''\n-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n'''\n\n[vars.IDEMPOTENCY]",
  ),

  // feature: queues begins
  "a queue without a consumer": withMore(QUEUE),
  "a queue that gives up early": withMore(
    `${QUEUE}\n[[queues.producers]]\nqueue = "orders-dead"\nbinding = "DEAD"\n\n[[queues.consumers]]\nqueue = "orders"\nmax_retries = 3\n`,
  ),
  "a consumer of a queue that nothing handles": withMore('\n[[queues.consumers]]\nqueue = "orders"\n'),
  // feature: queues ends

  "text without quotes": withPath("/v1/payments"),
  "a secret without quotes": replaced("[vars.IDEMPOTENCY]", "[vars]\nAPI_TOKEN = hunter2hunter2\n\n[vars.IDEMPOTENCY]"),
  "a secret in one line with another mistake": replaced(
    "[vars.IDEMPOTENCY]",
    '[env.staging]\nvars = { MODE = fast, API_TOKEN = "hunter2hunter2" }\n\n[vars.IDEMPOTENCY]',
  ),
  "an open list": withMethods('["POST"'),
  "an open inline table": withMore('fingerprint = { body = "json"\n\n[[vars.ROUTES]]\npath = "/v1/orders"\n'),
  "an open quote": withPath('"/v1/payments'),
  "curly quotes": withPath("“/v1/payments”"),
  "a duration without quotes": withMore("timeout = 30s\n"),
  "a word of Python": withMore("encrypt_responses = True\n"),
  "a null": withMore("origin = null\n"),
  "a colon": replaced("path =", "path:"),
  "a comment of JavaScript": replaced("name =", "// the gateway\nname ="),
  "one bracket, then two": `${replaced("[[vars.ROUTES]]", "[vars.ROUTES]")}\n[[vars.ROUTES]]\npath = "/v1/orders"\n`,
  "an open header": replaced("[[vars.ROUTES]]", "[[vars.ROUTES]"),
  "a setting twice": withMore('path = "/v1/orders"\n'),
  "a table twice": withMore("\n[vars.IDEMPOTENCY]\nshards = 4\n"),
  "a merge conflict": replaced("[[vars.ROUTES]]", "<<<<<<< HEAD\n[[vars.ROUTES]]"),
  JSON: '{ "name": "gateway" }\n',
};
