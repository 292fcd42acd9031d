// Keys that are given up during a change of the scope or of the number of shards, with deployments of both side by side: after the 204 none of them sends
// a request with such a key.

import { expect, it } from "vitest";
import { type Deployment, Deployments } from "../../../support/integration/deployments.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const CREDENTIAL = ["header:authorization"];
const TENANT = ["header:x-tenant"];
const CALLER = { authorization: "Bearer a", "x-tenant": "t" };
const GIVEN_UP = { status: 409, code: "key-abandoned" };

async function giveUp(deployment: Deployment, key: string): Promise<number> {
  const address = `/.well-known/idempotency/requests/act?key=${key}`;
  return (await deployment.fetch(address, { method: "DELETE", headers: CALLER })).status;
}

function deployed(all: Deployments): readonly [old: Deployment, next: Deployment] {
  return [all.deploy(1, [], { scope: CREDENTIAL }), all.deploy(1, [], { scope: TENANT, previous_scope: [CREDENTIAL] })];
}

it("a key that nobody knows is given up for the older scope too", async () => {
  const all = new Deployments();
  const [old, next] = deployed(all);
  const key = crypto.randomUUID();
  expect(await giveUp(next, key)).toBe(204);
  expect(await old.send(key, "{}", CALLER)).toMatchObject(GIVEN_UP);
  expect(await next.send(key, "{}", CALLER)).toMatchObject(GIVEN_UP);
  expect(all.calls).toEqual([]);
});

it("a key that was refused is given up under each name, whichever deployment is asked", async () => {
  const all = new Deployments();
  all.origin = () => new Response("not now", { status: 503 });
  const [old, next] = deployed(all);
  for (const [first, then] of [
    [old, next],
    [next, old],
  ] as const) {
    const key = crypto.randomUUID();
    await first.send(key, "{}", CALLER);
    const before = all.calls.length;
    expect(await giveUp(then, key)).toBe(204);
    expect(await old.send(key, "{}", CALLER)).toMatchObject(GIVEN_UP);
    expect(await next.send(key, "{}", CALLER)).toMatchObject(GIVEN_UP);
    expect(all.calls).toHaveLength(before);
  }
});

// feature: previous-shards begins
it("a key of an older layout that is open is found there, and given up where its requests begin", async () => {
  const all = new Deployments();
  const [old, next] = [all.deploy(1), all.deploy(2, [1])];
  const [known, fresh] = [crypto.randomUUID(), crypto.randomUUID()];
  await old.send(known, "{}", CALLER);
  expect([await giveUp(next, known), await giveUp(next, fresh)]).toEqual([409, 204]);
  for (const deployment of [old, next]) expect(await deployment.send(fresh, "{}", CALLER)).toMatchObject(GIVEN_UP);
  expect(all.calls).toHaveLength(1);
});

it("in an object that is closed meanwhile, where no record can be added", async () => {
  const all = new Deployments();
  all.origin = () => new Response("not now", { status: 503 });
  const [old] = deployed(all);
  const next = all.deploy(2, [1], { scope: TENANT, previous_scope: [CREDENTIAL] });
  const key = crypto.randomUUID();
  await old.send(key, "{}", CALLER);
  await all.close(1, 2);
  expect(await giveUp(next, key)).toBe(204);
  expect(await next.send(key, "{}", CALLER)).toMatchObject(GIVEN_UP);
  expect(all.calls).toHaveLength(1);
});

it("a look closes no object of an older layout that has one for each key", async () => {
  const all = new Deployments();
  const old = all.deployed({ shards: "per-key" });
  const next = all.deployed({ shards: all.layout(2), previous_shards: ["per-key"] });
  const key = crypto.randomUUID();
  const look = () => next.fetch(`/.well-known/idempotency/requests/act?key=${key}`, { headers: CALLER });
  expect((await look()).status).toBe(404);
  expect(await old.send(key, "{}", CALLER)).toMatchObject({ status: 201 });
  // A closed object would have led it to the next one.
  expect(old.objectCalls()).toHaveLength(1);
  expect(await (await look()).json()).toMatchObject({ state: "completed" });
  const other = crypto.randomUUID();
  await next.send(other, "{}", CALLER);
  const begun = await next.fetch(`/.well-known/idempotency/requests/act?key=${other}`, { headers: CALLER });
  expect(await begun.json()).toMatchObject({ state: "completed" });
});
// feature: previous-shards ends
