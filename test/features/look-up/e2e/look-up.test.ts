// Look-ups of keys over the wire, with effects counted at the origin: what a client is told of its key, and that nobody else is told anything.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockWith } from "../../../support/docs.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { withoutInstance } from "../../../support/instance.ts";
import type { Script } from "../../../support/origin.ts";
import { type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";

const PAGE = "src/features/look-up/README.md";

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ timeout: "5s", lock: "8s", shards: 1 }, [
    { path: "/hold/*" },
    { path: "/short/*", timeout: "2s", lock: "2500ms", retention: "3s" },
    { path: "/v1/payments" },
    { path: "/retry/*", unknown: "retry", lock: "5500ms" },
    { path: "/small/*", max_response_body: 10 },
    { path: "/put/*", methods: ["PUT"] },
    { path: "/off/*", look_up: false },
    { path: "/shared/*", scope: ["none"] },
    { path: "/two/*", scope: ["header:authorization", "header:x-account"] },
    { path: "/moved/*", previous_scope: [["header:authorization", "json:/account"]] },
  ]);
});
afterAll(() => scene.close());

type Headers = readonly (readonly [string, string])[];

const ALICE: Headers = [["Authorization", "Bearer alice"]];
const BOB: Headers = [["Authorization", "Bearer bob"]];
const LOST = { drop: "after-read" } as const;

const addressOf = (path: string, key: string, more = ""): string =>
  `/.well-known/idempotency/requests${path}?key=${encodeURIComponent(key)}${more}`;

function ask(target: string, headers: Headers = ALICE, method = "GET"): Promise<RawResponse> {
  return scene.send({ method, path: target, headers, body: null });
}

const jsonOf = ({ body }: RawResponse): unknown => JSON.parse(body.toString());

async function toldOf(path: string, key: string, headers = ALICE): Promise<unknown> {
  return jsonOf(await ask(addressOf(path, key), headers));
}

