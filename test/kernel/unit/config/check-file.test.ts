import { readFileSync } from "node:fs";

import { parse } from "smol-toml";
import * as v from "valibot";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { nameProblems, nameWarnings } from "../../../../src/cli/check/names.ts";
import { VARIABLES } from "../../../../src/cli/variables.ts";

const SOUND = `
name = "gateway"
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
`;
const ROUTES = 'vars.ROUTES = [{ path = "/v1/payments" }]\n';
const SHARD = 'durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]\n';

function problems(toml: string): readonly string[] {
  const found = checkWranglerConfig(parse(toml)).flatMap((environment) => environment.problems);
  for (const { message } of found) expect(message).toMatch(/write|unknown setting; did you mean/);
  return found.map(({ path, message }) => `${path}: ${message}`);
}

describe("a file", () => {
  it("without problems has a configuration for each environment", () => {
    const checked = checkWranglerConfig(
      parse(`${SOUND}${ROUTES}[env.staging]\n${SHARD}vars.ROUTES_A = [{ path = "/a" }, { path = "/b" }]\n`),
    );
    expect(checked.map(({ name, config }) => [name, config?.routes.map(({ path }) => path)])).toEqual([
      [null, ["/v1/payments"]],
      ["staging", ["/a", "/b"]],
    ]);
    expect(checked.flatMap(({ notes }) => notes)).toEqual([]);
  });

  it("has every problem of every environment, with its path", () => {
    const found = problems(`${SOUND}vars.ROUTES = [{ path = "/a", lock = "1s" }]
      [env.staging]\n${SHARD}vars.ROUTES = [{ path = "/a" }, { path = "/b", lok = "1h" }]
      [env.test]\n${SHARD}vars.ROUTES = []`);
    expect(found.map((line) => line.split(": ")[0])).toEqual([
      "ROUTES[0].lock",
      "env.staging.ROUTES[1].lok",
      "env.test.ROUTES",
    ]);
  });

  it.each([[undefined], [7], [{ vars: 7, env: 7 }], [{ vars: { ROUTES: 7 }, env: { a: 7 } }]])(
    "may be nonsense: %j",
    (file) => {
      expect(checkWranglerConfig(file).flatMap((environment) => environment.problems).length).toBeGreaterThan(0);
    },
  );
});

describe("an environment", () => {
  it("inherits no routes", () => {
    expect(problems(`${SOUND}${ROUTES}[env.staging]\n${SHARD}`)).toEqual([
      "env.staging.ROUTES: environments do not inherit variables, so this one has no routes: " +
        'write [[env.staging.vars.ROUTES]] with path = "/v1/payments"',
    ]);
  });

  it("inherits no defaults", () => {
    const file = `${SOUND}${ROUTES}vars.IDEMPOTENCY = { shards = 8 }\n[env.staging]\n${SHARD}${ROUTES}`;
    expect(problems(file)).toEqual([
      "env.staging.IDEMPOTENCY: environments do not inherit variables, so this one runs on the built-in defaults: " +
        "write [env.staging.vars.IDEMPOTENCY], and leave it empty to keep the built-in defaults",
    ]);
    expect(problems(`${file}vars.IDEMPOTENCY = {}\n`)).toEqual([]);
  });

  it("inherits no bindings", () => {
    const api = 'services = [{ binding = "API", service = "api" }]\n';
    const routes = 'vars.ROUTES = [{ path = "/a", origin = { binding = "API" } }]\n';
    expect(problems(`${SOUND}${api}${routes}[env.staging]\n${routes}`).map((line) => line.split(":")[0])).toEqual([
      "env.staging.ROUTES[0].origin.binding",
      "env.staging.durable_objects.bindings",
    ]);
    expect(problems(`${SOUND}${api}${routes}[env.staging]\n${SHARD}${api}${routes}`)).toEqual([]);
  });

  it("inherits no bucket and no data set, which it may go without", () => {
    const placed = `${ROUTES}vars.IDEMPOTENCY = { location_hint = "weur" }\n`;
    const named = (body: string, metrics: string) =>
      `r2_buckets = [{ binding = "${body}" }]\nanalytics_engine_datasets = [{ binding = "${metrics}" }]\n${placed}`;
    const warned = (staging: string) =>
      checkWranglerConfig(parse(`${SOUND}${named("BODIES", "METRICS")}[env.staging]\n${SHARD}${staging}`)).map(
        ({ warnings }) => warnings.map(({ path }) => path),
      );
    const both = ["env.staging.r2_buckets", "env.staging.analytics_engine_datasets"];
    expect(warned(placed)).toEqual([[], both]);
    expect(warned(named("OTHER", "OTHER"))).toEqual([[], both]);
    expect(warned(named("BODIES", "METRICS"))).toEqual([[], []]);
  });

  it("inherits date, flags and migrations, and may replace them", () => {
    const staging = `[env.staging]\n${SHARD}${ROUTES}`;
    expect(problems(`${SOUND}${ROUTES}${staging}`)).toEqual([]);
    const own = `${staging}compatibility_date = "2026-09-30"\nmigrations = []\ncompatibility_flags = ["request_signal_passthrough"]\n`;
    expect(problems(`${SOUND}${ROUTES}${own}`).map((line) => line.split(":")[0])).toEqual([
      "env.staging.migrations",
      "env.staging.compatibility_date",
      "env.staging.compatibility_flags[0]",
    ]);
  });
});

