import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { readSecrets } from "../../../src/serve/secrets.ts";
import { selfHosting, type SelfHosting } from "../../../src/serve/self-hosting.ts";

const BASE = `
main = "src/worker.ts"
compatibility_date = 2026-10-01
compatibility_flags = ["enable_request_signal"]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
`;

function hosted(text: string, env: string | null = null): SelfHosting {
  const toml = parse(BASE + text);
  const checked = checkWranglerConfig(toml).find(({ name }) => name === env);
  if (checked === undefined || checked.config === null) throw new Error(JSON.stringify(checked));
  return selfHosting("/etc/onceway/wrangler.toml", toml, { ...checked, config: checked.config });
}

const ORIGIN = `vars.IDEMPOTENCY.origin = "http://127.0.0.1:3000"\n`;
/** In front of a zone's own server. */
const ZONE = 'routes = ["api.example.com/*"]\n';
const ROUTE = `[[vars.ROUTES]]\npath = "/v1/pay"\n`;

describe("a wrangler.toml off Cloudflare", () => {
  it("yields what workerd needs", () => {
    expect(hosted(`${ORIGIN}secrets.required = ["ADMIN_TOKEN"]\n${ROUTE}`)).toEqual({
      main: "/etc/onceway/src/worker.ts",
      compatibility: { date: "2026-10-01", flags: ["enable_request_signal"] },
      vars: { IDEMPOTENCY: { origin: "http://127.0.0.1:3000" }, ROUTES: [{ path: "/v1/pay" }] },
      objects: [{ name: "KEY_SHARD", className: "KeyShard" }],
      requiredSecrets: ["ADMIN_TOKEN"],
      problems: [],
      warnings: [],
    });
  });

  it("names an origin that is wrong for every route once", () => {
    expect(hosted(`${ZONE}${ROUTE}[[vars.ROUTES]]\npath = "/v1/orders"\n`).problems.map(({ path }) => path)).toEqual([
      "IDEMPOTENCY.origin",
    ]);
  });

  it("calls no service binding, and keeps no records elsewhere", () => {
    const service = `services = [{ binding = "API", service = "api" }]\n`;
    const { problems } = hosted(`${service}${ORIGIN}${ROUTE}origin.binding = "API"\njurisdiction = "eu"\n`);
    expect(problems.map(({ path }) => path)).toEqual(["ROUTES[0].origin", "ROUTES[0].jurisdiction"]);
  });

  it("ignores a client's own claim about its address", () => {
    const { problems } = hosted(`${ORIGIN}${ROUTE}scope = ["header:x-tenant", "ip"]\n`);
    expect(problems).toMatchObject([{ path: "ROUTES[0].scope", message: expect.stringContaining("x-real-ip") }]);
  });

  // feature: outbox begins
  it("can send events to webhooks, and to no queue", () => {
    const hook = `[[vars.DESTINATIONS]]\nname = "hook"\nurl = "https://billing.example/"\nsecret = "HOOK"\n`;
    const queue = `[[vars.DESTINATIONS]]\nname = "audit"\nqueue = "AUDIT"\n`;
    const publish = `publish = [{ to = "hook", type = "a" }, { to = "audit", type = "a" }]\n`;
    const producer = `queues.producers = [{ binding = "AUDIT", queue = "audit" }]\n`;
    const { problems } = hosted(`${producer}${ORIGIN}${ROUTE}${publish}${hook}${queue}`);
    expect(problems).toMatchObject([
      { path: "DESTINATIONS", message: expect.stringMatching(/^"audit" is a queue .*write a webhook/) },
    ]);
  });
  // feature: outbox ends

  it("cannot limit new keys", () => {
    const limiter = `ratelimits = [{ name = "NEW_KEYS", namespace_id = "1", simple = { limit = 5, period = 60 } }]\n`;
    const { problems } = hosted(`${limiter}${ORIGIN}${ROUTE}new_keys = "NEW_KEYS"\n`);
    expect(problems).toMatchObject([{ path: "ROUTES[0].new_keys", message: expect.stringContaining("limit_req") }]);
  });

  it("warns of bindings that do not exist here, but not of those that an environment does not inherit", () => {
    const lists = `r2_buckets = [{ binding = "BODIES", bucket_name = "b" }]\nqueues.producers = [{ binding = "Q", queue = "q" }]\n`;
    const text = `${lists}triggers.crons = ["* * * * *"]\n${ZONE}${ORIGIN}${ROUTE}
[env.local]
vars.IDEMPOTENCY = {}
vars.ROUTES = [{ path = "/local" }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
`;
    expect(hosted(text).warnings).toEqual([
      "r2_buckets: BODIES exists only on Cloudflare: responses over max_response_body are passed on but not kept",
      "queues: Q exists only on Cloudflare and is ignored",
      "triggers: exists only on Cloudflare and is ignored",
    ]);
    const local = hosted(text, "local");
    expect(local.warnings).toEqual([]);
    expect(local.vars["ROUTES"]).toEqual([{ path: "/local" }]);
    expect(local.compatibility.date).toBe("2026-10-01");
    expect(local.problems.map(({ path }) => path)).toEqual(["env.local.IDEMPOTENCY.origin"]);
  });
});

describe("secrets", () => {
  const read = (values: Readonly<Record<string, string>>, taken: readonly string[] = []) =>
    readSecrets({ file: null, required: Object.keys(values), environment: values, taken });

  it.each([
    ["IDEMPOTENCY", "{}"],
    ["IDENTITIES", "{}"],
    ["ROUTES_2", "{}"],
    ["QUEUES", "{}"],
    ["KEY_SHARD", "{}"],
    ["ADMIN_TOKEN", ""],
  ])("need a value, and change neither the configuration nor another binding: %s=%s", (name, value) => {
    expect(read({ [name]: value }, ["KEY_SHARD"]).problems.map(({ path }) => path)).toEqual([name]);
  });

  it("are those of the file before those of the environment, and only those that are named", async () => {
    const folder = await mkdtemp(join(tmpdir(), "onceway-secrets-"));
    const file = join(folder, "secrets");
    await writeFile(file, "ONE='of the file'\n");
    const environment = { ONE: "of the environment", TWO: "2", THREE: "3" };
    expect(readSecrets({ file, required: ["ONE", "TWO"], environment, taken: [] })).toEqual({
      values: { ONE: "of the file", TWO: "2" },
      problems: [],
    });
    await rm(folder, { recursive: true });
    expect(readSecrets({ file, required: [], environment, taken: [] }).problems).toMatchObject([{ path: file }]);
  });
});
