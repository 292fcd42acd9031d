// Where objects run and how far they are, as clients and operators see it, with real processes. The address that objects ask is this test's own.

import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runOnceway } from "../../../support/command-line.ts";
import { READ_TOKEN, type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { type Metric, parseExposition, sumOf } from "../../../support/exposition.ts";
import { freshKey, headerValue } from "../../../support/http.ts";

const SHARDS = 4;

let traces = 0;
const trace = createServer((_request, response) => {
  traces += 1;
  response.end("fl=1f1\ncolo=IAD\nloc=US\n");
});
let scene: OperatorScene;
beforeAll(async () => {
  trace.listen(0, "127.0.0.1");
  await once(trace, "listening");
  const address = trace.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  scene = await startOperatorScene(
    { shards: SHARDS, location_hint: "first-use" },
    [{ path: "/plain/*" }, ...["/timed/*", "/traced/*", "/counted/*"].map((path) => ({ path, server_timing: true }))],
    undefined,
    { ONCEWAY_PLACE: `http://127.0.0.1:${port}/cdn-cgi/trace` },
  );
});
afterAll(async () => {
  await scene.close();
  trace.close();
});

async function scrape(query = ""): Promise<readonly Metric[]> {
  const { text } = await scene.ask("GET", `/metrics${query}`, { token: READ_TOKEN });
  return parseExposition(text);
}

const HOP = /^origin;dur=\d+, gateway;dur=\d+, hop;dur=\d+(?:, shard;desc="IAD")?$/;

// One after the other: what has been asked before counts.
describe("where an object runs", { shuffle: false }, () => {
  it("a request does not ask where its object runs, and nothing of what the object reports reaches a client", async () => {
    const key = freshKey();
    for (let time = 0; time < 3; time += 1) {
      const answer = await scene.send({ path: "/plain/a", key });
      const names = answer.headers.map(([name]) => name.toLowerCase());
      expect(names).not.toContain("onceway-report");
      expect(names).not.toContain("server-timing");
    }
    expect(traces).toBe(0);
  });

  it("with server_timing each answer of a shard says the way to it, and where it runs once that is known", async () => {
    const key = freshKey();
    const timing = async (given = key) =>
      headerValue(await scene.send({ path: "/timed/a", key: given }), "server-timing");
    expect(await timing()).toMatch(HOP);
    await expect.poll(() => traces).toBe(1);
    await expect.poll(() => timing()).toMatch(/^gateway;dur=\d+;desc="replay"/);
    // The same shard, which is asked for each new key of its own.
    await expect
      .poll(async () => {
        const answers = await Promise.all(Array.from({ length: 12 }, () => timing(freshKey())));
        return answers.some((one) => one?.includes('shard;desc="IAD"') === true);
      })
      .toBe(true);
    expect(traces).toBeLessThanOrEqual(SHARDS);
  });

  it("what a client or an origin writes into the report counts for nothing", async () => {
    const faked = JSON.stringify({ outcome: "first", attempt: 1, shard: "x", durationMs: -1e9, place: "XXX" });
    const headers: [string, string][] = [["Onceway-Report", faked]];
    const answer = await scene.send({ path: "/traced/a", key: freshKey(), headers, behave: { headers } });
    expect(headerValue(answer, "server-timing")).toMatch(HOP);
    expect(answer.headers.map(([name]) => name.toLowerCase())).not.toContain("onceway-report");
    await scene.send({ path: "/traced/b", key: freshKey() });
    const metrics = await scrape();
    expect(sumOf(metrics, "onceway_hop_seconds_sum", { route: "/traced/*" })).toBeLessThan(60);
    expect(sumOf(metrics, "onceway_shard_place", { colo: "XXX" })).toBe(0);
  });

  it("operators see how many shards run where, and each asks once", async () => {
    // Until each object has had a key, and has asked.
    await expect
      .poll(async () => {
        await scene.send({ path: "/plain/a", key: freshKey() });
        return (await scene.ask("GET", "/layouts")).json;
      })
      .toMatchObject({ layouts: [{ layout: "4", places: { IAD: SHARDS } }] });
    const metrics = await scrape();
    expect(metrics.filter(({ name }) => name === "onceway_shard_place")).toEqual([
      { name: "onceway_shard_place", labels: { layout: "4", colo: "IAD" }, value: SHARDS },
    ]);
    expect(sumOf(await scrape("?shards=1"), "onceway_shard_place", { shard: "shard-0-of-4", colo: "IAD" })).toBe(1);
    expect(traces).toBe(SHARDS);
    const listed = await runOnceway(["layouts", "list", "--url", scene.gateway.url], { ONCEWAY_TOKEN: READ_TOKEN });
    expect(listed.stdout).toMatch(/RUN IN\n.*IAD 4/);
  });

  it("the way to a shard is counted with the isolate's next request", async () => {
    for (let time = 0; time < 4; time += 1) await scene.send({ path: "/counted/a", key: freshKey() });
    // The last one's is still to be handed over.
    await expect.poll(async () => sumOf(await scrape(), "onceway_hop_seconds_count", { route: "/counted/*" })).toBe(3);
  });
});