describe("bindings that an origin may name", () => {
  it.each(["services", "mtls_certificates", "vpc_services", "vpc_networks"])("include %s", (kind) => {
    expect(
      problems(
        `${SOUND}${kind} = [{ binding = "API" }]\nvars.ROUTES = [{ path = "/a", origin = { binding = "API" } }]`,
      ),
    ).toEqual([]);
  });

  it.each(["kv_namespaces", "dispatch_namespaces"])("do not include %s", (kind) => {
    const file = `${SOUND}${kind} = [{ binding = "API" }]\nvars.ROUTES = [{ path = "/a", origin = { binding = "API" } }]`;
    expect(problems(file)).toEqual([
      expect.stringContaining('no service, mTLS certificate or VPC service binding "API"'),
    ]);
  });
});

describe("what else a gateway needs", () => {
  it("is all named at once", () => {
    expect(problems(ROUTES)).toEqual([
      'durable_objects.bindings: there is no binding "KEY_SHARD", so no record can be kept: ' +
        'write [[durable_objects.bindings]] with name = "KEY_SHARD" and class_name = "KeyShard"',
      'migrations: no migration creates "KeyShard" with SQLite storage: ' +
        'write [[migrations]] with tag = "v1" and new_sqlite_classes = ["KeyShard"]',
      "compatibility_date: must be 2026-10-01 or later, because attempts outlive their clients only from then on: " +
        'write compatibility_date = "2026-10-01"',
      "IDEMPOTENCY.origin: is missing, and no route of a zone leads to this Worker, so requests have nowhere to go: " +
        'write origin = "https://api.example.com" in [vars.IDEMPOTENCY], or, in front of a zone\'s own server, ' +
        'routes = [{ pattern = "api.example.com/*", zone_name = "example.com" }] at the top',
    ]);
  });

  it("is the right class", () => {
    expect(problems(`${SOUND.replace('class_name = "KeyShard"', 'class_name = "Other"')}${ROUTES}`)).toEqual([
      expect.stringContaining('"KEY_SHARD" must be bound to the class "KeyShard"'),
    ]);
  });

  it.each([
    [
      '{ tag = "v1", new_sqlite_classes = ["A"] }, { tag = "v2", renamed_classes = [{ from = "A", to = "KeyShard" }] }',
      true,
    ],
    ['{ tag = "v1", transferred_classes = [{ from = "A", from_script = "b", to = "KeyShard" }] }', true],
    ['{ tag = "v1", new_sqlite_classes = ["KeyShard"] }, { tag = "v2", deleted_classes = ["KeyShard"] }', false],
    [
      '{ tag = "v1", new_sqlite_classes = ["KeyShard"] }, { tag = "v2", renamed_classes = [{ from = "KeyShard", to = "A" }] }',
      false,
    ],
    ['{ tag = "v1", new_classes = ["A"] }, { tag = "v2", renamed_classes = [{ from = "A", to = "KeyShard" }] }', false],
    ['{ tag = "v1", new_sqlite_classes = ["A"] }', false],
  ])("is what all migrations leave: %s", (migrations, isThere) => {
    const found = problems(`${SOUND.replace(/migrations = .*/, `migrations = [${migrations}]`)}${ROUTES}`);
    const expected =
      'no migration creates "KeyShard" with SQLite storage and leaves it: write [[migrations]] with a new tag';
    expect(found).toEqual(isThere ? [] : [expect.stringContaining(expected)]);
  });

  it("is SQLite storage, not the older kind", () => {
    expect(problems(`${SOUND.replace("new_sqlite_classes", "new_classes")}${ROUTES}`)).toEqual([
      expect.stringMatching(/^migrations\[0\]\.new_classes: creates "KeyShard" without SQLite/),
    ]);
    const declared = SOUND.replace(
      /migrations.*/,
      'exports.KeyShard = { type = "durable-object", storage = "sqlite" }',
    );
    expect(problems(`${declared}${ROUTES}`)).toEqual([]);
  });

  it.each([
    ['"2026-09-30"', 1],
    ['"latest"', 1],
    ["7", 1],
    ['"2026-10-01"', 0],
    ["2026-10-02", 0],
    ['"2027-01-01"', 0],
  ])("is a compatibility date from 2026-10-01 on: %s", (date, count) => {
    expect(problems(`${SOUND.replace('"2026-10-01"', date)}${ROUTES}`)).toHaveLength(count);
  });

  it("is the absence of request_signal_passthrough", () => {
    const file = SOUND.replace('["enable_request_signal"]', '["enable_request_signal", "request_signal_passthrough"]');
    expect(problems(`${file}${ROUTES}`)).toEqual([
      'compatibility_flags[1]: "request_signal_passthrough" aborts the origin call when the client leaves: write the flags without it',
    ]);
  });
});

