// Everything that is wrong with a configuration, and what is said about it: errors, warnings, and the promise of each route.

import { inspect } from "node:util";
import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { checkWranglerConfig, configWarnings } from "../../src/cli/check/file.ts";
import { describeConfig } from "../../src/cli/check/describe.ts";
import { expectApproved, type Said } from "../support/words.ts";
import { configOf, PAYMENTS, problemsOf } from "../kernel/unit/config/support.ts";

type Settings = Readonly<Record<string, unknown>>;

const PAID: Settings = {
  path: "/v1/payments/{json:/id}",
  happened: { "/status": ["paid"] },
  not_happened: { "/status": ["open"] },
  once: true,
  answer: "resource",
};
const FOUND: Settings = {
  path: "/v1/payments?reference={json:/reference}",
  list: "/data",
  match: { "/reference": ["{json:/reference}"] },
  complete: { "/has_more": [false] },
  settle: "1m",
  answer: "item",
};

/** Each has one mistake. */
function wrongStates(): readonly Settings[] {
  const { happened: _1, not_happened: _2, ...silent } = PAID;
  const { answer: _3, ...unanswered } = PAID;
  const { complete: _4, ...incomplete } = FOUND;
  const { settle: _5, ...unsettled } = FOUND;
  const { match: _6, ...unmatched } = FOUND;
  const resources: readonly Settings[] = [
    { path: "https://other.example.com/{key}" },
    { path: "//other.example.com/{key}" },
    { path: "/v1/{id}" },
    { path: "/v1/{path:id}" },
    { path: "/v1/pay-{key}" },
    { path: "/v1/payments?{key}=1" },
    { path: "/v1/payments?q={key}{json:/id}" },
    { path: "/v1/../{key}" },
    { path: "/v1/{key}#a" },
    { path: "/v1/{key" },
    { path: "/v1/{json:id}" },
    { once: false },
    { once: "yes" },
    { happened: {} },
    { happened: "paid" },
    { happened: { status: ["paid"] } },
    { happened: { "/status": "paid" } },
    { happened: { "/status": [] } },
    { happened: { "/status": [null] } },
    { happened: { "/status": ["is {key}"] } },
    { happened: { "/status": ["{body}"] } },
    { happened: { "/amount": [1e20] } },
    { happened: { "header:x-paid": [true] } },
    { happened: { "header:X-Paid": ["1"], "header:x-paid": ["1"] } },
    { happened: { "/error": "absent" } },
    { not_happened: { "/paid_at": "absent" } },
    { not_happened: { "/status": ["open", "paid"] } },
    { happened: { "/reference": ["{json:/reference}"] }, once: false },
    { missing: "no" },
    { settle: 10 },
    { settle: "25h" },
    { settle: "soon" },
    { answer: "first" },
    { answer: "item" },
    { answer: { body: "resource", status: 404 } },
    { answer: { body: "resource", status: 204 } },
    { answer: { body: "resource", location: "https://a.example/{/id}" } },
    { answer: { body: "resource", location: "/v1/{id}" } },
    { answer: { body: "none", status: 201 } },
    { answer: { body: "resource", type: "json" } },
    { match: { "/id": ["{json:/id}"] } },
    { hapened: { "/status": ["paid"] } },
  ];
  const lists: readonly Settings[] = [
    { list: "data" },
    { list: 1 },
    { match: { "/status": ["paid"] } },
    { match: { "header:x": ["{key}"] } },
    { list: "", complete: { "/next": "absent" } },
    { happened: { "/status": ["paid"] } },
    { missing: "not_happened" },
    { answer: "resource" },
  ];
  const tables = [
    ...resources.map((one) => Object.assign({}, PAID, one)),
    silent,
    unanswered,
    { path: PAID["path"] },
    ...lists.map((one) => Object.assign({}, FOUND, one)),
    incomplete,
    unsettled,
    unmatched,
  ];
  return [
    ...tables.map((verify) => ({ verify })),
    { verify: { ...PAID, path: "/v1/{key}" }, forward_key: "none" },
    { verify: PAID, on_store_failure: "open" },
  ];
}

const SHOP = "https://shop.example.com";
const ELSEWHERE = [
  "https://api.example.com",
  "http://status.example.com",
  "https://status.example.com:8443",
  { entrypoint: "Api" },
];
const ENCRYPTION = { ENCRYPTION_SECRET: "a".repeat(32) };

// feature: content-keys begins
const CONTENT = {
  key_from: ["header:Idempotency-Key", { digest: ["json:/order_id", "json:/amount"], window: "10m", repeat: "replay" }],
};
// feature: content-keys ends

// feature: problem-shapes begins
const SHAPE_BODY = { body: { error: "{code}", text: "{detail}" } };

/** Each is a shape of its own. */
const SHAPES: readonly Settings[] = [
  {},
  { body: "{code}" },
  { ...SHAPE_BODY, bodi: {} },
  { ...SHAPE_BODY, type: "text/html" },
  { ...SHAPE_BODY, codes: { "key-reusd": { status: 409 } } },
  { ...SHAPE_BODY, codes: { "operator-forbidden": { status: 403 } } },
  { ...SHAPE_BODY, codes: { "key-reused": { status: 200 } } },
  { ...SHAPE_BODY, codes: { default: { status: 409 } } },
  { ...SHAPE_BODY, codes: { "store-unavailable": { status: 409 } } },
  { ...SHAPE_BODY, codes: { "credential-invalid": { status: 404 } } },
  { ...SHAPE_BODY, codes: { "key-reused": { status: "409" } } },
  { ...SHAPE_BODY, codes: { "key-reused": { of: [] } } },
  { body: { error: "{word}" } },
  { body: { error: "{detial}", list: ["see {json:id}", "{}"] } },
];
// feature: problem-shapes ends

