// Accepted requests from the client's first request to its last look: the whole Worker, real objects, and changes of the
// configuration in between.

import { describe, expect, it } from "vitest";
import { withoutInstance } from "../../../support/instance.ts";
import { type Deployment, Deployments } from "../../../support/integration/deployments.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

const ASYNC = { async: "prefer", unknown: "retry" };
const fresh = (): string => crypto.randomUUID();

type PostInit = Pick<RequestInit, "body" | "method"> & { readonly headers?: Readonly<Record<string, string>> };

interface Posted {
  readonly status: number;
  readonly monitor: string;
}

/** Sends a request that may be accepted; its caller is `a`. */
async function post(at: Deployment, key: string, init: PostInit = {}, path = "/act"): Promise<Posted> {
  const { headers, ...others } = init;
  const own = { "Idempotency-Key": key, Authorization: "Bearer a", Prefer: "respond-async" };
  const response = await at.fetch(path, { method: "POST", body: "{}", ...others, headers: { ...own, ...headers } });
  await response.body?.cancel();
  return { status: response.status, monitor: response.headers.get("Location") ?? "" };
}

async function look(at: Deployment, monitor: string, method = "GET", caller = "a", headers = {}) {
  const response = await at.fetch(monitor, { method, headers: { Authorization: `Bearer ${caller}`, ...headers } });
  return { status: response.status, text: await response.text(), headers: Object.fromEntries(response.headers) };
}

/** An origin that answers once the test lets it. */
function holding(all: Deployments): () => void {
  const held = heldAnswer(() => new Response("done", { status: 201, headers: { "Cache-Control": "max-age=60" } }));
  all.origin = (number) => held.origin(new Request("http://origin.example"), number);
  return held.release;
}

describe("the monitor of an accepted request", () => {
  it.each([
    ["a small body", "{}"],
    ["a large body", "x".repeat(100_000)],
    ["a body that is digested while it arrives", "x".repeat(2_000_000)],
  ])("says what became of one with %s, to its caller alone", async (_, body) => {
    const all = new Deployments();
    const release = holding(all);
    const at = all.deploy(1, [], ASYNC);
    const key = `"${fresh()},&#?%41"`;
    const { status, monitor } = await post(at, key, { body });
    expect(status).toBe(202);
    expect(await post(at, key, { body, headers: { Prefer: "return=minimal" } })).toEqual({ status, monitor });
    expect(await look(at, monitor)).toMatchObject({ status: 202, headers: { "idempotency-status": "accepted" } });
    release();
    const done = await look(at, monitor, "GET", "a", { Prefer: "wait=10" });
    expect(done).toMatchObject({
      status: 201,
      text: "done",
      headers: { "idempotent-replayed": "true", "cache-control": "no-store", "idempotency-key": key },
    });
    expect(await look(at, monitor, "HEAD")).toMatchObject({ status: 201, text: "" });
    const others = [
      await look(at, monitor, "GET", "b"),
      await look(
        at,
        monitor.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
      ),
      await look(at, monitor.replace(/&print=.*/, "")),
      await look(at, monitor, "DELETE", "b"),
    ];
    const reported = others.map((other) => ({ ...other, text: withoutInstance(other.text) }));
    for (const one of reported) expect(one).toEqual(reported[0]);
    expect(others[0]).toMatchObject({ status: 404, headers: { "idempotency-status": "monitor-not-found" } });
    expect(all.calls).toHaveLength(1);
  });

  it("is the same whatever the path and the method of the request", async () => {
    const all = new Deployments();
    const at = all.deploy(1, [], { ...ASYNC, methods: ["POST", "PUT"] });
    for (const path of ["/act/a%2Fb;v=1", "/act//7/", "/%E2%82%AC/é", "/act/%2561"]) {
      const { monitor } = await post(at, fresh(), { method: "PUT" }, `${path}?x=1`);
      expect(monitor).toContain("&method=PUT&print=");
      expect(await look(at, monitor, "GET", "a", { Prefer: "wait=10" })).toMatchObject({ status: 201 });
      expect((await look(at, monitor.replace("&method=PUT", ""))).status).toBe(201);
    }
  });

  it("knows nothing of a request that was not accepted and has another content", async () => {
    const all = new Deployments();
    const at = all.deploy(1, [], ASYNC);
    const key = fresh();
    const { monitor } = await post(at, fresh());
    expect(await post(at, key, { headers: { Prefer: "wait=5" } })).toMatchObject({ status: 201 });
    const [, fingerprintPrefix] = monitor.split("&print=");
    const address = `/.well-known/idempotency/requests/act?key=${key}`;
    // The same content: a retry would get the same.
    expect((await look(at, `${address}&print=${fingerprintPrefix}`)).status).toBe(201);
    expect((await look(at, `${address}&print=${"0".repeat(32)}`)).status).toBe(404);
  });

  it("is never given for a body that is larger than a stored one may be, although other requests may have it", async () => {
    const all = new Deployments();
    const settings = { ...ASYNC, fingerprint: { body: "none" }, max_request_body: "1kB" };
    const at = all.deploy(1, [], settings);
    const body = "x".repeat(1001);
    const chunked = (): ReadableStream => new Response(body).body ?? new ReadableStream();
    const accepted = await post(at, fresh(), { body: body.slice(1) });
    expect(accepted.status).toBe(202);
    for (const sent of [body, chunked(), "x".repeat(2_000_000)]) {
      expect((await post(at, fresh(), { body: sent })).status).toBe(413);
    }
    for (const sent of [body, chunked()]) {
      expect((await post(at, fresh(), { body: sent, headers: { Prefer: "wait=5" } })).status).toBe(201);
    }
  });

  it("cancels it as long as nothing is in flight", async () => {
    const all = new Deployments();
    const at = all.deploy(1, [], ASYNC);
    all.origin = () => new Response("busy", { status: 503 });
    const { monitor } = await post(at, fresh());
    await eventually(async () =>
      expect(await look(at, monitor)).toMatchObject({ text: expect.stringMatching(/waiting/) }),
    );
    expect((await look(at, monitor, "DELETE")).status).toBe(204);
    // The key is free again.
    expect((await look(at, monitor)).status).toBe(404);
    const release = holding(all);
    const running = await post(at, fresh());
    expect(await look(at, running.monitor, "DELETE")).toMatchObject({ status: 409 });
    release();
    expect(await look(at, running.monitor, "GET", "a", { Prefer: "wait=10" })).toMatchObject({ status: 201 });
  });
});

