// The platform's own traces say what an exchange was: the span of its request has the route, the outcome, the attempt, the key's hash and the
// shard, as the log has them.

import { afterAll, beforeAll, expect, it } from "vitest";
import * as v from "valibot";
import { keyHash } from "../../../../src/kernel/request/record-name.ts";
import { workerBeside } from "../../../support/beside.ts";
import { type Client, clientOf, removeGateway, until } from "../../../support/e2e/scene.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { freePort } from "../../../support/ports.ts";

const AT_ONCE = ["/held/1", "/held/2", "/held/3", "/held/4", "/held/5"];

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
let tail: string;
beforeAll(async () => {
  origin = await startOrigin();
  const port = await freePort();
  tail = `http://127.0.0.1:${port}/`;
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, scope: ["none"], log: "all" },
      ROUTES: ["/v1/*", ...AT_ONCE].map((path) => ({ path })),
    },
    streamingTails: ["tail"],
    ...(await workerBeside("tail", port)),
  });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

const invocationsSchema = v.array(
  v.object({
    url: v.nullable(v.string()),
    attributes: v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])),
  }),
);

interface Said {
  readonly path: string;
  /** What the gateway has added to the span. */
  readonly own: Readonly<Record<string, unknown>>;
}

/** The spans with something of the gateway's, once there are so many. */
function annotated(prefix: string, count: number): Promise<readonly Said[]> {
  return until(async () => {
    const invocations = v.parse(invocationsSchema, await (await fetch(tail)).json());
    const said = invocations.flatMap(({ url, attributes }) => {
      const path = url === null ? "" : new URL(url).pathname;
      const own = Object.entries(attributes).filter(([name]) => name.startsWith("onceway."));
      return own.length === 0 || !path.startsWith(prefix) ? [] : [{ path, own: Object.fromEntries(own) }];
    });
    return said.length < count ? null : said;
  }, `${count} spans of ${prefix}`);
}

it("each exchange is on the span of its request, and nothing else is", async () => {
  const key = freshKey();
  const headers: [string, string][] = [["Onceway-Report", '{"outcome":"faked","attempt":9,"shard":"faked"}']];
  const message = { path: "/v1/payments?secret=1", key, behave: { status: 201, headers, body: "paid" } };
  const answers = [];
  for (let time = 0; time < 3; time += 1) answers.push(await client.send(message));
  for (const answer of answers) {
    expect([answer.status, answer.body.toString()]).toEqual([201, "paid"]);
    expect(answer.headers.map(([name]) => name.toLowerCase())).not.toContain("onceway-report");
  }
  await client.send({ path: "/v1/payments", headers: [["Idempotency-Key", ""]] });
  await client.send({ path: "/v2/open", key: freshKey() });
  const spans = await annotated("/v", 4);
  const ofKey = { "onceway.route": "/v1/*", "onceway.key_hash": await keyHash(key) };
  const shard = "shard-0-of-1";
  expect(spans.map(({ own }) => own)).toEqual([
    { ...ofKey, "onceway.outcome": "first", "onceway.attempt": 1, "onceway.shard": shard },
    { ...ofKey, "onceway.outcome": "replay", "onceway.attempt": 1, "onceway.shard": shard },
    { ...ofKey, "onceway.outcome": "replay", "onceway.shard": "worker" },
    { "onceway.route": "/v1/*", "onceway.outcome": "key-invalid", "onceway.shard": "worker" },
  ]);
});

it("exchanges that run at the same time in one object are each on their own request's span", async () => {
  const keys = new Map(AT_ONCE.map((path) => [path, freshKey()]));
  const sent = AT_ONCE.map((path) => client.send({ path, key: keys.get(path) ?? "", behave: { hold: true } }));
  for (const key of keys.values()) await origin.arrived(key);
  for (const key of [...keys.values()].toReversed()) await origin.release(key);
  await Promise.all(sent);
  const spans = await annotated("/held/", AT_ONCE.length);
  expect(new Map(spans.map(({ path, own }) => [path, own["onceway.route"]]))).toEqual(
    new Map(AT_ONCE.map((path) => [path, path])),
  );
  expect(new Set(spans.map(({ own }) => own["onceway.key_hash"])).size).toBe(AT_ONCE.length);
});