/** Of one route. */
const ROUTE: readonly Settings[] = [
  { timeout: 30 },
  { timeout: "30" },
  { timeout: "30 s" },
  { timeout: "-1s" },
  { timeout: "0s" },
  { timeout: "16m" },
  { idle_timeout: "901s" },
  { lock: "61m" },
  { retention: "366d" },
  { wait: "6m" },
  { max_request_body: "201MB" },
  { max_request_body: "10mb" },
  { max_request_body: 1.5 },
  { max_request_body: 0 },
  { max_request_body: "0.5B" },
  { max_response_body: true },
  { max_response_body: "2GB" },
  { shards: 0 },
  { shards: "0b" },
  { shards: "65537b" },
  { shards: "64" },
  { shards: "64B" },
  { previous_shards: 64 },
  { previous_shards: [0] },
  { previous_shards: [{ shards: 64 }] },
  { previous_shards: [1, 2, 3, 4, 5, 6, 7] },
  { previous_scope: ["none"] },
  { previous_scope: [["ip"], ["x"]] },
  { shards: 65_537 },
  { shards: 1.5 },
  { shards: "many" },
  { location_hint: "europe" },
  { jurisdiction: "de" },
  { key: "maybe" },
  { unknown: "drop" },
  { duplicate: true },
  { log: true },
  { server_timing: "no" },
  { scope: "ip" },
  { scope: [] },
  { scope: ["none", "ip"] },
  { scope: ["none", "none"] },
  { scope: ["ip", "ip"] },
  { scope: ["header:A", "header:a"] },
  { scope: ["jwt:sub"] },
  { scope: ["ip", "tenant"] },
  { scope: ["headers"] },
  { scope: ["header:"] },
  { scope: ["cookie:a b"] },
  { preset: "acp" }, // feature: presets
  { preset: "apc", unknown: "hold" }, // feature: presets
  { problems: "acme" }, // feature: problem-shapes
  { problems: "adpc" }, // feature: problem-shapes
  { problems: 409 }, // feature: problem-shapes
  { problems: "acp", key_reused_status: 409 }, // feature: problem-shapes
  { scope: ["none", "path", "header:authorization"] },
  { scope: ["path", "path"] },
  { scope: ["route:"] },
  { scope: ["route:pay now"] },
  { scope: ["json:account"] },
  { scope: ["json:/a~2"] },
  { scope: ["header:authorization", "json:/account"], async: "prefer" }, // feature: accepted
  { previous_scope: [["json:/account"]], async: "always" }, // feature: accepted
  { origin: "api.example.com" },
  { origin: "ftp://api.example.com" },
  { origin: "https:api.example.com" },
  { origin: "https://me:secret@api.example.com/v1" },
  { origin: "https://api.example.com/?a=1" },
  { origin: "https://api.example.com/#" },
  { origin: 7 },
  { origin: { binding: "API", more: 1 } },
  { origin: { binding: "my-api" } },
  { origin: { binding: "__proto__" } },
  { key_from: [] },
  { key_from: "json:/id" },
  { key_from: Array.from({ length: 9 }, (_, at) => `json:/${at}`) },
  { key_from: ["header:X-Key", "header:x-key"] },
  { key_from: ["json:/a", "json:/a"] },
  { key_from: [1] },
  { key_from: [{ template: "{json:/a}", more: 1 }] },
  { key_from: ["header:X Key"] },
  { key_from: ["X-Key"] },
  { key_from: ["query:"] },
  { key_from: ["json:id"] },
  { key_from: ["json:/a~2"] },
  { key_from: ["json:/\ud800"] },
  { key_from: [["json:/a"]] },
  { key_from: [["json:/a", "cloudevent"]] },
  { key_from: [["json:/a", "json:/a"]] },
  { key_from: [{ template: "order" }] },
  { key_from: [{ template: "{json:/a" }] },
  { key_from: [{ template: "an order {json:/a}" }] },
  { key_from: [{ template: "{json:/a}{json:/b}" }] },
  { key_from: [{ template: "{id}" }] },
  { key_from: [{ digest: "request", window: "10m" }] }, // feature: content-keys
  { key_from: [{ digest: "request", window: "10m", repeat: "again" }] }, // feature: content-keys
  { key_from: [{ digest: "request", window: "10", repeat: "replay" }] }, // feature: content-keys
  { key_from: [{ digest: "request", window: "1s", repeat: "replay" }] }, // feature: content-keys
  { key_from: [{ digest: [], window: "10m", repeat: "replay" }] }, // feature: content-keys
  { key_from: [{ digest: ["json:/a", "json:/a"], window: "10m", repeat: "replay" }] }, // feature: content-keys
  { key_from: [{ digest: ["a"], window: "10m", repeat: "replay" }] }, // feature: content-keys
  { key_from: [{ digest: "request", window: "10m", repeat: "replay" }, "json:/id"] }, // feature: content-keys
  { ...CONTENT, scope: ["none"] }, // feature: content-keys
  { ...CONTENT, lock: "10m" }, // feature: content-keys
  { ...CONTENT, remember: "30d" }, // feature: content-keys
  { key_from: [{ digest: "request", window: "10m", repeat: "replay" }], fingerprint: { body: "none" } }, // feature: content-keys
  { ...CONTENT, forward_key: "charge" }, // feature: content-keys
  { omit_headers: [1] },
  { fingerprint: "json" },
  { fingerprint: { body: "text" } },
  { fingerprint: { body: "json", except: "/a" } },
  { fingerprint: { body: "json", except: ["timestamp"] } },
  { fingerprint: { body: "json", except: ["/a~2"] } },
  { fingerprint: { body: "json", except: [""] } },
  { fingerprint: { body: "json", except: ["/a", "/a"] } },
  { fingerprint: { body: "json", only: ["/a/b", "/a"] } },
  { fingerprint: { body: "json", only: [] } },
  { fingerprint: { body: "json", only: ["/a"], except: ["/b"] } },
  { fingerprint: { except: ["/a"] } },
  { fingerprint: { body: "multipart", only: ["/a"] } },
  { fingerprint: { body: "form", except: ["/a/b"] } },
  { fingerprint: { body: "json", only: Array.from({ length: 33 }, (_, at) => `/${at}`) } },
  { key_from: [["text:a", "text:b"]] },
  { key_from: [["text:", "json:/id"]] },
  { key_from: [["json:/id", "cloudevent"]] },
  { key_from: ["text:a"] },
  { fingerprint: { query: "any" } },
  { fingerprint: { query_except: "t" } },
  { fingerprint: { query_except: [""] } },
  { fingerprint: { query_except: ["t", "t"] } },
  { fingerprint: { query: "none", query_except: ["t"] } },
  { fingerprint: { headers: ["a:b"] } },
  { key_format: "uuid" },
  { key_format: { pattern: "[" } },
  { key_format: { pattern: "\\p" } },
  { key_format: { min: 0 } },
  { key_format: { max: 256 } },
  { refused: 503 },
  { refused: [99] },
  { refused: ["503"] },
  { refused: ["5XX"] },
  { refused: ["6xx"] },
  { refused: [503, "5xx", "5xx"] },
  { refused: ["4xx"], ambiguous: [408, "4xx"] },
  { ambiguous: [504, 600] },
  { ambiguous: [504, 504] },
  { key_reused_status: 500 },
  { key_reused_status: 422.5 },
  { unknown: "verify" },
  { unknown: "verify", verify: "v1/{key}" },
  { unknown: "verify", verify: "/v1/payments" },
  // A search that finds nothing answers 200: a status cannot tell that from a result.
  { unknown: "verify", verify: "/v1/orders?idempotency_key={key}" },
  { unknown: "verify", verify: "/v1/{key}?again={key}" },
  { unknown: "verify", verify: "/v1/{key}/../all" },
  { unknown: "verify", verify: "//other.example.com/{key}" },
  { unknown: "verify", verify: "https://u:p@api.example.com/{key}" },
  { unknown: "verify", verify: { url: "/v1/{key}", headers: [] } },
  { unknown: "verify", verify: { url: "https://a.example/{key}", headers: ["a b"] } },
  { unknown: "verify", verify: { url: "https://a.example/{key}", headers: ["Cookie", "cookie"] } },
  // The clients' credentials are for the origin.
  ...ELSEWHERE.map((origin) => ({ unknown: "verify", verify: "https://status.example.com/{key}", origin })),
  { unknown: "verify", verify: "https://status.example.com/{key}" },
  { unknown: "verify", verify: "/v1/{id}/{key}" },
  ...wrongStates(),
  { unknown: "verify", verify: "/v1/{key}#a" },
  { unknown: "hold", verify: "/v1/{key}" },
  { unknown: "verify", verify: "/v1/{key}", forward_key: "none" },
  { retention: "48h", unknown_retention: "24h" },
  {
    retention: "1h",
    unknown_retention: "12h",
    unknown: "verify",
    verify: {
      path: "/v1/orders/{key}",
      happened: { "/status": ["paid"] },
      not_happened: { "/status": ["open"] },
      once: true,
      settle: "12h",
      answer: "resource",
    },
  },
  { on_store_failure: "ajar" },
  { forward_key: "a:b" },
  { forward_key: "x".repeat(65) },
  { forward_key: false },
  { methods: [] },
  { methods: "POST" },
  { methods: ["post"] },
  { methods: ["PO ST"] },
  { methods: ["GET"] },
  { methods: ["ALL"] },
  { methods: ["PUT", "PUT"] },
  { lock: "30s" },
  { lock: "10s", timeout: "20s" },
  { lock: "40s", timeout: "40s" },
  { retention: "40s" },
  { retention: "2m", lock: "5m" },
  { duplicate: "wait", wait: "40s" },
  { duplicate: "wait", lock: "8s", timeout: "5s" },
  { refused: [502, 503] },
  { ambiguous: [503, 429] },
  { refused: [418], ambiguous: [418, 504] },
  { shards: 128, previous_shards: [64, 64] },
  { shards: 64, previous_shards: [64, 128] },
  { jurisdiction: "eu", previous_shards: [32, { shards: 64, jurisdiction: "none" }] },
  { previous_scope: [["ip"], ["none"], ["ip"]] },
  { previous_scope: [["header:authorization"]] },
  { scope: ["none"], previous_scope: [["none"]] },
  { async: "yes" },
  { give_up: {}, async: true },
  { async: "prefer", give_up: { attempts: 0 } },
  { async: "prefer", give_up: { attempts: 101 } },
  { async: "prefer", give_up: { after: "59999ms" } },
  { async: "prefer", give_up: { after: "31d" } },
  { async: "prefer", give_up: { atempts: 3 } },
  { async: "prefer", give_up: 20 },
  { give_up: { attempts: 3 } },
  { async: "always", on_store_failure: "open", unknown: "retry" },
  { async: "prefer", give_up: { after: "60s" }, lock: "2m" },
  { async: "prefer", retention: "15m" },
  { key_format: { min: 9, max: 8 } },
  { forward_key: "charge", key_format: { max: 249 } },
  { forward_key: "charge", key_format: { min: 249 } },
  { on_store_failure: "open", unknown: "hold" },
  { on_store_failure: "open", verify: "/v1/{key}" },
  { new_keys: "NEW_KEYS" },
  { new_keys: "NEW KEYS" },
  { cors: { origins: [] } },
  { cors: { origins: [SHOP, SHOP] } },
  { cors: { origins: ["*", SHOP] } },
  { cors: { origins: ["*"], credentials: true } },
  { cors: { credentials: true } },
  { colour: "red" },
  { fingerprint: { bodi: "json" } },
  { key_format: { "": 1 } },
  { path: undefined },
  { path: 7 },
  { consumer_path: "/ops" },
  { encrypt_responses: true },
];

