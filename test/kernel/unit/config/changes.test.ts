// What a change of each setting does to a request that is sent again after it, compared with the last column of the tables of settings.
// Each case is one request, read under the setting's old value and under its new one, and the other way round: whether both name the same
// record, have one fingerprint, and reach the origin with one key and otherwise the same. A setting without a case fails.

import { describe, expect, it } from "vitest";

import { claimRequest } from "../../../../src/features/claims/claim-request.ts"; // feature: claims
import { entryTexts, type SettingText, settingTexts } from "../../../../src/cli/settings-table.ts";
import { operatorApiVariable } from "../../../../src/cli/variables.ts";
import { accessVariable, operatorsVariable } from "../../../../src/cli/variables.ts";
import { consumersVariable } from "../../../../src/features/claims/cli/node.ts"; // feature: claims
import { identitiesVariable } from "../../../../src/features/identities/cli/node.ts"; // feature: identities
import { destinationsVariable } from "../../../../src/features/outbox/cli/node.ts"; // feature: outbox
import { queuesVariable } from "../../../../src/features/queues/cli/node.ts"; // feature: queues
import { identityRoots } from "../../../../src/kernel/config/identity.ts"; // feature: identities
import { layoutName } from "../../../../src/kernel/config/layout.ts";
import { configuredHeaders, readMessage } from "../../../../src/features/queues/queue-message.ts"; // feature: queues
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { readExchange } from "../../../../src/kernel/request/exchange-request.ts";
import { canonicalMultipart } from "../../../../src/features/forms/worker.ts"; // feature: forms
import { graphqlReader } from "../../../../src/features/graphql/worker.ts"; // feature: graphql
import { callerProver } from "../../../../src/features/identities/worker.ts"; // feature: identities
import { callSearch } from "../../../../src/features/json-rpc/worker.ts"; // feature: json-rpc
import { keySearch } from "../../../../src/features/key-sources/worker.ts"; // feature: key-sources
import { decideTrial } from "../../../../src/features/observe/key-share.ts"; // feature: observe
import { type DivertRequest, readingFeatures, type ReadingFunctions } from "../../../../src/kernel/request-feature.ts";
import { intentReader } from "../../../../src/kernel/request/intent.ts";
import type { Route } from "../../../../src/kernel/config/resolved.ts";
import type { NamesIn, OriginCall } from "../../../../src/kernel/request/message.ts";
import { callInForm } from "../../../../src/kernel/request/origin-key.ts";
import { readingOf } from "./support.ts";

type Table = Readonly<Record<string, unknown>>;

/** What a second try finds: the record, or another, or none at all, and what it would send. */
interface Seen {
  readonly kind: "exchange" | "refused" | "unprotected";
  readonly ids: readonly string[];
  readonly layouts: readonly string[];
  readonly fingerprint: string;
  readonly call: OriginCall | null;
}

type Effect =
  | "names other objects"
  | "names other records"
  | "looks like reuse"
  | "not protected"
  | "another key"
  | "goes elsewhere"
  | "other headers";

/** What the last column says with these words, and only with them. */
const SAYS: readonly (readonly [Effect, RegExp])[] = [
  ["names other objects", /names other objects|layout that is taken out .* is forgotten/],
  ["names other records", /names other records|records of a scope that is taken out are not found/],
  ["looks like reuse", /look like reuse|do not open/],
  ["not protected", /not protected/],
  ["another key", /another key at the origin/],
  ["goes elsewhere", /next attempt .* goes to the new one/],
  ["other headers", /next attempt .* has the new headers/],
];

function said({ onChange }: SettingText): readonly Effect[] {
  return SAYS.filter(([, words]) => words.test(onChange)).map(([effect]) => effect);
}

function seenEffects(before: Seen, after: Seen): readonly Effect[] {
  if (after.kind === "unprotected") return ["not protected"];
  // What is refused takes no effect, and finds the record again when the setting is put back.
  if (before.kind !== "exchange" || after.kind === "refused") return [];
  // A record may lie wherever the old configuration looks.
  if (before.layouts.some((layout) => !after.layouts.includes(layout))) return ["names other objects"];
  const isFound = before.ids.every((id) => after.ids.includes(id));
  const effects: Effect[] = isFound ? [] : ["names other records"];
  if (before.fingerprint !== after.fingerprint) effects.push("looks like reuse");
  // What looks like reuse is refused.
  else if (isFound) effects.push(...otherCall(before.call, after.call));
  return effects;
}

