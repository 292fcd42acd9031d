import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { describeConfig } from "../../../../src/cli/check/describe.ts";
import type { Queue } from "../../../../src/kernel/config/resolved.ts";
import { blockWith } from "../../../support/docs.ts";
import { configOf, problemsOf } from "../../../kernel/unit/config/support.ts";

type Settings = Readonly<Record<string, unknown>>;

const ORDERS: Settings = { queue: "orders", to: "/internal/orders", dead_letter: { binding: "ORDERS_DEAD" } };
const WORKER: Settings = {
  ORDERS_DEAD: {},
  ORDERS_AUTH: "Bearer s3cret",
  IDEMPOTENCY: { origin: "https://api.example/v2/" },
};

function queueOf(settings: Settings, others: Settings = {}): Queue {
  const [queue] = configOf({ ...WORKER, QUEUES: [{ ...ORDERS, ...settings }], ...others }).queues;
  if (queue === undefined) throw new Error("no queue");
  return queue;
}

function problemsIn(settings: Settings, others: Settings = {}): readonly string[] {
  const found = problemsOf({ ...WORKER, QUEUES: [{ ...ORDERS, ...settings }], ...others });
  return found.map(({ path, message }) => `${path}: ${message}`);
}

describe("a queue", () => {
  it("has defaults of its own, and those of routes that mean the same for messages", () => {
    const { route, done, giveUpAfterMs, url } = queueOf({});
    expect(url).toBe("https://api.example/v2/internal/orders");
    expect(done).toEqual(Array.from({ length: 200 }, (_, at) => 200 + at));
    expect(giveUpAfterMs).toBe(86_400_000);
    expect(route).toMatchObject({
      path: "queue:orders",
      fingerprint: { body: "json" },
      rules: { policy: { unknown: "hold", retentionMs: 7 * 86_400_000, lockMs: 40_000 }, duplicate: "wait" },
      onStoreFailure: "closed",
    });
    expect(route.rules.lists.ambiguous).toContain(500);
  });

  it("inherits what is not for clients from IDEMPOTENCY, and nothing else", () => {
    const IDEMPOTENCY = {
      origin: "https://api.example",
      unknown: "retry",
      lock: "50s",
      shards: 7,
      retention: "30d",
      ambiguous: [502],
      on_store_failure: "open",
      duplicate: "attach",
      fingerprint: { body: "bytes" },
    };
    const { route } = queueOf({}, { IDEMPOTENCY });
    expect(route.layouts.own.shards).toBe(7);
    expect(route.rules.policy).toMatchObject({ unknown: "retry", lockMs: 50_000, retentionMs: 7 * 86_400_000 });
    expect(route).toMatchObject({
      onStoreFailure: "closed",
      fingerprint: { body: "json" },
      rules: { duplicate: "wait" },
    });
    expect(route.rules.lists.ambiguous).toContain(500);
  });

  it("goes to a URL of its own, or to one through a binding", () => {
    expect(queueOf({ to: "https://other.example/in?x=1" })).toMatchObject({
      url: "https://other.example/in?x=1",
      route: { origin: { kind: "url", url: "https://other.example" } },
    });
    expect(queueOf({ origin: { binding: "API" }, to: "/in" }, { API: {} })).toMatchObject({
      url: "https://origin.invalid/in",
      route: { origin: { kind: "binding", binding: "API" } },
    });
    expect(queueOf({ origin: { binding: "API" }, to: "https://internal.example/in" }, { API: {} })).toMatchObject({
      url: "https://internal.example/in",
      route: { origin: { kind: "binding", binding: "API" } },
    });
  });

  it("asks its own host with all of its headers, and another host with those that are listed", () => {
    const unknown = "verify";
    const url = "https://other.example/by-key/{key}";
    expect(queueOf({ unknown, verify: url, to: "https://other.example/in" }).route.verify).toEqual({
      target: url,
      headers: null,
    });
    expect(queueOf({ unknown, verify: { url, headers: [] } }).route.verify).toEqual({ target: url, headers: [] });
  });

  it("needs no route beside it, and may be in any variable that begins with QUEUES", () => {
    const { routes, queues } = configOf({
      ...WORKER,
      QUEUES_A: JSON.stringify([ORDERS]),
      QUEUES_B: [{ ...ORDERS, queue: "refunds" }],
    });
    expect(routes).toEqual([]);
    expect(queues.map(({ name, queue }) => [name, queue])).toEqual([
      ["QUEUES_A[0]", "orders"],
      ["QUEUES_B[0]", "refunds"],
    ]);
  });

  it("gives headers to its messages, with values of secrets by name alone", () => {
    const { callHeaders } = queueOf({ headers: { Authorization: "secret:ORDERS_AUTH", "X-Source": "queue" } });
    expect(callHeaders).toEqual([
      { name: "authorization", value: { kind: "secret", secret: "ORDERS_AUTH" } },
      { name: "x-source", value: { kind: "text", text: "queue" } },
    ]);
  });

  it("is refused without an origin, and twice", () => {
    expect(problemsIn({}, { IDEMPOTENCY: {} })).toEqual([expect.stringContaining("QUEUES[0].to: is a path")]);
    expect(problemsIn({}, { QUEUES_2: [ORDERS] })).toEqual([
      expect.stringContaining("QUEUES_2[0].queue: names the queue"),
    ]);
    expect(problemsIn({}, { QUEUES: "[" })).toEqual([expect.stringContaining("QUEUES: is text that is not JSON")]);
  });

  it("has its promise in the overview", () => {
    const reported = (settings: Settings): string =>
      describeConfig(configOf({ ...WORKER, QUEUES: [{ ...ORDERS, ...settings }] }));
    expect(reported({})).toContain(
      "queue:orders: no second effect: after an unknown outcome, the message waits with its record until an operator decides",
    );
    expect(reported({ unknown: "retry" })).toContain("queue:orders: a second effect is possible");
    expect(reported({ headers: { authorization: "secret:ORDERS_AUTH" } })).not.toContain("s3cret");
  });
});