const MISSPELT = ["retenton", "timout", "loc", "idleTimeout", "max-request-body", "method", "forwardkey"];

const PATHS = [
  "",
  "v1",
  "//",
  "/a//b",
  "/a/../b",
  "/v1*",
  "/a*b/c",
  "/*/*",
  "/a%20b",
  "/a?b=1",
  "https://api.example.com/v1/:id?x=1#y",
  "https://api.example.com",
  "/v1/orders/{id}/items",
  "v1/{id}",
  "/a b",
  "/a{b}",
  "/:",
  "/:a?/b",
  "/:a/jobs:run",
  "/:a{[}",
  "/:a{[0-9]*}",
  "/:a{^x$}",
  "/:a{x|y}",
  "/:a{[^/]+}?",
  "/:a{[0-9]+}/a+b",
  "/@1",
  // Counterexamples from random tests: the two routers differ after an expression that may match a slash.
  "/:e{[a-z]+/[a-z]+}/",
  "/:x{.+}/b/:p",
  "/:x{.+}/*",
];

/** In `cors.origins`. */
const PAGES = [
  "null",
  `${SHOP}/`,
  `${SHOP}/cart`,
  "shop.example.com",
  "https://user@shop.example.com",
  "",
  `${SHOP}:443`,
  "https://Shop.example.com",
  "https://bücher.example",
  "https://*",
  "https://*.*.example.com",
  "https://shop-*.example.com",
  "https://shop.*.com",
  "*://shop.example.com",
  "capacitor://*.localhost",
  "https://*.Example.com",
  "https://*.com",
  "https://*.127.0.0.1",
];

