// The claims API on the wire: who may ask, what is refused whole, and what one batch says of each of its records.

import { withoutInstance } from "../../../support/instance.ts";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BILLING_TOKEN,
  type ClaimScene,
  freshClaim,
  MAIL_TOKEN,
  OPERATOR_TOKEN,
  startClaimScene,
} from "../../../support/claim-scene.ts";

let scene: ClaimScene;
beforeAll(async () => {
  scene = await startClaimScene();
});
afterAll(() => scene.close());

const owner = ({ key, attemptId }: ReturnType<typeof freshClaim>) => ({ key, attemptId });

describe("a consumer", () => {
  it("claims, extends, completes, and gets the result from then on", async () => {
    const one = freshClaim();
    const claimed = await scene.ask("billing", { claims: [one] });
    expect(claimed.status).toBe(200);
    expect(claimed.headers.get("cache-control")).toBe("no-store");
    expect(claimed.claims).toEqual([
      { state: "granted", attempt: 1, attemptId: one.attemptId, lockedForMs: expect.any(Number) },
    ]);
    const extended = await scene.ask("billing/extend", { claims: [owner(one)] });
    expect(extended.claims).toMatchObject([{ state: "granted", attempt: 1, attemptId: one.attemptId }]);
    const result = { charged: [1, 2.5, "€", null] };
    const completed = await scene.ask("billing/complete", { claims: [{ ...owner(one), result }] });
    expect(completed.claims).toEqual([{ state: "settled" }]);
    const again = await scene.ask("billing", { claims: [freshClaim(one.key)] });
    expect(again.claims).toEqual([{ state: "completed", attempt: 1, completedAt: expect.any(String), result }]);
  });

  it("keeps its claim and its result when the gateway is killed", async () => {
    const [held, done] = [freshClaim(), freshClaim()];
    await scene.ask("billing", { claims: [held, done] });
    await scene.ask("billing/complete", { claims: [{ ...owner(done), result: 7 }] });
    await scene.crash();
    expect((await scene.ask("billing", { claims: [held] })).claims).toMatchObject([{ state: "granted", attempt: 1 }]);
    expect((await scene.ask("billing", { claims: [freshClaim(held.key)] })).claims).toMatchObject([
      { state: "in-flight" },
    ]);
    expect((await scene.ask("billing", { claims: [freshClaim(done.key)] })).claims).toMatchObject([{ result: 7 }]);
  });

  it("sends a hundred at once, in objects of their own, and gets an answer for each", async () => {
    const claims = Array.from({ length: 100 }, () => freshClaim());
    const granted = await scene.ask("billing", { claims });
    expect(granted.claims.map(({ state }) => state)).toEqual(claims.map(() => "granted"));
    expect(granted.claims.map(({ attemptId }) => attemptId)).toEqual(claims.map(({ attemptId }) => attemptId));
    const [first, ...others] = claims;
    const mixed = await scene.ask("billing/release", {
      claims: [
        { ...freshClaim(first?.key), payloadHash: undefined, effect: "none" },
        ...others.map((one) => ({ ...owner(one), effect: "none", reason: "shutting down" })),
      ],
    });
    expect(mixed.claims.map(({ state }) => state)).toEqual(["superseded", ...others.map(() => "released")]);
  });

  it("gets results up to a mebibyte in one answer, and their size beyond", async () => {
    const claims = Array.from({ length: 24 }, () => freshClaim());
    await scene.ask("billing", { claims });
    const result = "x".repeat(60_000);
    for (const part of [claims.slice(0, 12), claims.slice(12)]) {
      const done = await scene.ask("billing/complete", {
        claims: part.map(({ key, attemptId }) => ({ key, attemptId, result })),
      });
      expect(done.status).toBe(200);
    }
    const { claims: seen } = await scene.ask("billing", { claims: claims.map(({ key }) => freshClaim(key)) });
    expect(seen.filter((one) => "result" in one)).toHaveLength(17);
    expect(seen.filter((one) => one["resultBytes"] === 60_002)).toHaveLength(7);
  });
});