/** How the second attempt's call differs from the first one's. */
function otherCall(first: OriginCall | null, given: OriginCall | null): readonly Effect[] {
  if (first === null || given === null) return [];
  const second = callInForm(given, first.key?.form ?? null);
  const isKey = ([name]: readonly [string, string]): boolean => /^(?:idempotency-key|x-key)$/i.test(name);
  const headersOf = ({ headers }: OriginCall, isOne: typeof isKey): string =>
    headers
      .filter(isOne)
      .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
      .toSorted()
      .join("\n");
  const isOther = (part: typeof isKey): boolean => headersOf(first, part) !== headersOf(second, part);
  const place = ({ origin, method, url }: OriginCall): string => JSON.stringify([origin, method, url]);
  return [
    ...(isOther(isKey) ? (["another key"] as const) : []),
    ...(place(first) === place(second) ? [] : (["goes elsewhere"] as const)),
    ...(isOther((pair) => !isKey(pair)) ? (["other headers"] as const) : []),
  ];
}

const NONE = { ids: [], layouts: [], fingerprint: "", call: null };
const SECRETS = { ENCRYPTION_SECRET: "0123456789abcdef".repeat(4) };
const unused = (): never => {
  throw new Error("nobody is asked");
};
const functions: ReadingFunctions = {
  callerProver, // feature: identities
  keySearch, // feature: key-sources
  callSearch, // feature: json-rpc
  graphqlReader, // feature: graphql
  canonicalMultipart, // feature: forms
};
// feature: observe begins
/** Of routes on trial. */
const divertTrial: DivertRequest = (asked, _url, route) =>
  decideTrial(asked, route) === "protect" ? null : { tap: null };
// feature: observe ends
const diverts: readonly DivertRequest[] = [
  divertTrial, // feature: observe
];
const ports = readingFeatures(functions, { network: { fetch: unused }, target: unused, waitUntil: unused });

const CALL = { method: "tools/call", params: { name: "pay" } };
const BODY = JSON.stringify({ id: "k1", at: 1, tenant: "t1", query: "mutation { pay }", ...CALL });

function request(forwardedHost: string): Request {
  return new Request("https://api.example.com/v1/pay?b=2&a=1", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "idempotency-key": "key-1",
      "x-key": "key-2",
      "x-forwarded-host": forwardedHost,
      "x-forwarded-proto": "https",
      authorization: "Bearer a",
      cookie: "session=s1",
      "x-version": "1",
    },
    body: BODY,
  });
}

/** The names under which a record is looked for, in each layout of its route. */
async function foundIn({ layouts }: Pick<Route, "layouts">, namesIn: NamesIn): Promise<Pick<Seen, "ids" | "layouts">> {
  const all = [layouts.own, ...layouts.previous];
  const ids = await Promise.all(all.map((layout) => namesIn(layout)));
  return { ids: ids.flat(), layouts: all.map(layoutName) };
}

/** Configured as a route, or for the whole gateway. */
async function tryRequest(
  settings: Table,
  gateway: Table,
  forwardedHost = "shop.example.com",
  operatorApi: Table = {},
): Promise<Seen> {
  const { config, encryptionSecrets } = readingOf({
    OPERATOR_API: operatorApi,
    IDEMPOTENCY: { origin: "https://origin.example", ...gateway },
    ROUTES: [{ path: "/v1/*", ...settings }],
    DESTINATIONS: [{ name: "line", queue: "LINE" }],
    LINE: {},
    API: {},
    NEW_KEYS: {},
    ...SECRETS,
  });
  const given = request(forwardedHost);
  const intent = intentReader(config, () => false, [], diverts[0])(given, new URL(given.url));
  if (intent.kind === "pass") return { kind: "unprotected", ...NONE };
  if (intent.kind !== "exchange" && intent.kind !== "search") return { kind: "refused", ...NONE };
  const telemetry = { log: "none", serverTiming: false, trace: null } as const;
  const found = await readExchange(intent, telemetry, {
    ...ports,
    encryptions: new EncryptionDeriver(encryptionSecrets),
  });
  if (found.kind !== "exchange") return { kind: found.kind === "pass" ? "unprotected" : "refused", ...NONE };
  const { request: asked, call } = found.exchange.head;
  return {
    kind: "exchange",
    ...(await foundIn(intent.route, found.exchange.namesIn)),
    fingerprint: String(asked.fingerprint),
    call,
  };
}