/** Of two routes. */
const TWO: readonly (readonly [Settings, Settings])[] = [
  [{ shards: 128, previous_shards: [64] }, { shards: 64 }],
  [{ shards: 64 }, { shards: 128, previous_shards: [64] }],
  [
    { shards: 128, previous_shards: [64] },
    { shards: 256, previous_shards: [64] },
  ],
  [
    { shards: 256, previous_shards: [64] },
    { shards: "256b", previous_shards: [64, 128] },
  ],
  [{ shards: 128, previous_shards: [64] }, { shards: 128 }],
  [{ path: "/v1/*" }, { path: "/v1/payments" }],
  [{ path: "/v1/*", methods: ["POST"] }, { path: "/v1/payments" }],
  [{ path: "/a/:x" }, { path: "/a/b", methods: ["POST"] }],
];

const VERIFY = { unknown: "verify", verify: "/v1/by-key/{key}" };

// feature: identities begins
const JWT = {
  issuer: "https://login.example.com",
  audience: "https://api.example.com",
  jwks: "https://login.example.com/jwks.json",
};
const ASK = { path: "/v1/me", pointer: "/account/id" };
const SIGNATURE = { trust: ["https://platform.example/.well-known/ucp", "https://*.example.com/*"] };

const IDENTITIES: readonly unknown[] = [
  "jwt",
  {},
  { jwt: JWT, ask: ASK },
  { jwt: [] },
  { jwt: "https://login.example.com" },
  { jwt: { ...JWT, issuer: undefined } },
  { jwt: { ...JWT, issuer: "my issuer" } },
  { jwt: { ...JWT, audience: undefined } },
  { jwt: { ...JWT, audience: [] } },
  { jwt: [JWT, { ...JWT, issuer: "b", jwks: undefined }] },
  { jwt: [JWT, JWT] },
  { jwt: { ...JWT, jwks: "http://login.example.com/jwks" } },
  { jwt: { ...JWT, jwks: "http://127.0.0.1.example.com/jwks" } },
  { jwt: { ...JWT, jwks: "https://a:b@login.example.com/jwks" } },
  { jwt: { ...JWT, jwks: "/jwks" } },
  { jwt: { ...JWT, algorithms: ["HS256"] } },
  { jwt: { ...JWT, algorithms: ["none"] } },
  { jwt: { ...JWT, algorithms: ["RS1"] } },
  { jwt: { ...JWT, algorithms: [] } },
  { jwt: { ...JWT, claim: "" } },
  { jwt: { ...JWT, claim: "/a~2" } },
  { jwt: { ...JWT, clock_tolerance: "1h" } },
  { jwt: { ...JWT, jwk: "x" } },
  { jwt: JWT, credentials: ["header:a"] },
  { jwt: JWT, credential: ["header:a", "header:b"] },
  { jwt: JWT, credential: ["ip"] },
  { jwt: JWT, credential: [] },
  { ask: ASK, credential: ["cookie:a", "cookie:a"] },
  { jwt: JWT, anonymous: true },
  { ask: { ...ASK, path: undefined } },
  { ask: { ...ASK, path: "https://elsewhere.example.com/me" } },
  { ask: { ...ASK, path: "//elsewhere.example.com/me" } },
  { ask: { ...ASK, pointer: "account.id" } },
  { ask: { ...ASK, pointer: "" } },
  { ask: { ...ASK, cache: "2h" } },
  { jwt: JWT, signature: SIGNATURE },
  { signature: "https://platform.example" },
  { signature: {} },
  { signature: { trust: [] } },
  { signature: { trust: "https://platform.example/*" } },
  { signature: { trust: ["https://platform.example"] } },
  { signature: { trust: ["http://platform.example/*"] } },
  { signature: { trust: ["https://*/*"] } },
  { signature: { trust: ["https://*.com/*"] } },
  { signature: { trust: ["https://platform.example/*", "https://PLATFORM.example:443/*"] } },
  { signature: { ...SIGNATURE, agent: [] } },
  { signature: { ...SIGNATURE, agent: ["user-agent"] } },
  { signature: { ...SIGNATURE, agent: ["ucp-agent", "ucp-agent"] } },
  { signature: { ...SIGNATURE, freshness: "always" } },
  { signature: SIGNATURE, credential: ["header:signature"] },
];
// feature: identities ends

