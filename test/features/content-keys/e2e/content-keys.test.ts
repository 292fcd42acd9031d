// Requests without a key of their own, with effects counted at the origin: which of them are one operation, and what their clients are told.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { type Message, type Scene, startScene } from "../../../support/e2e/scene.ts";

const ADMIN_TOKEN = "an-operators-token-of-forty-characters-or-so";
const MEMBERS = { digest: ["json:/order_id", "json:/amount"], window: "10m" };
const HEADER = "header:Idempotency-Key";
const REPLAY = { key_from: [HEADER, { ...MEMBERS, repeat: "replay" }] };

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ timeout: "5s", lock: "8s", shards: 2, log: "all" }, [
    { path: "/replay/*", ...REPLAY },
    { path: "/refuse/*", key_from: [HEADER, { ...MEMBERS, repeat: "refuse" }] },
    { path: "/optional/*", ...REPLAY, key: "optional" },
    { path: "/request/*", key_from: [{ digest: "request", window: "1h", repeat: "replay" }] },
    { path: "/two/*", ...REPLAY, scope: ["header:authorization", "header:x-account"] },
    { path: "/wait/*", ...REPLAY, duplicate: "wait", wait: "4s" },
    { path: "/later/*", ...REPLAY, async: "prefer" },
  ]);
});
afterAll(() => scene.close());

const ALICE: HeaderPair = ["Authorization", "Bearer alice"];
const BOB: HeaderPair = ["Authorization", "Bearer bob"];

type Fields = Readonly<Record<string, unknown>>;

function refund(path: string, fields: Fields, more: Partial<Message> = {}): Message {
  const headers: readonly HeaderPair[] = [["Content-Type", "application/json"], ...(more.headers ?? [ALICE])];
  return { path, body: JSON.stringify(fields), ...more, headers };
}

const jsonOf = ({ body }: RawResponse): Fields => JSON.parse(body.toString());

async function callsTo(path: string): Promise<number> {
  return (await scene.origin.requests()).filter((request) => request.path === path).length;
}

const marksOf = (answer: RawResponse): readonly unknown[] => [
  answer.status,
  headerValue(answer, "idempotency-status"),
  headerValue(answer, "idempotency-key-source"),
];

const SOURCE = "content;window=600";

describe("two equal requests without a key", () => {
  it('are one operation with repeat = "replay", and both say so', async () => {
    const path = `/replay/${freshKey()}`;
    const first = await scene.send(
      refund(path, { order_id: "o1", amount: 5 }, { behave: { status: 201, body: "refunded" } }),
    );
    // Other spellings of the same body would be another fingerprint: this one is sent again as it was.
    const second = await scene.send(refund(path, { order_id: "o1", amount: 5 }));
    expect([marksOf(first), marksOf(second)]).toEqual([
      [201, "first", SOURCE],
      [201, "replayed", SOURCE],
    ]);
    expect(second.body.toString()).toBe("refunded");
    expect(headerValue(first, "idempotency-key")).toMatch(/^\(content:[0-9a-f]{32}\)$/);
    expect(headerValue(second, "idempotency-key")).toBe(headerValue(first, "idempotency-key"));
    const expires = Date.parse(headerValue(first, "idempotency-expires") ?? "");
    expect(expires - Date.now()).toBeGreaterThan(590_000);
    expect(expires - Date.now()).toBeLessThanOrEqual(601_000);
    expect(await callsTo(path)).toBe(1);
  });

  it('are one operation with repeat = "refuse", and the second is told how to make another', async () => {
    const path = `/refuse/${freshKey()}`;
    const message = refund(path, { order_id: "o1", amount: 5 });
    expect(marksOf(await scene.send(message))).toEqual([201, "first", SOURCE]);
    const second = await scene.send(message);
    expect(marksOf(second)).toEqual([409, "repeated-content", SOURCE]);
    expect(jsonOf(second)).toMatchObject({
      code: "repeated-content",
      retryable: false,
      safeNewKey: false,
      keySource: "content",
      windowSeconds: 600,
    });
    expect(jsonOf(second)["detail"]).toContain("for a second operation send a key of your own");
    expect(await callsTo(path)).toBe(1);
  });

  it("are refused, or wait, while the first is in flight", async () => {
    const fields = { order_id: "o1", amount: 5 };
    for (const [begin, status] of [
      ["/refuse/", "repeated-content"],
      ["/replay/", "in-flight"],
      ["/wait/", "replayed"],
    ] as const) {
      const path = begin + freshKey();
      const first = scene.send(refund(path, fields, { behave: { delayMs: 700, body: "once" } }));
      await expect.poll(() => callsTo(path)).toBe(1);
      const second = await scene.send(refund(path, fields));
      expect(headerValue(second, "idempotency-status")).toBe(status);
      expect(headerValue(second, "idempotency-key-source")).toBe(SOURCE);
      expect((await first).body.toString()).toBe("once");
      expect(await callsTo(path)).toBe(1);
    }
  });

  it("which differ in a member are two, and which differ elsewhere get 422", async () => {
    const path = `/replay/${freshKey()}`;
    await scene.send(refund(path, { order_id: "o1", amount: 5, note: "a" }));
    expect((await scene.send(refund(path, { order_id: "o1", amount: 6, note: "a" }))).status).toBe(201);
    expect((await scene.send(refund(path, { order_id: "o2", amount: 5, note: "a" }))).status).toBe(201);
    const other = await scene.send(refund(path, { order_id: "o1", amount: 5, note: "b" }));
    expect(marksOf(other)).toEqual([422, "key-reused", SOURCE]);
    expect(jsonOf(other)).toMatchObject({ keySource: "content" });
    expect(jsonOf(other)["detail"]).toContain("send a key of your own");
    expect(await callsTo(path)).toBe(3);
  });

  it('count as a whole with digest = "request", whatever key they have in a header that is not read', async () => {
    const path = `/request/${freshKey()}`;
    const answers = [];
    for (const key of [freshKey(), freshKey()]) answers.push(await scene.send({ ...refund(path, { a: 1 }), key }));
    expect(answers.map(marksOf)).toEqual([
      [201, "first", "content;window=3600"],
      [201, "replayed", "content;window=3600"],
    ]);
    expect(marksOf(await scene.send(refund(path, { a: 2 })))).toEqual([201, "first", "content;window=3600"]);
    expect(await callsTo(path)).toBe(2);
  });
});