const FILE = `
name = "gateway"
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
vars.IDEMPOTENCY = { origin = "https://api.example", location_hint = "weur" }
vars.QUEUES = [{ queue = "orders", to = "/in", dead_letter = { binding = "DEAD" }, headers = { authorization = "secret:AUTH" } }]
`;
const CONSUMER = '[[queues.consumers]]\nqueue = "orders"\nmax_retries = 100\ndead_letter_queue = "orders-lost"\n';
const PRODUCER = '[[queues.producers]]\nqueue = "orders-dead"\nbinding = "DEAD"\n';

describe("a file with queues", () => {
  function problemsOfFile(toml: string): readonly string[] {
    const found = checkWranglerConfig(parse(toml)).flatMap(({ problems }) => problems);
    for (const { message } of found) expect(message).toContain("write");
    return found.map(({ path }) => path);
  }

  it("is fine as the page of queues shows it", () => {
    const toml = FILE.split("vars.")[0] ?? "";
    const [checked] = checkWranglerConfig({
      ...parse(toml),
      ...parse(blockWith("src/features/queues/README.md", "[[vars.QUEUES]]")),
    });
    expect(checked).toMatchObject({ problems: [], warnings: [] });
  });

  it("is fine with a consumer and a queue for dead letters; secrets are not in it", () => {
    expect(problemsOfFile(FILE + CONSUMER + PRODUCER)).toEqual([]);
  });

  it.each([
    ["no consumer", FILE + PRODUCER, ["QUEUES[0].queue"]],
    ["no queue for dead letters", FILE + CONSUMER, ["QUEUES[0].dead_letter.binding"]],
    [
      "dead letters to itself",
      FILE + CONSUMER + PRODUCER.replace("orders-dead", "orders"),
      ["QUEUES[0].dead_letter.binding"],
    ],
    [
      "the platform's retries",
      FILE + CONSUMER.replace("max_retries = 100\n", "") + PRODUCER,
      ["queues.consumers[0].max_retries"],
    ],
    ["too few retries", FILE + CONSUMER.replace("100", "10") + PRODUCER, ["queues.consumers[0].max_retries"]],
    [
      "no queue of the platform's own",
      FILE + CONSUMER.replace('dead_letter_queue = "orders-lost"\n', "") + PRODUCER,
      ["queues.consumers[0].dead_letter_queue"],
    ],
    [
      "a queue that leads back",
      FILE + CONSUMER.replace("orders-lost", "orders") + PRODUCER,
      ["queues.consumers[0].dead_letter_queue"],
    ],
    [
      "a consumer without an entry",
      `${FILE}${CONSUMER}${CONSUMER.replace('"orders"', '"other"')}${PRODUCER}`,
      ["queues.consumers[1].queue"],
    ],
  ])("is refused with %s", (_what, toml, paths) => {
    expect(problemsOfFile(toml)).toEqual(paths);
  });

  /** Two queues with a consumer each, and where the dead letters of each go: the gateway's own, and the platform's. */
  function two(letters: readonly [string, string], lost: readonly [string, string]): string {
    const names = ["orders", "later"] as const;
    const entries = names.map(
      (queue, at) => `{ queue = "${queue}", to = "/in", key = ["json:/id"], dead_letter = { binding = "DEAD_${at}" } }`,
    );
    const tables = names.map(
      (queue, at) =>
        CONSUMER.replace('"orders"', `"${queue}"`).replace("orders-lost", lost[at] ?? "") +
        PRODUCER.replace("orders-dead", letters[at] ?? "").replace("DEAD", `DEAD_${at}`),
    );
    return FILE.replace(/vars\.QUEUES = .*\n/, `vars.QUEUES = [${entries.join(", ")}]\n`) + tables.join("");
  }

  it.each<[string, string, readonly string[]]>([
    ["none", two(["later", "last"], ["lost", "lost"]), []],
    [
      "one of the gateway's letters",
      two(["later", "orders"], ["lost", "lost"]),
      ["QUEUES[0].dead_letter.binding", "QUEUES[1].dead_letter.binding"],
    ],
    [
      "one of the platform's",
      two(["dead", "dead"], ["later", "orders"]),
      ["queues.consumers[0].dead_letter_queue", "queues.consumers[1].dead_letter_queue"],
    ],
    [
      "one of both",
      two(["later", "dead"], ["lost", "orders"]),
      ["QUEUES[0].dead_letter.binding", "queues.consumers[1].dead_letter_queue"],
    ],
  ])("is refused for a ring of dead-letter queues: %s", (_what, toml, paths) => {
    expect(problemsOfFile(toml)).toEqual(paths);
  });

  it("says in each environment what that lacks, because environments inherit neither variables nor queues", () => {
    const staging = '[env.staging]\ndurable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]\n';
    const vars =
      'vars.IDEMPOTENCY = { origin = "https://api.example" }\nvars.QUEUES = [{ queue = "orders-staging", to = "/in", dead_letter = { binding = "DEAD" } }]\n';
    expect(problemsOfFile(FILE + CONSUMER + PRODUCER + staging + vars)).toEqual([
      "env.staging.QUEUES[0].queue",
      "env.staging.QUEUES[0].dead_letter.binding",
    ]);
  });

  it("is warned of if messages may be deleted before they are given up", () => {
    const toml = FILE.replace('to = "/in"', 'to = "/in", give_up = { after = "5d" }') + CONSUMER + PRODUCER;
    const warnings = checkWranglerConfig(parse(toml)).flatMap((one) => one.warnings);
    expect(warnings.map(({ path }) => path)).toEqual(["QUEUES[0].key", "QUEUES[0].give_up.after"]);
  });
});