// feature: outbox begins
const QUEUE = { name: "audit", queue: "AUDIT" };
const HOOK = { name: "billing", url: "https://billing.example/hooks", secret: "HOOK_SECRET" };
const PUBLISH = { to: "billing", type: "order.created" };
const HOOKS = { AUDIT: {}, HOOK_SECRET: `whsec_${btoa("0".repeat(32))}` };

const DESTINATIONS: readonly unknown[] = [
  { name: "billing" },
  ["text"],
  [{ queue: "AUDIT" }],
  [{ ...QUEUE, name: "a b" }],
  [QUEUE, QUEUE],
  [{ name: "a" }],
  [{ ...HOOK, queue: "AUDIT" }],
  [{ ...QUEUE, queue: "OTHER" }],
  [{ ...QUEUE, secret: "HOOK_SECRET" }],
  [{ ...HOOK, url: "http://billing.example/" }],
  [{ ...HOOK, url: "/hooks" }],
  [{ ...HOOK, url: "https://me:pw@billing.example/" }],
  [{ name: "billing", url: HOOK.url }],
  [{ ...HOOK, secret: "OTHER" }],
  [{ ...HOOK, secret: [] }],
  [{ ...HOOK, secret: ["HOOK_SECRET", "HOOK_SECRET"] }],
  [{ ...HOOK, sekret: "x" }],
  [{ ...HOOK, give_up: { after: "60d" } }],
  [{ ...HOOK, alerts: "outcome-unknown" }],
  [{ ...HOOK, alerts: ["dead"] }],
  [{ ...HOOK, alerts: ["outcome-unknown", "outcome-unknown"] }],
  [{ ...HOOK, console: "http://ops.example/" }],
  [{ ...HOOK, console: "https://ops.example/?a" }],
];

const PUBLISHED: readonly unknown[] = [
  [{ ...PUBLISH, to: "biling" }],
  [{ ...PUBLISH, to: "x" }],
  [{ to: "billing" }],
  [{ ...PUBLISH, type: "" }],
  [{ ...PUBLISH, when: [] }],
  [{ ...PUBLISH, when: ["6xx"] }],
  [{ ...PUBLISH, when: [99] }],
  [{ ...PUBLISH, data: "all" }],
  [{ ...PUBLISH, step: "a:b" }],
  "billing",
];
// feature: outbox ends

// feature: claims begins
const [BILLING, OTHER] = ["b".repeat(32), "c".repeat(32)];
const GROUP = { name: "billing", token: "BILLING_TOKEN" };

/** Of a group, and of other variables. */
const CONSUMERS: readonly (readonly [Settings, Settings])[] = [
  [{ unknown: "verify" }, {}],
  [{ timeout: "5s" }, {}],
  [{ max_locks: "5s" }, {}],
  [{ lock: "20m" }, {}],
  [{ retention: "10m" }, {}],
  [{ name: "Billing" }, {}],
  [{ token: "NO_TOKEN" }, {}],
  [{ token: "ADMIN_TOKEN" }, { ADMIN_TOKEN: OTHER }],
  [{}, { ADMIN_TOKEN: BILLING }],
  [{}, { BILLING_TOKEN: "short" }],
  [{ token: ["BILLING_TOKEN", "BILLING_TOKEN"] }, {}],
  [{ token: ["BILLING_TOKEN", "B", "C"] }, {}],
  [{}, { IDEMPOTENCY: { consumer_path: "/_onceway/c" } }],
  [{}, { IDEMPOTENCY: { consumer_path: "claims" } }],
  [{}, { IDEMPOTENCY: { origin: "https://a.example" }, ROUTES: [{ path: "/_claims/x" }] }],
];
// feature: claims ends

// feature: queues begins
const ORDERS = { queue: "orders", to: "/internal/orders", dead_letter: { binding: "ORDERS_DEAD" } };
const ORIGIN = { IDEMPOTENCY: { origin: "https://api.example/v2/" } };