describe("a key of its own", () => {
  it("counts, and is another operation than the equal content, even with the text of its key", async () => {
    const path = `/replay/${freshKey()}`;
    const fields = { order_id: "o1", amount: 5 };
    const made = headerValue(await scene.send(refund(path, fields)), "idempotency-key") ?? "";
    for (const key of [freshKey(), made]) {
      const own = await scene.send({ ...refund(path, fields), key });
      expect(marksOf(own)).toEqual([201, "first", null]);
      expect(marksOf(await scene.send({ ...refund(path, fields), key }))).toEqual([201, "replayed", null]);
    }
    expect(marksOf(await scene.send(refund(path, fields)))).toEqual([201, "replayed", SOURCE]);
    expect(await callsTo(path)).toBe(3);
  });
});

describe("a request of which no key can be made", () => {
  it.each([["a member is missing", { amount: 5 }]])(
    "because %s: needs one of its own where the route requires it, and passes where not",
    async (_, fields) => {
      const [needs, passes] = [`/replay/${freshKey()}`, `/optional/${freshKey()}`];
      const refused = await scene.send(refund(needs, fields));
      expect(jsonOf(refused)).toMatchObject({ status: 400, code: "key-missing" });
      expect(headerValue(refused, "idempotency-key-source")).toBeNull();
      for (let times = 0; times < 2; times += 1) {
        expect(marksOf(await scene.send(refund(passes, fields)))).toEqual([201, null, null]);
      }
      expect([await callsTo(needs), await callsTo(passes)]).toEqual([0, 2]);
    },
  );

  it("because nothing says whose it is: strangers share nothing", async () => {
    const fields = { order_id: "o1", amount: 5 };
    const [needs, passes, half] = [`/replay/${freshKey()}`, `/optional/${freshKey()}`, `/two/${freshKey()}`];
    for (let times = 0; times < 2; times += 1) {
      const refused = await scene.send(refund(needs, fields, { headers: [] }));
      expect(jsonOf(refused)).toMatchObject({ code: "key-missing" });
      expect(jsonOf(await scene.send(refund(half, fields)))).toMatchObject({ code: "key-missing" });
      expect(marksOf(await scene.send(refund(passes, fields, { headers: [] })))).toEqual([201, null, null]);
    }
    expect([await callsTo(needs), await callsTo(half), await callsTo(passes)]).toEqual([0, 0, 2]);
  });
});