// feature: queues begins
async function tryMessage(settings: Table, secret = "secret"): Promise<Seen> {
  const { queues } = readingOf({
    IDEMPOTENCY: { origin: "https://origin.example" },
    QUEUES: [{ queue: "orders", to: "/in", dead_letter: { binding: "DEAD" }, ...settings }],
    DESTINATIONS: [{ name: "line", queue: "LINE" }],
    LINE: {},
    DEAD: {},
    OTHER_DEAD: {},
    API: {},
    ORDERS_AUTH: secret,
  }).config;
  const [queue] = queues;
  if (queue === undefined) throw new Error("no queue");
  const message = { id: "message-1", timestamp: new Date(0), attempts: 1, body: JSON.parse(BODY) };
  const found = await readMessage(
    queue,
    message,
    configuredHeaders(queue, () => secret),
    0,
  );
  if (found.kind === "dead") return { kind: "refused", ...NONE };
  const { request: asked, call } = found.exchange.head;
  return {
    kind: "exchange",
    ...(await foundIn(queue.route, found.exchange.namesIn)),
    fingerprint: String(asked.fingerprint),
    call,
  };
}
// feature: queues ends

// feature: claims begins
async function tryClaim(settings: Table): Promise<Seen> {
  const { consumers } = readingOf({
    CONSUMERS: [{ name: "billing", token: "BILLING", ...settings }],
    BILLING: "b".repeat(32),
    OTHER: "o".repeat(32),
    DESTINATIONS: [{ name: "line", queue: "LINE" }],
    LINE: {},
  }).config;
  const [consumer] = consumers;
  if (consumer === undefined) throw new Error("no group");
  const attempt = "00000000-0000-4000-8000-000000000000";
  const wish = { key: "k1", attemptId: attempt, position: null, verb: "extend" } as const;
  const { namesIn } = await claimRequest(consumer, wish);
  return {
    kind: "exchange",
    ...(await foundIn(consumer.route, namesIn)),
    fingerprint: "",
    call: null,
  };
}
// feature: claims ends

/** Two values of a setting; `and`: what both need besides. `null`: left out. */
type Case = readonly [before: unknown, after: unknown, and?: Table];
type Cases = Readonly<Record<string, readonly Case[]>>;

const RETRY = { unknown: "retry" };
const ASYNC = { async: "prefer" }; // feature: accepted
const JSON_BODY = { fingerprint: { body: "json" } };
const OF_CORS = { cors: { origins: ["https://shop.example.com"] } }; // feature: pages

/** Of layouts, attempts and events: the same for routes, queues and groups. */
const SHARED: Cases = {
  shards: [
    [64, 128],
    [64, "64b"],
    [64, "per-key"],
  ],
  // feature: previous-shards begins
  previous_shards: [
    [null, [32]],
    [[32], [32, 16]],
  ],
  // feature: previous-shards ends
  location_hint: [["weur", "apac"]],
  jurisdiction: [
    ["eu", "us"],
    [null, "eu"],
  ],
  unknown_retention: [["365d", "400d"]],
  // feature: outbox begins
  publish: [[null, [{ to: "line", type: "paid" }]]],
  "publish.when": [[["2xx"], ["4xx"]]],
  "publish.data": [
    ["response", "none"],
    ["response", "origin"],
  ],
  "publish.step": [[null, "charge"]],
  // feature: outbox ends
};