const QUEUES: readonly Settings[] = [
  { queue: undefined },
  { queue: "Orders!" },
  { to: "internal/orders" },
  { to: "//evil.example/" },
  { to: "https://a:b@api.example/" },
  { to: "/in#1" },
  { dead_letter: { binding: "NONE" } },
  { headers: { authorization: "secret:NONE" } },
  { headers: { "Onceway-Queue": "other" } },
  { headers: { "idempotency-key": "one" } },
  { headers: { "x-a": "b\r\nc: d" } },
  { done: ["2xx", 99] },
  { done: [] },
  { refused: [500] },
  { retention: "3d" },
  { unknown: "verify", verify: "https://api.example/by-key/{key}", to: "https://other.example/in" },
  { unknown: "verify", verify: PAID },
  { unknown: "verify" },
  { timeout: "14m", lock: "20m" },
  { timeout: "50s", lock: "50s" },
  { origin: { binding: "NONE" } },
  { key_reused_status: 409 },
  { scope: ["header:authorization"] },
  { key: ["header:x-id"] },
  { key: ["id", "json:/id"] },
  { key: ["json:id"] },
  { give_upp: { after: "1h" } },
  { give_up: { afterr: "1h" } },
];
// feature: queues ends

const ANN_TOKEN = "secret-of-ann-0123456789abcdefgh";
const BOB_TOKEN = "secret-of-bob-0123456789abcdefgh";
const ANN = { name: "ann", role: "admin", token: "ANN_TOKEN" };
const BOB = { name: "bob", role: "reader", token: "BOB_TOKEN" };
const TOKENS = { ADMIN_TOKEN: "secret-of-an-admin-0123456789abc", ANN_TOKEN, BOB_TOKEN };
const TEAM = { team: "https://acme.cloudflareaccess.com", audience: "32eafc", admins: ["Ann@Example.com"] };

const OPERATORS: readonly Settings[] = [
  { OPERATORS: [{ ...ANN, name: "gateway" }] },
  { OPERATORS: [{ ...ANN, name: "Ann" }] },
  { OPERATORS: [{ role: "admin", token: "ANN_TOKEN" }] },
  { OPERATORS: [{ ...ANN, role: "root" }] },
  { OPERATORS: [{ name: "ann", token: "ANN_TOKEN" }] },
  { OPERATORS: [{ name: "ann", role: "admin" }] },
  { OPERATORS: [{ ...ANN, token: "se cret" }] },
  { OPERATORS: [{ ...ANN, token: "EVE_TOKEN" }] },
  { OPERATORS: [{ ...ANN, token: "ADMIN_TOKEN" }] },
  { OPERATORS: [ANN, { ...BOB, token: "ANN_TOKEN" }] },
  { OPERATORS: [ANN, { ...BOB, name: "ann" }] },
  { OPERATORS: [{ ...ANN, scope: ["none"] }] },
  { OPERATORS: [{ ...ANN, tokn: "X" }] },
  { OPERATORS: ANN },
  { OPERATORS: [ANN, BOB], BOB_TOKEN: ANN_TOKEN },
  { OPERATORS: [ANN], ADMIN_TOKEN: ANN_TOKEN },
  { OPERATORS: [ANN], ANN_TOKEN: "secret-of-ann" },
  { OPERATORS: [ANN], CONSUMERS: [{ name: "billing", token: "ANN_TOKEN" }] }, // feature: claims
  { OPERATORS: [ANN], CONSUMERS: [{ name: "billing", token: "BILLING_TOKEN" }], BILLING_TOKEN: ANN_TOKEN }, // feature: claims
];

const ACCESS: readonly Settings[] = [
  { team: undefined },
  { team: "acme.cloudflareaccess.com" },
  { team: "http://acme.cloudflareaccess.com" },
  { team: "https://acme.cloudflareaccess.com/" },
  { audience: undefined },
  { audience: "" },
  { admins: [] },
  { admins: ["*"] },
  { readers: ["*@*"] },
  { admins: ["ann@example.\u212aom"] },
  { admins: "ann@example.com" },
  { admin: [] },
];

/** Whole variables. */
const VARIABLES: readonly Settings[] = [
  {},
  { ROUTES: [] },
  { ROUTES: PAYMENTS },
  { ROUTES: ["/v1"] },
  { ROUTES: [PAYMENTS], IDEMPOTENCY: [] },
  { ROUTES: [PAYMENTS], IDEMPOTENCY: { path: "/v1" } },
  { ROUTES: [PAYMENTS], IDEMPOTENCY: { timeout: "50s", lock: "40s" } },
  { ROUTES: [{ ...PAYMENTS, timeout: "2m" }], IDEMPOTENCY: { lock: "35s" } },
  { ROUTES: [PAYMENTS], IDEMPOTENCY: { origin: { binding: "API" } } },
  { ROUTES: [{ path: "/_onceway/x" }] },
  { ROUTES: [PAYMENTS], OPERATOR_API: { path: "ops", hostname: "x:1", listener: "mine" } },
  { ROUTES: [PAYMENTS], OPERATOR_API: "ops.example.com" },
  { ROUTES: [PAYMENTS], IDEMPOTENCY: { trust_forwarded: "yes" }, OPERATOR_API: { environment: "<b>" } },
  { ROUTES: [PAYMENTS], ADMIN_TOKEN: "short" },
  { ROUTES: [PAYMENTS], ...TOKENS, READ_TOKEN: TOKENS.ADMIN_TOKEN },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: "yes" }], ...ENCRYPTION },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: true }], ENCRYPTION_SECRET: "short" },
  {
    ROUTES: [{ ...PAYMENTS, encrypt_responses: true }],
    ...ENCRYPTION,
    ENCRYPTION_SECRET_2: ENCRYPTION.ENCRYPTION_SECRET,
  },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: true, unknown: "verify", verify: "/v1/by-key/{key}" }], ...ENCRYPTION },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: true, previous_scope: [["ip"]] }], ...ENCRYPTION },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: true, note: { label: "json:/id", excerpt: 100 } }], ...ENCRYPTION },
  { ROUTES: [{ ...PAYMENTS, encrypt_responses: true, async: "prefer" }], ...ENCRYPTION },
];