describe("a position", () => {
  const read = (query: string, token = BILLING_TOKEN) =>
    scene.ask(`billing/positions?${query}`, undefined, { method: "GET", token });

  it("does not hide a record from operators, who find it by its key and its id", async () => {
    const one = freshClaim();
    await scene.ask("billing", {
      claims: [{ ...one, holder: "node-7", position: { stream: "mail", partition: 0, offset: 90 } }],
    });
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    const listed = await fetch(`${scene.gateway().url}/_onceway/records?key=${one.key}`, { headers });
    const { records }: { records: readonly { id: string; route: string; state: string }[] } = JSON.parse(
      await listed.text(),
    );
    expect(records).toMatchObject([{ route: "claims:billing", state: "started" }]);
    const seen = await (await fetch(`${scene.gateway().url}/_onceway/records/${records[0]?.id}`, { headers })).text();
    expect(seen).toContain('"holder":"node-7","position":{"stream":"mail","partition":0,"offset":90,"previous":null}');
  });

  it.each(["", "partition=0", "stream=orders&partition=-1", "stream=orders&partition=x"])(
    "is refused for %j",
    async (query) => {
      expect(await read(query)).toMatchObject({ status: 400, code: "claim-invalid" });
    },
  );

  it("is another group's business no more than its keys", async () => {
    expect((await read("stream=orders/eu&partition=3", MAIL_TOKEN)).status).toBe(401);
    const mail = { token: MAIL_TOKEN, method: "GET" };
    const answer = await scene.ask("mail/positions?stream=orders/eu&partition=3", undefined, mail);
    expect(answer.text).toContain('"next":null');
  });
});

describe("a token", () => {
  it.each([
    ["none", null],
    ["another group's", MAIL_TOKEN],
    ["an operator's", OPERATOR_TOKEN],
    ["a wrong one", "x".repeat(40)],
  ])("%s opens nothing, whatever is asked, and tells nothing", async (_whose, token) => {
    const claims = [freshClaim()];
    const known = await scene.ask("billing", { claims }, { token });
    const unknown = await scene.ask("no-such-group", { claims }, { token });
    expect(known).toMatchObject({ status: 401, code: "consumer-unauthorized" });
    expect(known.headers.get("www-authenticate")).toBe("Bearer");
    expect(withoutInstance(unknown.text)).toBe(withoutInstance(known.text));
    expect((await scene.ask("billing", { claims })).claims).toMatchObject([{ state: "granted", attempt: 1 }]);
  });

  it("of a group names no other group's record, though key and payload are the same", async () => {
    const one = freshClaim();
    await scene.ask("billing", { claims: [one] });
    await scene.ask("billing/complete", { claims: [{ ...owner(one), result: "secret" }] });
    const token = MAIL_TOKEN;
    expect((await scene.ask("mail/complete", { claims: [owner(one)] }, { token })).claims).toEqual([
      { state: "superseded" },
    ]);
    expect((await scene.ask("mail", { claims: [one] }, { token })).claims).toMatchObject([
      { state: "granted", attempt: 1 },
    ]);
  });

  it("of a consumer opens nothing for operators, and reaches no origin", async () => {
    const headers = { authorization: `Bearer ${BILLING_TOKEN}`, "idempotency-key": randomUUID() };
    const { url } = scene.gateway();
    expect((await fetch(`${url}/_onceway/records`, { headers })).status).toBe(401);
    const elsewhere = await fetch(`${url}/protected`, { method: "POST", headers });
    expect(elsewhere.status).toBe(401);
  });

  it("that is wrong too often is throttled for a minute, and the right one from there goes on", async () => {
    const address = randomUUID();
    const wrong = { token: "x".repeat(40), address };
    for (let times = 0; times < 10; times += 1) {
      expect((await scene.ask("mail", "{}", wrong)).status).toBe(401);
    }
    const throttled = await scene.ask("mail", "{}", wrong);
    expect(throttled).toMatchObject({ status: 429, code: "consumer-throttled" });
    expect(Number(throttled.headers.get("retry-after"))).toBeGreaterThan(50);
    const right = { token: MAIL_TOKEN, address };
    expect((await scene.ask("mail", { claims: [freshClaim()] }, right)).status).toBe(200);
  });

  it.each([
    ["wrong", "x".repeat(40)],
    ["right for another group", BILLING_TOKEN],
  ])("that is %s tells nobody which groups exist", async (_, token) => {
    const statuses: number[][] = [];
    for (const groups of [["mail"], ["no-such-group"], ["no", "such", "groups"]]) {
      const from = { token, address: randomUUID() };
      const reported: number[] = [];
      for (let times = 0; times < 12; times += 1) {
        reported.push((await scene.ask(groups[times % groups.length] ?? "", "{}", from)).status);
      }
      statuses.push(reported);
    }
    const [exists, ...others] = statuses;
    expect(exists).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    for (const other of others) expect(other).toEqual(exists);
  });

  it("counts together whatever group is named, so that the groups in between do not show which exist", async () => {
    const from = { token: "x".repeat(40), address: randomUUID() };
    for (let times = 0; times < 10; times += 1) await scene.ask("no-such-group", "{}", from);
    expect((await scene.ask("mail", "{}", from)).status).toBe(429);
  });
});