const ATTEMPTS: Cases = {
  timeout: [["30s", "10s"]],
  idle_timeout: [["30s", "10s"]],
  lock: [["40s", "50s"]],
  retention: [["24h", "8d"]],
  remember: [["none", "30d"]],
  unknown: [["hold", "retry"]],
  verify: [["/by-key/{key}", "/of/{key}", { unknown: "verify" }]],
  refused: [[[503], [429]]],
  ambiguous: [[[502], [504]]],
  // feature: verdicts begins
  verdicts: [[[], [{ at: "/error", is: "refused" }]]],
  "verdicts.equals": [[null, "busy"]],
  "verdicts.status": [[["2xx"], [200]]],
  // feature: verdicts ends
  wait: [["10s", "5s"]],
  max_response_body: [["10MB", "1MB"]],
  log: [
    ["all", "none"],
    ["all", "errors"],
  ],
  note: [[{}, { request: "path" }]],
  "note.request": [["target", "none"]],
  "note.label": [[null, "json:/id"]],
  "note.excerpt": [[null, 10]],
  "note.excerpt_retention": [["1h", "2h", { note: { excerpt: 10 } }]],
};

const ROUTES: Cases = {
  ...SHARED,
  ...ATTEMPTS,
  path: [
    ["/v1/*", "/v2/*"],
    ["/v1/*", "/v1/pay"],
  ],
  origin: [
    ["https://origin.example", "https://other.example/base"],
    ["https://origin.example", { binding: "API" }],
    ["https://origin.example", { entrypoint: "Api" }],
    [{ binding: "API" }, { entrypoint: "Api" }],
  ],
  methods: [
    [["POST"], ["PATCH"]],
    [["POST"], ["POST", "PUT"]],
  ],
  key: [["required", "optional"]],
  // feature: key-sources begins
  key_from: [
    [["header:Idempotency-Key"], ["header:X-Key"]],
    [["header:Idempotency-Key"], ["json:/id"]],
    [["header:Idempotency-Key"], [["text:a", "json:/id"]]],
  ],
  // feature: key-sources ends
  graphql: [[false, true]], // feature: graphql
  // feature: json-rpc begins
  jsonrpc: [[false, true]],
  "jsonrpc.methods": [[["tools/call"], ["orders/pay"]]],
  "jsonrpc.tools": [[["*"], ["refund"]]],
  "jsonrpc.optional": [[[], ["get_*"]]],
  replay_set: [[[], [{ at: "/result/x", value: true }], { jsonrpc: true }]],
  "replay_set.value": [[true, false, { jsonrpc: true }]],
  "replay_set.from": [["/params/a", "/params/b", { jsonrpc: true }]],
  // feature: json-rpc ends
  // feature: observe begins
  mode: [["enforce", "observe"]],
  enforce: [[null, "99.99%", { mode: "observe" }]],
  observe: [[null, { sample: 0.5 }, { mode: "observe", enforce: "99.99%" }]],
  "observe.effect": [["/id", "/other", { mode: "observe", enforce: "99.99%" }]],
  "observe.sample": [[1, 0.1, { mode: "observe", enforce: "99.99%" }]],
  "observe.keyless": [["10m", "none", { mode: "observe", enforce: "99.99%" }]],
  // feature: observe ends
  key_format: [[null, { max: 100 }]],
  "key_format.pattern": [["^key", "^other"]],
  "key_format.min": [[1, 16]],
  "key_format.max": [[100, 3]],
  scope: [
    [["header:authorization"], ["header:authorization", "path"]],
    [
      ["header:authorization", "route:a"],
      ["header:authorization", "route:b"],
    ],
    [["header:authorization"], ["header:authorization", "json:/id"]],
    [["header:authorization"], ["cookie:session"]],
    [["header:authorization"], ["none"]],
    [["header:authorization"], ["host"]],
    [["header:authorization"], ["ip"]],
  ],
  previous_scope: [[[["cookie:session"]], [], { scope: ["header:authorization"] }]],
  new_keys: [["none", "NEW_KEYS"]],
  fingerprint: [[null, { body: "json" }]],
  "fingerprint.body": [
    ["bytes", "json"],
    ["bytes", "form"],
    ["bytes", "multipart"],
    ["bytes", "none"],
  ],
  "fingerprint.except": [[[], ["/at"], JSON_BODY]],
  "fingerprint.only": [[["/id"], ["/at"], JSON_BODY]],
  "fingerprint.query": [
    ["exact", "sorted"],
    ["exact", "none"],
  ],
  "fingerprint.query_except": [[[], ["a"]]],
  "fingerprint.headers": [[[], ["x-version"]]],
  key_reused_status: [[422, 409]],
  problems: [["rfc9457", "acp"]], // feature: problem-shapes
  preset: [["none", "acp", { unknown: "hold" }]], // feature: presets
  forward_key: [
    ["client", "charge", RETRY],
    ["client", "none", RETRY],
    // The client sends an `Idempotency-Key` too, which is none of the route's.
    ["client", "charge", { ...RETRY, key_from: ["json:/id"] }], // feature: key-sources
    ["none", "charge", { ...RETRY, key_from: ["json:/id"] }], // feature: key-sources
    ["charge", "refund", RETRY],
  ],
  after_refusal: [["same", "any"]],
  on_store_failure: [["closed", "open", RETRY]],
  duplicate: [
    ["reject", "wait"],
    ["reject", "attach"],
  ],
  max_request_body: [["10MB", 10]],
  encrypt_responses: [
    [true, "past"],
    [false, "past"],
    [true, false],
  ],
  omit_headers: [[["set-cookie"], []]],
  server_timing: [[false, true]],
  look_up: [[true, false]], // feature: look-up
  // feature: accepted begins
  async: [
    ["never", "prefer"],
    ["never", "always"],
  ],
  // feature: accepted ends
  give_up: [[null, { attempts: 3 }, ASYNC]], // feature: accepted
  "give_up.attempts": [[3, 5, ASYNC]], // feature: accepted
  "give_up.after": [["1h", "2h", ASYNC]], // feature: accepted
  cors: [[null, { origins: ["*"] }]], // feature: pages
  "cors.origins": [[["https://a.example"], ["*"]]], // feature: pages
  "cors.credentials": [[false, true, OF_CORS]], // feature: pages
  "cors.allow_headers": [[[], ["x-a"], OF_CORS]], // feature: pages
  "cors.expose_headers": [[[], ["x-a"], OF_CORS]], // feature: pages
  "cors.preflight": [["answer", "pass", OF_CORS]], // feature: pages
  "cors.max_age": [["10m", "5m", OF_CORS]], // feature: pages
};