describe("a monitor, when the configuration changes", () => {
  // feature: previous-shards begins
  it("finds a record of a previous layout, and leaves it there", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1, [], ASYNC), all.deploy(2, [1], ASYNC)];
    const release = holding(all);
    const key = fresh();
    const { monitor } = await post(old, key);
    expect((await look(next, monitor)).status).toBe(202);
    release();
    expect(await look(next, monitor, "GET", "a", { Prefer: "wait=10" })).toMatchObject({ status: 201, text: "done" });
    expect(await all.records(2, key)).toBe(0);
  });

  it("finds one of a newer layout, which an older deployment hears of from the closed object", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1, [], ASYNC), all.deploy(2, [1], ASYNC)];
    const { monitor } = await post(next, fresh());
    expect(await look(old, monitor, "GET", "a", { Prefer: "wait=10" })).toMatchObject({ status: 201 });
    expect((await look(old, monitor, "GET", "b")).status).toBe(404);
  });
  // feature: previous-shards ends

  it("finds one of an older scope, and one of a newer scope", async () => {
    const all = new Deployments();
    const [before, after] = [["header:authorization"], ["header:authorization", "header:x-tenant"]];
    const old = all.deploy(1, [], { ...ASYNC, scope: before });
    const next = all.deploy(1, [], { ...ASYNC, scope: after, previous_scope: [before] });
    const tenant = { "X-Tenant": "t" };
    const first = await post(old, fresh(), { headers: tenant });
    expect(await look(next, first.monitor, "GET", "a", { ...tenant, Prefer: "wait=10" })).toMatchObject({
      status: 201,
    });
    const second = await post(next, fresh(), { headers: tenant });
    expect(await look(old, second.monitor, "GET", "a", { ...tenant, Prefer: "wait=10" })).toMatchObject({
      status: 201,
    });
    // In the newer scope, tenants are told apart.
    expect((await look(next, second.monitor, "GET", "a", { "X-Tenant": "u" })).status).toBe(404);
  });

  it("is answered by the origin where no route accepts requests any more", async () => {
    const all = new Deployments();
    const { monitor } = await post(all.deploy(1, [], ASYNC), fresh());
    all.origin = () => new Response("the origin's own", { status: 404 });
    const later = all.deploy(1, [], {
      look_up: false, // feature: look-up
    });
    expect(await look(later, monitor)).toMatchObject({ status: 404, text: "the origin's own" });
  });
});