describe("a request that is refused whole", () => {
  const good = freshClaim();
  const entries = (...claims: readonly unknown[]) => ({ claims });

  it.each<readonly [string, string, unknown, string]>([
    ["no JSON", "billing", "{", 'The body must be JSON: { \\"claims\\"'],
    ["no list", "billing", {}, 'The body must be JSON: { \\"claims\\"'],
    ["an empty list", "billing", entries(), "with 1 to 100 entries"],
    ["too many", "billing", entries(...Array.from({ length: 101 }, () => freshClaim())), "with 1 to 100 entries"],
    ["no key", "billing", entries(good, { ...good, key: undefined }), "claims[1].key is missing"],
    ["an empty key", "billing", entries({ ...good, key: "" }), "claims[0].key must be ASCII"],
    ["a long key", "billing", entries({ ...good, key: "x".repeat(256) }), "claims[0].key must have at most 255"],
    ["a key that no log can show", "billing", entries({ ...good, key: "a\nb" }), "claims[0].key must be ASCII"],
    ["no payload", "billing", entries({ ...good, payloadHash: undefined }), "claims[0].payloadHash is missing"],
    [
      "a counter as its attempt",
      "billing",
      entries({ ...good, attemptId: "1" }),
      "claims[0].attemptId must be 16 to 64",
    ],
    ["an unknown member", "billing", entries({ ...good, lock: 5 }), "claims[0].lock is unknown"],
    ["a lock beyond the group's", "billing", entries({ ...good, lockMs: 300_001 }), "from 1000 to 300000"],
    [
      "a fraction of a millisecond",
      "billing",
      entries({ ...good, lockMs: 1500.5 }),
      "claims[0].lockMs must be a whole",
    ],
    [
      "a negative offset",
      "billing",
      entries({ ...good, position: { stream: "s", partition: 0, offset: -1 } }),
      "claims[0].position.offset",
    ],
    ["no effect", "billing/release", entries(owner(good)), "claims[0].effect"],
    ["an entry that is no table", "billing/extend", entries(7), "claims[0] must be a table"],
    [
      "a large result",
      "billing/complete",
      entries({ ...owner(good), result: "x".repeat(65_536) }),
      "claims[0].result must have at most 65536 bytes",
    ],
    ["a large body", "billing", `{"claims":["${"x".repeat(1 << 20)}"]}`, "must have at most 1048576 bytes"],
    ["an unknown operation", "billing/claim", entries(good), 'There is no operation \\"claim\\" here'],
    ["a part of a path", "billing/complete/x", entries(good), "There is no operation"],
  ])("%s: nothing is claimed", async (_what, path, body, reason) => {
    const answer = await scene.ask(path, body);
    expect(answer).toMatchObject({ status: 400, code: "claim-invalid" });
    expect(answer.text).toContain(reason);
  });

  it("names the method that it wants", async () => {
    const answer = await scene.ask("billing", undefined, { method: "GET" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    expect((await scene.ask("billing", { claims: [good] })).claims).toMatchObject([{ state: "granted", attempt: 1 }]);
  });
});
