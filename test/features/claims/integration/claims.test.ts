// Claims in a real shard: the lease, its ends, and what is left after each.

import { env } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { claimsCaller } from "../../../../src/features/claims/call-claims.ts";
import { type ClaimMessage, type ClaimRequest, CLAIMS_CALL } from "../../../../src/features/claims/claim-message.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Layout } from "../../../../src/kernel/config/layout.ts";
import { type BeginsElsewhere, type FindObject, LOCATE_CALL } from "../../../../src/kernel/elsewhere.ts";
import { operatorCalls } from "../../../support/integration/operated-bench.ts";
import { CHANGE_CALL, type ChangeAnswer } from "../../../../src/kernel/object/operator-calls.ts";
import { encodeMessage } from "../../../../src/kernel/request/message.ts";
import { closeObject } from "../../previous-shards/integration/close-object.ts"; // feature: previous-shards
import { durationMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { CLAIM_LOCK_MS, ClaimBench, claimAct, entryOf, tryOf } from "./claim-bench.ts";
import { HOUR_MS } from "../../../support/integration/records.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

standStill(["error"]);

const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

async function timeline(bench: ClaimBench, id: RecordId): Promise<readonly string[]> {
  const seen = await operatorCalls(bench.stub).inspect(id);
  return (seen?.timeline ?? []).map((event) => {
    if (event.type === "attempt")
      return `${event.attempt} ${event.verdict ?? "runs"} ${event.reason?.kind ?? ""}`.trim();
    return event.type === "claim" ? `${event.attempt} claimed by ${event.holder}` : event.type;
  });
}

describe("a claim", () => {
  it("is granted to one attempt, and again to the same one, without another row", async () => {
    const bench = new ClaimBench();
    const [one, other] = [tryOf(), tryOf()];
    const rival = { ...other, id: one.id };
    const granted = { state: "granted", attempt: 1, attemptId: one.attempt, lockedForMs: CLAIM_LOCK_MS };
    expect(await bench.claim(one)).toEqual(granted);
    pass(1000);
    const rowsBefore = await bench.stored(one.id);
    expect(await bench.claim(one)).toEqual({ ...granted, lockedForMs: CLAIM_LOCK_MS - 1000 });
    expect(await bench.stored(one.id)).toEqual(rowsBefore);
    expect(await bench.claim(rival)).toEqual({ state: "in-flight", retryAfterMs: CLAIM_LOCK_MS - 1000 });
    expect(await bench.claim(other)).toMatchObject({ state: "granted", attempt: 1 });
  });

  it("gets the result of the first completion, whatever is sent later", async () => {
    const bench = new ClaimBench();
    const one = tryOf();
    await bench.claim(one);
    expect(await bench.complete(one, { charged: 5 })).toEqual({ state: "settled" });
    // The answer was lost.
    expect(await bench.complete(one, { charged: 6 })).toEqual({ state: "settled" });
    const result = { charged: 5 };
    const done = { state: "completed", attempt: 1, completedAt: new Date().toISOString(), result, resultBytes: 13 };
    pass(5000);
    expect(await bench.claim(tryOf(one.id))).toEqual(done);
    expect(await bench.claim(one)).toEqual(done);
    expect(await bench.release(one, "none")).toEqual({ state: "superseded" });
    expect(await bench.extend(one)).toEqual({ state: "superseded" });
  });

  it("needs no result, and keeps what is JSON and small as well as what is large", async () => {
    const bench = new ClaimBench();
    for (const result of [undefined, null, "text", 0, "x".repeat(50_000)]) {
      const one = tryOf();
      await bench.claim(one);
      await bench.complete(one, result);
      const seen = await bench.claim(tryOf(one.id));
      expect("result" in seen).toBe(result !== undefined);
      if (result !== undefined) expect(seen).toMatchObject({ state: "completed", result });
    }
  });

  it("tells the size of results for which one answer has no room", async () => {
    const bench = new ClaimBench();
    const tries = Array.from({ length: 20 }, () => tryOf());
    const large = JSON.stringify("x".repeat(60_000));
    await bench.ask(...tries.map((one) => entryOf(one, claimAct())));
    await bench.ask(...tries.map((one) => entryOf(one, { verb: "complete", result: large })));
    const seen = await bench.ask(...tries.map(({ id }) => entryOf(tryOf(id), claimAct())));
    expect(seen.filter((one) => "result" in one)).toHaveLength(17);
    expect(seen.map((one) => "resultBytes" in one && one.resultBytes)).toEqual(seen.map(() => large.length));
  });

  it("is refused for another payload, in every state, and changes nothing", async () => {
    const bench = new ClaimBench();
    const one = tryOf();
    await bench.claim(one);
    const before = await bench.stored(one.id);
    expect(await bench.claim(one, { fingerprint: "g" })).toEqual({ state: "mismatch" });
    expect(await bench.stored(one.id)).toEqual(before);
    await bench.complete(one);
    expect(await bench.claim(tryOf(one.id), { fingerprint: "g" })).toEqual({ state: "mismatch" });
  });

  it("survives the object that has granted it", async () => {
    const bench = new ClaimBench();
    const one = tryOf();
    await bench.claim(one);
    await bench.lose();
    pass(CLAIM_LOCK_MS - 1);
    expect(await bench.claim(tryOf(one.id))).toEqual({ state: "in-flight", retryAfterMs: 1 });
    expect(await bench.extend(one)).toMatchObject({ state: "granted", attempt: 1, lockedForMs: CLAIM_LOCK_MS });
    await bench.lose();
    expect(await bench.complete(one, 1)).toEqual({ state: "settled" });
  });

  it("has the lock that it asked for, also after an extension", async () => {
    const bench = new ClaimBench();
    const one = tryOf();
    expect(await bench.claim(one, { lockMs: 2000 })).toMatchObject({ lockedForMs: 2000 });
    pass(1500);
    expect(await bench.extend(one)).toMatchObject({ state: "granted", lockedForMs: 2000 });
  });
});

describe("a lock that ends", () => {
  it("leaves the outcome unknown with hold: its own holder may still end or extend it, nobody else", async () => {
    const bench = new ClaimBench("hold");
    const [completing, extending, waiting] = [tryOf(), tryOf(), tryOf()];
    await bench.ask(...[completing, extending, waiting].map((one) => entryOf(one, claimAct())));
    pass(CLAIM_LOCK_MS);
    await bench.deliverAlarm();
    expect(await bench.stored(waiting.id)).toMatchObject({ state: "unknown" });
    expect(await bench.claim(tryOf(waiting.id))).toEqual({ state: "unknown" });
    expect(await bench.claim(waiting)).toEqual({ state: "unknown" });
    expect(await bench.complete(completing, 1)).toEqual({ state: "settled" });
    expect(await bench.extend(extending)).toMatchObject({ state: "granted", lockedForMs: CLAIM_LOCK_MS });
  });

  it("lets another begin with retry, and what the first one says then is superseded", async () => {
    const bench = new ClaimBench("retry");
    const one = tryOf();
    const two = tryOf(one.id);
    await bench.claim(one, { holder: "a" });
    pass(CLAIM_LOCK_MS);
    // Without an alarm in between.
    expect(await bench.claim(two, { holder: "b" })).toMatchObject({ state: "granted", attempt: 2 });
    const before = await bench.stored(one.id);
    expect(await bench.extend(one)).toEqual({ state: "superseded" });
    expect(await bench.complete(one, 1)).toEqual({ state: "superseded" });
    expect(await bench.release(one, "none")).toEqual({ state: "superseded" });
    expect(await bench.stored(one.id)).toEqual(before);
    expect(await bench.complete(two, 2)).toEqual({ state: "settled" });
    expect(await bench.claim(tryOf(one.id))).toMatchObject({ state: "completed", attempt: 2, result: 2 });
    expect(await timeline(bench, one.id)).toEqual(["1 claimed by a", "1 lost", "2 claimed by b", "2 result"]);
  });

  it("cannot be extended when only the key is left of the record, though no alarm has come", async () => {
    const bench = new ClaimBench("hold", { unknownRetentionMs: durationMs(1000), rememberMs: durationMs(HOUR_MS) });
    const one = tryOf();
    await bench.claim(one);
    pass(CLAIM_LOCK_MS + 1000);
    expect(await bench.extend(one)).toEqual({ state: "superseded" });
    expect(await bench.claim(tryOf(one.id))).toEqual({ state: "unknown" });
  });

  it("never begins a second attempt for the id of the first", async () => {
    const bench = new ClaimBench("retry");
    const one = tryOf();
    await bench.claim(one);
    pass(CLAIM_LOCK_MS);
    expect(await bench.claim(one)).toEqual({ state: "in-flight", retryAfterMs: 0 });
  });
});

describe("a release", () => {
  it("without an effect frees the key at once, and a late extend does not block it", async () => {
    const bench = new ClaimBench("hold");
    const one = tryOf();
    await bench.claim(one);
    expect(await bench.release(one, "none", "not mine")).toEqual({ state: "released" });
    expect(await bench.release(one, "none", "not mine")).toEqual({ state: "released" });
    expect(await bench.extend(one)).toEqual({ state: "superseded" });
    expect(await timeline(bench, one.id)).toEqual(["1 refused said"]);
    expect(await bench.claim(tryOf(one.id))).toMatchObject({ state: "granted", attempt: 2 });
  });

  it("with an unknown effect leaves the outcome unknown with hold, and waits for the lock with retry", async () => {
    const [held, retried] = [new ClaimBench("hold"), new ClaimBench("retry")];
    const one = tryOf();
    for (const bench of [held, retried]) {
      await bench.claim(one);
      expect(await bench.release(one, "unknown", "thrown")).toEqual({ state: "released" });
    }
    expect(await held.claim(tryOf(one.id))).toEqual({ state: "unknown" });
    expect(await held.extend(one)).toEqual({ state: "superseded" });
    expect(await retried.claim(tryOf(one.id))).toEqual({ state: "in-flight", retryAfterMs: CLAIM_LOCK_MS });
    pass(CLAIM_LOCK_MS);
    expect(await retried.claim(tryOf(one.id))).toMatchObject({ state: "granted", attempt: 2 });
  });
});

describe("an operator", () => {
  async function change(bench: ClaimBench, id: RecordId, action: "release" | "resolve"): Promise<string | null> {
    const why = { by: "admin", reason: "because" };
    const event = action === "resolve" ? { type: action, ...why, status: 200 } : { type: action, ...why };
    const message = encodeMessage({ head: { id, event, headers: [] }, body: new TextEncoder().encode("by hand") });
    const response = await bench.stub.fetch(CHANGE_CALL.url, { method: "POST", body: message });
    return (await response.json<ChangeAnswer>()).why;
  }

  it("changes nothing while a holder has the lock, and decides once it has ended", async () => {
    const bench = new ClaimBench("hold");
    const [released, resolved] = [tryOf(), tryOf()];
    await bench.ask(entryOf(released, claimAct()), entryOf(resolved, claimAct()));
    expect(await change(bench, released.id, "release")).toBe("in-flight");
    pass(CLAIM_LOCK_MS);
    expect(await change(bench, released.id, "release")).toBeNull();
    expect(await change(bench, resolved.id, "resolve")).toBeNull();
    expect(await bench.extend(released)).toEqual({ state: "superseded" });
    expect(await bench.claim(tryOf(released.id))).toMatchObject({ state: "granted", attempt: 2 });
    expect(await bench.complete(resolved, 1)).toEqual({ state: "superseded" });
    expect(await bench.claim(tryOf(resolved.id))).toMatchObject({ state: "completed", result: "by hand" });
  });
});

describe("a batch", () => {
  it("answers each entry for itself, in its order", async () => {
    const bench = new ClaimBench();
    const [one, two] = [tryOf(), tryOf()];
    await bench.claim(one);
    expect(
      await bench.ask(
        entryOf(two, claimAct()),
        entryOf(tryOf(one.id), claimAct()),
        entryOf(one, { verb: "complete", result: "1" }),
        entryOf(tryOf(), { verb: "extend" }),
        entryOf(tryOf(one.id), claimAct()),
      ),
    ).toMatchObject([
      { state: "granted" },
      { state: "in-flight" },
      { state: "settled" },
      { state: "superseded" },
      { state: "completed", result: 1 },
    ]);
  });
});

// feature: previous-shards begins
it("a closed object grants no new key, and goes on with those that it has", async () => {
  const bench = new ClaimBench();
  const [old, fresh] = [tryOf(), tryOf()];
  const next = { shards: 2, jurisdiction: null, locationHint: null };
  await bench.claim(old);
  await closeObject(bench.stub, next);
  const elsewhere = { elsewhere: { kind: "closed", next, isEmpty: false } };
  expect(await bench.ask(entryOf(fresh, claimAct()))).toEqual([elsewhere]);
  expect(await bench.ask(entryOf(fresh, { verb: "complete", result: null }))).toEqual([elsewhere]);
  expect(await bench.ask(entryOf(old, { verb: "extend" }))).toMatchObject([{ state: "granted" }]);
  expect(await bench.ask(entryOf(old, { verb: "complete", result: null }))).toEqual([{ state: "settled" }]);
});

it("an object that has granted a key after a closed one sends other claims there first", async () => {
  const bench = new ClaimBench();
  const layout = { shards: 1, jurisdiction: null, locationHint: null };
  const previous = { closed: [{ layout, isEmpty: false }] };
  expect(await bench.ask({ ...entryOf(tryOf(), claimAct()), previous })).toMatchObject([{ state: "granted" }]);
  expect(await bench.ask(entryOf(tryOf(), claimAct()))).toEqual([{ elsewhere: { kind: "first", layout } }]);
});
// feature: previous-shards ends

it("a claim whose record may be in another jurisdiction first asks there with the record's names alone, and waits for no message before it", async () => {
  const asked: string[] = [];
  let message: Pick<ClaimMessage, "entries"> | null = null;
  const namespace: DurableObjectNamespace = new Proxy(env.KEY_SHARD, {
    get: (real, property) => {
      if (property === "jurisdiction") return () => namespace;
      if (property === "idFromName") return (name: string) => real.idFromName(name);
      const fetch = (url: string, { body }: { readonly body: string }): Promise<Response> => {
        asked.push(url);
        if (url === CLAIMS_CALL.url) message = JSON.parse(body);
        const elsewhere: BeginsElsewhere = { kind: "closed", next: own, isEmpty: false };
        return Promise.resolve(Response.json(url === LOCATE_CALL.url ? elsewhere : [{ state: "superseded" }]));
      };
      return () => ({ fetch });
    },
  });
  const own: Layout = { shards: 1, jurisdiction: "eu", locationHint: null };
  const before: Layout = { ...own, jurisdiction: null };
  /** As a Worker does that lists both. */
  const findObject: FindObject = async (_placing, _layouts, ask) => {
    for (const at of [before, own]) {
      const said = await ask(at, undefined);
      if (said.kind === "given") return said.given;
    }
    return null;
  };
  const read = readConfig({ IDEMPOTENCY: { origin: "https://origin.example" }, ROUTES: [{ path: "/act" }] });
  const [route] = read.ok ? read.config.routes : [];
  if (route === undefined) throw new Error("there is a route");
  const position = { stream: "orders", partition: 0, offset: 5, previous: 4 };
  const entry = entryOf(tryOf(), claimAct(), { position });
  const request: ClaimRequest = { entry, namesIn: () => Promise.resolve([entry.record.id]) };
  const layouts = { own, previous: [before] };
  const answers = await claimsCaller(namespace, findObject)({ ...route, layouts }, [request]);
  expect(answers).toEqual([{ state: "superseded" }]);
  expect(asked).toEqual([LOCATE_CALL.url, CLAIMS_CALL.url]);
  // The message before may have been claimed in the other layout.
  expect(message).toMatchObject({ entries: [{ position: { ...position, previous: null } }] });
});