const ALL: readonly (readonly [what: string, given: unknown, variables: Settings])[] = [
  ...VARIABLES.map((one) => ["variables", one, one] as const),
  ...[...ROUTE, ...MISSPELT.map((name) => ({ [name]: "1h" }))].map(
    (one) => ["a route", one, { ROUTES: [{ ...PAYMENTS, ...one }] }] as const,
  ),
  ...PAGES.map((one) => ["cors.origins", one, { ROUTES: [{ ...PAYMENTS, cors: { origins: [one] } }] }] as const),
  ...PATHS.map((one) => ["a path", one, { ROUTES: [{ path: one }] }] as const),
  ...TWO.map(
    ([one, two]) =>
      [
        "routes",
        [one, two],
        {
          ROUTES: [
            { path: "/a", ...one },
            { path: "/b", ...two },
          ],
        },
      ] as const,
  ),
  // feature: problem-shapes begins
  ...SHAPES.map(
    (one) => ["a shape", one, { PROBLEMS: { acme: one }, ROUTES: [{ ...PAYMENTS, problems: "acme" }] }] as const,
  ),
  ["shapes", { acp: {} }, { PROBLEMS: { acp: SHAPE_BODY }, ROUTES: [PAYMENTS] }],
  ["shapes", [], { PROBLEMS: [], ROUTES: [PAYMENTS] }],
  // feature: problem-shapes ends
  // feature: identities begins
  ...IDENTITIES.map(
    (one) =>
      ["an identity", one, { IDENTITIES: { user: one }, ROUTES: [{ ...PAYMENTS, scope: ["identity:user"] }] }] as const,
  ),
  [
    "an identity",
    "by signature, with a verification that nobody has signed",
    {
      IDENTITIES: { platform: { signature: SIGNATURE } },
      ROUTES: [{ ...PAYMENTS, scope: ["identity:platform"], ...VERIFY }],
    },
  ] as const,
  // feature: identities ends
  // feature: outbox begins
  ...DESTINATIONS.map((one) => ["destinations", one, { DESTINATIONS: one, ROUTES: [PAYMENTS], ...HOOKS }] as const),
  ...PUBLISHED.map(
    (one) => ["publish", one, { ROUTES: [{ ...PAYMENTS, publish: one }], DESTINATIONS: [HOOK], ...HOOKS }] as const,
  ),
  // feature: outbox ends
  // feature: claims begins
  ...CONSUMERS.map(
    ([one, others]) =>
      ["consumers", [one, others], { CONSUMERS: [{ ...GROUP, ...one }], BILLING_TOKEN: BILLING, ...others }] as const,
  ),
  // feature: claims ends
  ...QUEUES.map((one) => ["a queue", one, { QUEUES: [{ ...ORDERS, ...one }], ...ORIGIN, ORDERS_DEAD: {} }] as const), // feature: queues
  ...OPERATORS.map((one) => ["operators", one, { ROUTES: [PAYMENTS], ...TOKENS, ...one }] as const),
  ...ACCESS.map((one) => ["ACCESS", one, { ACCESS: withoutAbsent({ ...TEAM, ...one }), ROUTES: [PAYMENTS] }] as const),
];

/** What is not written at all. */
function withoutAbsent(table: Settings): Settings {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}

const shown = (given: unknown): string =>
  inspect(given, { depth: null, compact: true, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 8 });

it("the errors of variables are as approved, and no secret is among them", async () => {
  const said = ALL.map(([what, given, variables]): Said => {
    const words = problemsOf(variables).map(({ path, message }) => `${path}: ${message}`);
    return { asked: `${what}: ${shown(given)}`, words: words.join("\n") };
  });
  for (const { words } of said) expect(words).not.toMatch(/secret-of|me:secret|a{32}|b{32}|c{32}/);
  await expectApproved("configuration-errors", said);
});

/** Right, but perhaps not meant so. Each is of one route. */
const UNDECIDED: readonly Settings[] = [
  { ...VERIFY, scope: ["header:x-tenant"] },
  { verify: { ...FOUND, path: "/v1/payments/search?q={json:/reference}", settle: "59m" } },
  { on_store_failure: "open" },
  { fingerprint: { body: "json", except: ["/amount"] } },
  { fingerprint: { query_except: ["to_account", "t"] } },
  { jurisdiction: "eu" },
  { location_hint: "me" }, // feature: placement
  { location_hint: "weur", jurisdiction: "us" }, // feature: placement
  { scope: ["cookie:session"], cors: { origins: [SHOP] } }, // feature: pages
  { key_from: [{ digest: ["json:/amount"], window: "10m", repeat: "replay" }] }, // feature: content-keys
  { ...CONTENT, path: "/v1/refunds" }, // feature: content-keys
  { ...CONTENT, ...VERIFY }, // feature: content-keys
];

it("the warnings are as approved", async () => {
  // feature: identities begins
  const jwt = { IDENTITIES: { user: { jwt: JWT } } };
  const compared = { ...PAYMENTS, scope: ["identity:user"], fingerprint: { headers: ["Authorization"] } };
  // feature: identities ends
  const cases: readonly (readonly [string, Settings])[] = [
    ...UNDECIDED.map((one) => [shown(one), { ROUTES: [{ ...PAYMENTS, ...one }] }] as const),
    ["an identity that no scope names", { ROUTES: [PAYMENTS], ...jwt }], // feature: identities
    ["a fingerprint that a refreshed credential changes", { ROUTES: [compared], ...jwt }], // feature: identities
    ["a destination to which nothing is published", { ROUTES: [PAYMENTS], DESTINATIONS: [QUEUE], ...HOOKS }], // feature: outbox
  ];
  const said = cases.map(([what, variables]) => {
    const words = configWarnings(configOf(variables)).map(({ path, message }) => `${path}: ${message}`);
    expect([what, words]).not.toEqual([what, []]);
    return { asked: what, words: words.join("\n") };
  });
  await expectApproved("configuration-warnings", said);
});