describe("a client asks what became of its key", () => {
  it("while its request is at the API, and when it has its answer", async () => {
    const key = freshKey();
    const message = { path: "/hold/pay", key, headers: ALICE };
    const first = scene.send({ ...message, behave: { status: 201, hold: true, body: "paid" } });
    await scene.origin.arrived(key);
    const running = await ask(addressOf("/hold/pay", key));
    expect([running.status, headerValue(running, "retry-after"), headerValue(running, "cache-control")]).toEqual([
      200,
      "1",
      "no-store",
    ]);
    expect(jsonOf(running)).toEqual({ state: "in-flight", next: "wait", safeNewKey: false });
    await scene.origin.release(key);
    await first;
    const told = { state: "completed", next: "send-same", safeNewKey: false, status: 201 };
    expect(await toldOf("/hold/pay", key)).toEqual(told);
    const head = await ask(addressOf("/hold/pay", key), ALICE, "HEAD");
    expect([head.status, head.body.length, headerValue(head, "idempotency-key")]).toEqual([200, 0, key]);
    expect((await scene.send(message)).body.toString()).toBe("paid");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("that was refused: nothing was done, and a new key is safe", async () => {
    const key = freshKey();
    await scene.send({ path: "/hold/pay", key, headers: ALICE, behave: { status: 503, effect: false } });
    expect(await toldOf("/hold/pay", key)).toEqual({ state: "not-done", next: "send-same", safeNewKey: true });
  });

  it("whose answer was lost: a new key is not safe, whoever decides", async () => {
    const [held, retried] = [freshKey(), freshKey()];
    const answers = await Promise.all([
      scene.send({ path: "/hold/pay", key: held, headers: ALICE, behave: LOST }),
      scene.send({ path: "/retry/pay", key: retried, headers: ALICE, behave: LOST }),
    ]);
    for (const answer of answers) expect(jsonOf(answer)).toMatchObject({ code: "origin-dropped", safeNewKey: false });
    expect(await toldOf("/hold/pay", held)).toEqual({ state: "unknown", next: "ask-operator", safeNewKey: false });
    expect(await toldOf("/retry/pay", retried)).toEqual({ state: "in-flight", next: "wait", safeNewKey: false });
    await expect
      .poll(() => toldOf("/retry/pay", retried))
      .toEqual({ state: "unknown", next: "send-same", safeNewKey: false });
  });

  it("whose answer was too large to keep", async () => {
    const key = freshKey();
    await scene.send({ path: "/small/pay", key, headers: ALICE, behave: { status: 201, body: "x".repeat(100) } });
    expect(await toldOf("/small/pay", key)).toEqual({
      state: "completed",
      next: "read-api",
      safeNewKey: false,
      status: 201,
    });
  });

  it("of another method, which the address names", async () => {
    const key = freshKey();
    await scene.send({ method: "PUT", path: "/put/a%2Fb", key, headers: ALICE, behave: { status: 200 } });
    const told = await ask(addressOf("/put/a%2Fb", key, "&method=PUT"));
    expect(jsonOf(told)).toMatchObject({ state: "completed", status: 200 });
    expect((await ask(addressOf("/put/a%2Fb", key))).status).toBe(404);
  });

  it("which changes nothing: the record, the origin and the time that is left are as before", async () => {
    const key = freshKey();
    const before = (await scene.origin.requests()).length;
    expect(await toldOf("/hold/pay", key)).toMatchObject({ code: "key-not-known", safeNewKey: false });
    expect((await scene.origin.requests()).length).toBe(before);
    expect((await scene.send({ path: "/hold/pay", key, headers: ALICE })).status).toBe(201);
  });
});

describe("the README", () => {
  it("has a question that is answered as it says", async () => {
    const [line = "", ...headers] = blockWith(PAGE, "GET /.well-known").trim().split("\n");
    const target = line.split(" ")[1] ?? "";
    const own = headers.map((header): readonly [string, string] => {
      const [name = "", value = ""] = header.split(": ");
      return [name, value.replace("…", "me")];
    });
    const key = new URL(target, "http://gateway").searchParams.get("key") ?? "";
    await scene.send({ path: "/v1/payments", key, headers: own, behave: { status: 201 } });
    expect(jsonOf(await ask(target, own))).toEqual(JSON.parse(blockWith(PAGE, '"state"')));
  });
});

describe("a problem that leaves open what became of its request", () => {
  async function monitorIn(sent: Promise<RawResponse>): Promise<readonly [code: unknown, monitor: unknown]> {
    const { code, monitor } = v.parse(v.looseObject({ code: v.string() }), jsonOf(await sent));
    return [code, monitor];
  }

  it("names the address at which its client is told", async () => {
    const [lost, large, late] = [freshKey(), freshKey(), "strange,key&=/"];
    const send = (path: string, key: string, behave?: Script): Promise<RawResponse> =>
      scene.send({ path, key, headers: ALICE, ...(behave === undefined ? null : { behave }) });
    const small = { status: 201, body: "x".repeat(100) };
    const found = [
      await monitorIn(send("/hold/pay", lost, LOST)),
      await monitorIn(send("/hold/pay", lost)),
      await monitorIn(send("/small/pay", large, small).then(() => send("/small/pay", large))),
      await monitorIn(send("/short/pay", `"${late}"`, { hold: true })),
    ];
    expect(found).toEqual([
      ["origin-dropped", addressOf("/hold/pay", lost)],
      ["outcome-unknown", addressOf("/hold/pay", lost)],
      ["response-not-kept", addressOf("/small/pay", large)],
      ["origin-timeout", addressOf("/short/pay", late)],
    ]);
    const states = found.map(async ([, monitor]) => jsonOf(await ask(String(monitor))));
    const unknown = { state: "unknown", next: "ask-operator", safeNewKey: false };
    const told = { state: "completed", next: "read-api", safeNewKey: false, status: 201 };
    expect(await Promise.all(states)).toEqual([unknown, unknown, told, unknown]);
  });

  it("names the method where it is not POST, also while a request is in flight", async () => {
    const key = freshKey();
    const message = { method: "PUT", path: "/put/me", key, headers: ALICE };
    const first = scene.send({ ...message, behave: { status: 201, hold: true } });
    await scene.origin.arrived(key);
    const monitor = addressOf("/put/me", key, "&method=PUT");
    expect(await monitorIn(scene.send(message))).toEqual(["in-flight", monitor]);
    expect(jsonOf(await ask(monitor))).toMatchObject({ state: "in-flight" });
    await scene.origin.release(key);
    await first;
  });

  it("names none where its client would be told that the key is not known", async () => {
    for (const path of ["/off/pay", "/shared/pay", "/two/pay", "/moved/pay"]) {
      const sent = scene.send({ path, key: freshKey(), headers: ALICE, behave: LOST });
      expect([path, ...(await monitorIn(sent))]).toEqual([path, "origin-dropped", undefined]);
    }
  });
});

describe("a client gives its key up", () => {
  const abandon = (path: string, key: string, headers = ALICE): Promise<RawResponse> =>
    ask(addressOf(path, key), headers, "DELETE");

  it("not where a body said whose it was: a record in that older scope would be overlooked, and a new key act again", async () => {
    const key = freshKey();
    const gone = await abandon("/moved/pay", key);
    expect([gone.status, jsonOf(gone)]).toEqual([404, expect.objectContaining({ code: "key-not-known" })]);
    expect(await toldOf("/moved/pay", key)).toMatchObject({ code: "key-not-known", safeNewKey: false });
    expect((await scene.send({ path: "/moved/pay", key, headers: ALICE })).status).toBe(201);
  });

  it("that nobody has seen: a request that comes late is not sent, whatever it says", async () => {
    const key = freshKey();
    const gone = await abandon("/hold/pay", key);
    expect([gone.status, headerValue(gone, "idempotency-status")]).toEqual([204, "abandoned"]);
    expect(await toldOf("/hold/pay", key)).toEqual({ state: "abandoned", next: "new-key", safeNewKey: true });
    for (const body of ['{"amount":1}', '{"amount":2}']) {
      const late = await scene.send({ path: "/hold/pay", key, headers: ALICE, body });
      expect([late.status, jsonOf(late)]).toMatchObject([409, { code: "key-abandoned", safeNewKey: true }]);
    }
    expect((await abandon("/hold/pay", key)).status).toBe(204);
    expect(await scene.origin.effects(key)).toBe(0);
    // Of another caller it is another key.
    expect((await scene.send({ path: "/hold/pay", key, headers: BOB })).status).toBe(201);
  });

  it("which operators see in its record's timeline", async () => {
    const key = freshKey();
    const before = Date.now();
    await scene.send({ method: "DELETE", path: addressOf("/hold/pay", key), headers: ALICE, body: null });
    const { json } = await scene.ask("GET", `/records?key=${key}`);
    const { records } = v.parse(v.object({ records: v.tuple([v.object({ id: v.string() })]) }), json);
    const shown = (await scene.ask("GET", `/records/${records[0].id}`)).json;
    expect(shown).toMatchObject({ timeline: [{ type: "change", action: "abandon", by: "client", reason: "" }] });
    const { timeline } = v.parse(v.object({ timeline: v.tuple([v.object({ at: v.string() })]) }), shown);
    expect(Date.parse(timeline[0].at)).toBeGreaterThanOrEqual(before);
  });

  it("of which no attempt took effect", async () => {
    const key = freshKey();
    const message = { path: "/hold/pay", key, headers: ALICE };
    await scene.send({ ...message, behave: { status: 503, effect: false } });
    expect((await abandon("/hold/pay", key)).status).toBe(204);
    expect(jsonOf(await scene.send(message))).toMatchObject({ code: "key-abandoned" });
    expect(await scene.origin.effects(key)).toBe(0);
  });

  it("and does not get it if an attempt is in flight, may have taken effect, or has", async () => {
    const [running, lost, done, retried] = [freshKey(), freshKey(), freshKey(), freshKey()];
    const first = scene.send({ path: "/hold/pay", key: running, headers: ALICE, behave: { hold: true, status: 201 } });
    await scene.origin.arrived(running);
    await scene.send({ path: "/hold/pay", key: lost, headers: ALICE, behave: LOST });
    await scene.send({ path: "/retry/pay", key: retried, headers: ALICE, behave: LOST });
    await scene.send({ path: "/hold/pay", key: done, headers: ALICE, behave: { status: 201, body: "done" } });
    const inFlight = await abandon("/hold/pay", running);
    expect([inFlight.status, headerValue(inFlight, "retry-after"), jsonOf(inFlight)]).toMatchObject([
      409,
      "1",
      { code: "cancel-refused", safeNewKey: false },
    ]);
    for (const [path, key] of [
      ["/hold/pay", lost],
      ["/hold/pay", done],
      ["/retry/pay", retried],
    ] as const) {
      expect(jsonOf(await abandon(path, key))).toMatchObject({ code: "cancel-refused", safeNewKey: false });
    }
    await scene.origin.release(running);
    expect((await first).status).toBe(201);
    await expect.poll(() => toldOf("/retry/pay", retried)).toMatchObject({ state: "unknown", next: "send-same" });
    expect((await abandon("/retry/pay", retried)).status).toBe(409);
    expect((await scene.send({ path: "/hold/pay", key: done, headers: ALICE })).body.toString()).toBe("done");
  });

  it("as long as its record would be kept", async () => {
    const key = freshKey();
    expect((await abandon("/short/pay", key)).status).toBe(204);
    await expect.poll(() => toldOf("/short/pay", key)).toMatchObject({ code: "key-not-known" });
    expect((await scene.send({ path: "/short/pay", key, headers: ALICE })).status).toBe(201);
  });

  it("while its request is sent at the same time: it is done or given up, never both", async () => {
    const both = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const key = freshKey();
        const [sent, gone] = await Promise.all([
          scene.send({ path: "/hold/pay", key, headers: ALICE }),
          abandon("/hold/pay", key),
        ]);
        return { sent: sent.status, gone: gone.status, effects: await scene.origin.effects(key) };
      }),
    );
    for (const { sent, gone, effects } of both) {
      expect([
        { sent: 201, gone: 409, effects: 1 },
        { sent: 409, gone: 204, effects: 0 },
      ]).toContainEqual({ sent, gone, effects });
    }
  });

  it("only with its own credential, and where no stranger shares its scope", async () => {
    const key = freshKey();
    expect((await abandon("/shared/pay", key)).status).toBe(404);
    expect((await abandon("/hold/pay", key, [])).status).toBe(404);
    expect((await abandon("/hold/pay", key, BOB)).status).toBe(204);
    expect((await scene.send({ path: "/hold/pay", key, headers: ALICE })).status).toBe(201);
  });
});