const OPERATOR_API: Cases = {
  path: [["/_onceway", "/ops"]],
  hostname: [[null, "ops.example.com"]],
  environment: [[null, "staging"]],
};

const GATEWAY: Cases = {
  trust_forwarded: [[false, true, { scope: ["header:authorization", "host"] }]],
  consumer_path: [["/_claims", "/claims"]],
};

// feature: queues begins
const QUEUES: Cases = {
  ...SHARED,
  ...ATTEMPTS,
  queue: [["orders", "refunds"]],
  to: [
    ["/in", "/other"],
    ["/in", "/in?a=1"],
  ],
  dead_letter: [[{ binding: "DEAD" }, { binding: "OTHER_DEAD" }]],
  key: [
    [["id"], ["json:/id"]],
    [["json:/id"], [["text:a", "json:/id"]]],
  ],
  scope: [[[], ["json:/tenant"]]],
  headers: [
    [{}, { authorization: "secret:ORDERS_AUTH" }],
    [{ "x-tenant": "a" }, { "x-tenant": "b" }],
    // What a message is compared by is its own type.
    [{}, { "content-type": "application/vnd.orders" }],
  ],
  done: [[["2xx"], ["2xx", 409]]],
  give_up: [[null, { after: "2h" }]],
  "give_up.after": [["1h", "2h"]],
  fingerprint: [
    [{ body: "json" }, { body: "bytes" }],
    [{ body: "json" }, { body: "none" }],
  ],
  retention: [["7d", "8d"]],
  origin: [
    ["https://origin.example", "https://origin.example/v2"],
    ["https://origin.example", { binding: "API" }],
  ],
  forward_key: [["client", "charge", RETRY]],
};
// feature: queues ends

// feature: claims begins
const CLAIMS: Cases = {
  ...SHARED,
  name: [["billing", "orders"]],
  token: [["BILLING", ["OTHER", "BILLING"]]],
  // A claim has no response in which an origin could say anything.
  "publish.data": [["response", "none"]], // feature: outbox
  unknown: [["hold", "retry"]],
  lock: [["60s", "30s"]],
  max_lock: [["15m", "10m"]],
  retention: [["7d", "8d"]],
};
// feature: claims ends