describe("an answer that was lost", () => {
  it("blocks equal content, and no operation with a key of its own", async () => {
    const path = `/refuse/${freshKey()}`;
    const fields = { order_id: "o1", amount: 5 };
    const lost = await scene.send(refund(path, fields, { behave: { drop: "after-read" } }));
    expect(marksOf(lost)).toEqual([502, "origin-dropped", SOURCE]);
    const again = await scene.send(refund(path, fields));
    expect(marksOf(again)).toEqual([409, "outcome-unknown", SOURCE]);
    expect(jsonOf(again)).toMatchObject({ keySource: "content", safeNewKey: false });
    expect((await scene.send({ ...refund(path, fields), key: freshKey() })).status).toBe(201);
    expect(await callsTo(path)).toBe(2);
  });
});

describe("who asks about such a key", () => {
  const ask = (target: string, headers: readonly HeaderPair[] = [ALICE], method = "GET"): Promise<RawResponse> =>
    scene.send({ method, path: target, headers, body: null });

  it("its caller learns what became of it, and nobody else; it is not given up", async () => {
    const path = `/replay/${freshKey()}`;
    const key = headerValue(await scene.send(refund(path, { order_id: "o1", amount: 5 })), "idempotency-key") ?? "";
    const address = `/.well-known/idempotency/requests${path}?key=${encodeURIComponent(key)}`;
    const content = `${address}&source=content`;
    expect(jsonOf(await ask(content))).toMatchObject({ state: "completed", status: 201, safeNewKey: false });
    // A client's own key of that text is another.
    expect((await ask(address)).status).toBe(404);
    for (const headers of [[BOB], []]) expect((await ask(content, headers)).status).toBe(404);
    expect(jsonOf(await ask(content, [ALICE], "DELETE"))).toMatchObject({ status: 405, code: "request-invalid" });
  });

  it("the monitor of an accepted request is where the 202 says", async () => {
    const path = `/later/${freshKey()}`;
    const message = refund(path, { order_id: "o1", amount: 5 }, { headers: [ALICE, ["Prefer", "respond-async"]] });
    const accepted = await scene.send({ ...message, behave: { body: "later" } });
    expect([accepted.status, headerValue(accepted, "idempotency-key-source")]).toEqual([202, SOURCE]);
    const monitor = headerValue(accepted, "location") ?? "";
    expect(monitor).toContain("&source=content&print=");
    await expect.poll(async () => (await ask(monitor)).body.toString()).toBe("later");
    expect((await ask(monitor, [BOB])).status).toBe(404);
    expect(await callsTo(path)).toBe(1);
  });
});

it("operators find such a key by its text, see where it comes from, and count it; so does the log", async () => {
  const routes = [
    { path: "/pay", ...REPLAY },
    { path: "/sealed", ...REPLAY, encrypt_responses: true },
  ];
  const bindings = { ADMIN_TOKEN, ENCRYPTION_SECRET: "a-secret-of-more-than-thirty-two-characters" };
  const own = await startScene({ log: "all", shards: 1 }, routes, bindings);
  const operator: readonly HeaderPair[] = [["Authorization", `Bearer ${ADMIN_TOKEN}`]];
  const read = (path: string): Promise<RawResponse> =>
    own.send({ method: "GET", path: `/_onceway${path}`, headers: operator, body: null });
  const message = refund("/pay", { order_id: "o1", amount: 5 });
  const key = headerValue(await own.send(message), "idempotency-key") ?? "";
  await own.send(message);
  await own.send({ ...message, body: '{"order_id":"o1","amount":5,"note":"b"}' });
  await own.send({ ...message, key });
  const listed = jsonOf(await read(`/records?key=${encodeURIComponent(key)}`))["records"];
  expect(listed).toMatchObject([{ key }, { key }]);
  expect(Array.isArray(listed) ? listed.filter((one) => one.request.fromContent === true) : []).toHaveLength(1);
  await expect
    .poll(async () => (await read("/metrics")).body.toString())
    .toContain('onceway_content_keys_total{route="/pay",use="new"} 1');
  const metrics = (await read("/metrics")).body.toString();
  expect(metrics).toContain('onceway_content_keys_total{route="/pay",use="repeated"} 1');
  expect(metrics).toContain('onceway_content_keys_total{route="/pay",use="key-reused"} 1');
  const sealed = { ...message, path: "/sealed" };
  const kept = await own.send(sealed);
  expect([marksOf(kept), marksOf(await own.send(sealed))]).toEqual([
    [201, "first", SOURCE],
    [201, "replayed", SOURCE],
  ]);
  expect(jsonOf(await read("/records?route=%2Fsealed"))).toMatchObject({
    records: [{ encrypted: true, request: { fromContent: true } }],
  });
  await expect.poll(() => own.gateway.output().split('"keySource":"content"').length - 1).toBe(5);
  await own.close();
});