const fill = (variable: string, bytes: number) => `${variable} = [{ path = "/${"a".repeat(bytes)}" }]\n`;

describe("a variable", () => {
  // [{"path":"/"}] around the name.
  const frame = 14;

  it("holds 5,120 bytes of JSON", () => {
    expect(problems(`${SOUND}${fill("vars.ROUTES", 5_120 - frame)}`)).toEqual([]);
  });

  it("holds not one byte more", () => {
    expect(problems(`${SOUND}${fill("vars.ROUTES", 5_121 - frame)}`)).toEqual([
      "ROUTES: is 5121 bytes as JSON, more than the platform's 5120: write some of its routes as [[vars.ROUTES_2]]",
    ]);
  });

  it.each(VARIABLES.filter(({ form }) => form === "list"))("$name may go on in another one", ({ name, entries }) => {
    const found = problems(`${SOUND}${ROUTES}${fill(`vars.${name}`, 6_000)}`);
    expect(found.filter((one) => one.includes("more than"))).toEqual([
      expect.stringMatching(`^${name}: .*: write some of its ${entries} as \\[\\[vars.${name}_2\\]\\]$`),
    ]);
  });

  it("is measured in bytes, not in characters", () => {
    expect(problems(`${SOUND}vars.ROUTES = [{ path = "/${"é".repeat(2_600)}" }]`)).toHaveLength(1);
  });
});

it.each(VARIABLES)("a variable that is almost $name is named", ({ name, form }) => {
  const value = form === "list" ? [{}] : {};
  expect(nameProblems({ vars: { [name.slice(1)]: value } }).map(({ message }) => message)).toEqual([
    `is a variable that the gateway does not read; did you mean "${name}"?`,
  ]);
});

it("takes no name that Wrangler knows for another one, whatever it holds", () => {
  const schema: unknown = JSON.parse(readFileSync("node_modules/wrangler/config-schema.json", "utf8"));
  const properties = v.object({ properties: v.record(v.string(), v.unknown()) });
  const { definitions } = v.parse(v.object({ definitions: v.object({ RawConfig: properties }) }), schema);
  const names = Object.keys(definitions.RawConfig.properties);
  expect(names).toContain("durable_objects");
  for (const name of names) {
    for (const value of [{}, [], "text"]) {
      expect([name, ...nameProblems({ [name]: value }), ...nameWarnings({ [name]: value })]).toEqual([name]);
    }
  }
});