/** What a table needs beside one of its members. */
const MEMBERS: Table = {
  publish: [{ to: "line", type: "paid" }],
  verdicts: [{ at: "/error", is: "refused" }], // feature: verdicts
  replay_set: [{ at: "/result/x" }], // feature: json-rpc
  give_up: {},
  new_keys: "NEW_KEYS",
  cors: { origins: ["https://shop.example.com"] },
};

function settingsWith(name: string, value: unknown, and: Table = {}): Table {
  const [table = "", member] = name.split(".");
  if (member === undefined) return value === null ? and : { ...and, [table]: value };
  const base = and[table] ?? MEMBERS[table] ?? {};
  const one: unknown = value === null ? {} : { [member]: value };
  const merged = Array.isArray(base)
    ? base.map((entry: object) => Object.assign({}, entry, one))
    : Object.assign({}, base, one);
  return { ...and, [table]: merged };
}

const KINDS: readonly (readonly [string, readonly SettingText[], Cases, (settings: Table) => Promise<Seen>])[] = [
  [
    "a route",
    settingTexts().filter(({ place }) => place !== "not in routes"),
    ROUTES,
    (settings) => tryRequest(settings, {}),
  ],
  [
    "the gateway",
    settingTexts().filter(({ place }) => place === "not in routes"),
    GATEWAY,
    (settings) => tryRequest({}, settings),
  ],
  [
    "the operator API",
    entryTexts(operatorApiVariable),
    OPERATOR_API,
    (settings) => tryRequest({}, {}, undefined, settings),
  ],
  ["a queue", entryTexts(queuesVariable), QUEUES, tryMessage], // feature: queues
  ["a group", entryTexts(consumersVariable), CLAIMS, tryClaim], // feature: claims
];

describe.each(KINDS)("a change of a setting of %s", (kind, texts, cases, attempt) => {
  it("has a case for each setting", () => {
    expect(Object.keys(cases).toSorted()).toEqual(texts.map(({ name }) => name).toSorted());
  });

  it.each(texts.map((text) => [text.name, text] as const))("%s does what its last column says", async (name, text) => {
    const isOfRoutes = settingTexts().some(({ name: other, onChange }) => other === name && onChange === text.onChange);
    const effects = new Set<Effect>();
    for (const [before, after, and] of cases[name] ?? []) {
      const [one, other] = [
        await attempt(settingsWith(name, before, and)),
        await attempt(settingsWith(name, after, and)),
      ];
      for (const effect of [...seenEffects(one, other), ...seenEffects(other, one)]) effects.add(effect);
    }
    // What a queue or a group inherits is described for routes, and may do less there.
    const isInherited = isOfRoutes && kind !== "a route";
    const declared = said(text).filter((effect) => !isInherited || effects.has(effect));
    expect([...effects].toSorted()).toEqual(declared.toSorted());
  });
});

describe("what a change of the host needs, so that older keys are found", () => {
  const [url, binding] = ["https://origin.example", { binding: "API" }];
  const auth = ["header:authorization"];
  it.each<[string, Table, Table, Table]>([
    ["from a URL to a binding", { origin: url }, { origin: binding, previous_scope: [[...auth, "any-host"]] }, {}],
    ["from a binding to a URL", { origin: binding }, { origin: url, previous_scope: [[...auth, "host"]] }, {}],
    [
      "from nobody's keys",
      { origin: url, scope: ["none"] },
      { origin: binding, scope: ["none"], previous_scope: [["any-host"]] },
      {},
    ],
    [
      "with another scope",
      { origin: binding },
      { origin: binding, scope: ["cookie:session"], previous_scope: [auth] },
      {},
    ],
    [
      "to a trusted proxy",
      { origin: binding },
      { origin: binding, previous_scope: [[...auth, "host"]] },
      { trust_forwarded: true },
    ],
  ])("%s", async (_what, before, after, trust) => {
    const [one, other] = [await tryRequest(before, {}), await tryRequest(after, trust)];
    expect(seenEffects(one, other)).not.toContain("names other records");
    expect(other.ids.length).toBeGreaterThan(1);
  });
});

// feature: queues begins
it("a message that comes again after its secret has changed is the same one, and its next attempt has the new value", async () => {
  const headers = { authorization: "secret:ORDERS_AUTH" };
  const [one, other] = [await tryMessage({ headers }, "old"), await tryMessage({ headers }, "new")];
  expect(seenEffects(one, other)).toEqual(["other headers"]);
  const authorization = ["authorization", "new"];
  expect(other.call?.headers).toContainEqual(authorization);
  expect(one.call?.headers).not.toContainEqual(authorization);
});
// feature: queues ends