describe("nobody else", () => {
  it("is told anything: of a stranger's key and of none the answer is the same, byte for byte", async () => {
    const key = freshKey();
    await scene.send({ path: "/hold/pay", key, headers: ALICE });
    const none = await ask(addressOf("/hold/pay", key), [["Authorization", "Bearer carol"]]);
    const stranger = await ask(addressOf("/hold/pay", key), BOB);
    const bare = await ask(addressOf("/hold/pay", key), []);
    const told = ({ status, headers, body }: RawResponse): unknown => [
      status,
      headers.filter(([name]) => name.toLowerCase() !== "date"),
      withoutInstance(body.toString()),
    ];
    expect(none.status).toBe(404);
    expect(jsonOf(none)).toMatchObject({ code: "key-not-known", retryable: false, safeNewKey: false });
    expect(told(stranger)).toEqual(told(none));
    expect(told(bare)).toEqual(told(none));
  });

  it("is told where strangers share a scope, or a part of it is missing", async () => {
    const key = freshKey();
    await scene.send({ path: "/shared/pay", key, headers: ALICE });
    await scene.send({ path: "/two/pay", key, headers: ALICE });
    expect((await ask(addressOf("/shared/pay", key))).status).toBe(404);
    expect((await ask(addressOf("/two/pay", key))).status).toBe(404);
    const whole: Headers = [...ALICE, ["X-Account", "7"]];
    await scene.send({ path: "/two/pay", key, headers: whole });
    expect((await ask(addressOf("/two/pay", key), whole)).status).toBe(200);
  });
});

describe("a question that cannot be answered", () => {
  it.each([
    ["on a route that has no look-up", addressOf("/off/pay", "k".repeat(20)), "GET", 404, "key-not-known"],
    ["about a path that no route protects", addressOf("/open", "k".repeat(20)), "GET", 404, "key-not-known"],
    ["without a key", "/.well-known/idempotency/requests/hold/pay", "GET", 400, "key-invalid"],
    ["with another method", addressOf("/hold/pay", "k".repeat(20)), "POST", 405, "request-invalid"],
  ])("%s: a problem, and nothing is forwarded", async (_, target, method, status, code) => {
    const before = (await scene.origin.requests()).length;
    const answer = await ask(target, ALICE, method);
    expect([answer.status, jsonOf(answer)]).toMatchObject([status, { code }]);
    expect((await scene.origin.requests()).length).toBe(before);
  });
});