it("what is promised of a configuration is as approved", async () => {
  const routes: readonly Settings[] = [
    {},
    { unknown: "retry" },
    VERIFY,
    { async: "prefer" }, // feature: accepted
    { async: "always", ...VERIFY, give_up: { attempts: 5, after: "2h" } }, // feature: accepted
    { async: "always", unknown: "retry" }, // feature: accepted
    { on_store_failure: "open" },
    { fingerprint: { body: "json", except: ["/t", "/n"], query_except: ["s"] } },
    { fingerprint: { body: "form", only: ["/amount"], query: "none" } },
    { fingerprint: { body: "none" } },
    { fingerprint: { body: "json", headers: ["x-api-version"], query: "sorted" } },
    { publish: [PUBLISH] }, // feature: outbox
    CONTENT, // feature: content-keys
    { key_from: [{ digest: "request", window: "1h", repeat: "refuse" }] }, // feature: content-keys
    { scope: ["identity:user"] }, // feature: identities
    { scope: ["identity:account"] }, // feature: identities
    { scope: ["identity:platform"] }, // feature: identities
  ];
  const others = {
    // feature: identities begins
    IDENTITIES: {
      user: { jwt: [JWT, { ...JWT, issuer: "https://id.example.org", claim: "/account/id" }] },
      account: { ask: ASK, anonymous: "allow" },
      platform: { signature: SIGNATURE },
    },
    // feature: identities ends
    DESTINATIONS: [HOOK], // feature: outbox
    ...HOOKS, // feature: outbox
  };
  const groups = [GROUP, { name: "mail", token: "OTHER_TOKEN", unknown: "retry", lock: "5m" }]; // feature: claims
  const said = [
    ...routes.map((one) => [shown(one), { ROUTES: [{ ...PAYMENTS, ...one }], ...others }] as const),
    // feature: queues begins
    ["a queue", { QUEUES: [ORDERS], ...ORIGIN, ORDERS_DEAD: {} }] as const,
    [
      "a queue whose messages are tried again",
      { QUEUES: [{ ...ORDERS, unknown: "retry" }], ...ORIGIN, ORDERS_DEAD: {} },
    ] as const,
    // feature: queues ends
    ["groups of consumers", { CONSUMERS: groups, BILLING_TOKEN: BILLING, OTHER_TOKEN: OTHER }] as const, // feature: claims
  ].map(([what, variables]) => ({ asked: what, words: describeConfig(configOf(variables)) }));
  await expectApproved("configuration-promises", said);
});

const FILE = `
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
`;
const ROUTES = 'vars.ROUTES = [{ path = "/v1/payments" }]\n';

/** Files whose variables are right. The output for whole files is in check-toml.txt. */
const FILES: readonly (readonly [what: string, toml: string])[] = [
  ["nothing else", ROUTES],
  ["no SQLite", `${FILE.replace("new_sqlite_classes", "new_classes")}${ROUTES}`],
  ["another class", `${FILE.replace('class_name = "KeyShard"', 'class_name = "Other"')}${ROUTES}`],
  [
    "a class that is deleted",
    `${FILE.replace('"] }]', '"] }, { tag = "v2", deleted_classes = ["KeyShard"] }]')}${ROUTES}`,
  ],
  ["a flag that aborts calls", `${FILE.replace('signal"', 'signal", "request_signal_passthrough"')}${ROUTES}`],
  ["a variable that is too large", `${FILE}vars.ROUTES = [{ path = "/${"a".repeat(5_200)}" }]\n`],
  [
    "a binding that is no origin",
    `${FILE}kv_namespaces = [{ binding = "API" }]\nvars.ROUTES = [{ path = "/a", origin = { binding = "API" } }]`,
  ],
  [
    "an environment without defaults",
    `${FILE}${ROUTES}vars.IDEMPOTENCY = {}\n[env.staging]\n${FILE.split("\n").at(-2) ?? ""}\n${ROUTES}`,
  ],
  ["no limiter", `${FILE}vars.ROUTES = [{ path = "/a", new_keys = "NEW_KEYS" }]\n`],
  ...[
    "{ limit = 100, period = 30 }",
    "{ limit = 100 }",
    "{ limit = 0, period = 60 }",
    "{ limit = 1.5, period = 60 }",
  ].map(
    (simple) =>
      [
        `a limiter with ${simple}`,
        `${FILE}ratelimits = [{ name = "NEW_KEYS", namespace_id = "1001", simple = ${simple} }]\nvars.ROUTES = [{ path = "/a", new_keys = "NEW_KEYS" }]\n`,
      ] as const,
  ),
];

it("what is said of the file around the variables is as approved", async () => {
  const said = FILES.map(([what, toml]) => {
    const words = checkWranglerConfig(parse(toml)).flatMap(({ problems }) =>
      problems.map(({ path, message }) => `${path}: ${message}`),
    );
    expect([what, words]).not.toEqual([what, []]);
    return { asked: what, words: words.join("\n") };
  });
  await expectApproved("configuration-files", said);
});