it("spellings of a proxy's host are one host", async () => {
  const auth = { scope: ["header:authorization", "host"] };
  const tries = [];
  for (const spelling of [
    "shop.example.com",
    "SHOP.example.com",
    "shop.example.com:443",
    "shop.example.com.",
    "shop.example.com.:443",
  ]) {
    tries.push(await tryRequest(auth, { trust_forwarded: true }, spelling));
  }
  expect(new Set(tries.map(({ ids }) => ids.join())).size).toBe(1);
  const others = [
    await tryRequest(auth, { trust_forwarded: true }, "other.example.com"),
    await tryRequest(auth, { trust_forwarded: true }, "shop.example.com:8443"),
  ];
  expect(new Set([...tries, ...others].map(({ ids }) => ids.join())).size).toBe(3);
});

// feature: identities begins
describe("an identity", () => {
  const jwt = { issuer: "https://login.example", audience: "a", jwks: "https://login.example/keys" };
  const ask = { path: "/v1/me", pointer: "/id" };
  const signature = { trust: ["https://platform.example/*"] };
  const CHANGES: Readonly<Record<string, readonly [Table, Table]>> = {
    jwt: [{ jwt }, { jwt }],
    "jwt.issuer": [{ jwt }, { jwt: { ...jwt, issuer: "https://other.example" } }],
    "jwt.audience": [{ jwt }, { jwt: { ...jwt, audience: "b" } }],
    "jwt.claim": [{ jwt }, { jwt: { ...jwt, claim: "email" } }],
    "jwt.jwks": [{ jwt }, { jwt: { ...jwt, jwks: "https://login.example/others" } }],
    "jwt.algorithms": [{ jwt }, { jwt: { ...jwt, algorithms: ["ES256"] } }],
    "jwt.clock_tolerance": [{ jwt }, { jwt: { ...jwt, clock_tolerance: "1m" } }],
    ask: [{ ask }, { ask }],
    "ask.path": [{ ask }, { ask: { ...ask, path: "/v2/me" } }],
    "ask.pointer": [{ ask }, { ask: { ...ask, pointer: "/account" } }],
    "ask.cache": [{ ask }, { ask: { ...ask, cache: "2m" } }],
    "ask.timeout": [{ ask }, { ask: { ...ask, timeout: "2s" } }],
    signature: [{ signature }, { signature }],
    "signature.agent": [{ signature }, { signature: { ...signature, agent: ["ucp-agent"] } }],
    "signature.trust": [{ signature }, { signature: { trust: ["https://other.example/*"] } }],
    "signature.freshness": [{ signature }, { signature: { ...signature, freshness: "required" } }],
    credential: [{ jwt }, { jwt, credential: ["cookie:session"] }],
    anonymous: [{ jwt }, { jwt, anonymous: "allow" }],
  };
  const rootsOf = (user: Table): object => {
    const env = { IDENTITIES: { user }, IDEMPOTENCY: { origin: "https://origin.example", scope: ["identity:user"] } };
    const [identity] = readingOf({ ...env, ROUTES: [{ path: "/v1/*" }] }).config.identities;
    return identity === undefined ? {} : identityRoots(identity);
  };

  it.each(entryTexts(identitiesVariable).map((text) => [text.name, text] as const))(
    "%s names callers as its last column says",
    (name, text) => {
      const change = CHANGES[name];
      if (change === undefined) throw new Error(`${name} has no case`);
      const [before, after] = change.map(rootsOf);
      const isRenaming = JSON.stringify(before) !== JSON.stringify(after);
      expect(said(text)).toEqual(isRenaming ? ["names other records"] : []);
    },
  );
});
// feature: identities ends

it("settings of destinations, operators and access name no record, and say nothing of one", () => {
  const texts = [
    destinationsVariable, // feature: outbox
    operatorsVariable,
    accessVariable,
  ].flatMap(entryTexts);
  expect(texts.filter((text) => said(text).length > 0).map(({ name }) => name)).toEqual([]);
});
