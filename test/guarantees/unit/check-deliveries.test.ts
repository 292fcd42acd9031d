// G9 in the checker: each rule for messages of queues accepts a good history and finds the violation in a bad one.

import { describe, it } from "vitest";
import type { HistoryEvent } from "../history.ts";
import { delivered, queueHistory, queueStory, stillParked } from "./message-story.ts";
import { acted, expectBad, expectGood, KEY, LOST, outage, verifiedAt, story } from "./story.ts";

const RULE = "G9 acknowledged means settled";
const GUESS = "G6 never two by guess";

const retry = queueStory("retry");
const hold = queueStory("hold");
const verify = queueStory("verify");

const expectGoodOf = (...events: readonly HistoryEvent[]): void => expectGood(queueHistory(...events));
const expectBadOf = (...events: readonly HistoryEvent[]): void => expectBad(queueHistory(...events), RULE);

/** The origin's answer has its last byte at 30. */
const done = retry.got(1, "m/1", 20);
const completed = [retry.sent("m"), done, acted(done)] as const;

const rejected = retry.got(1, "m/1", 20, { status: 402 });
const unsettled = [retry.sent("m"), rejected, acted(rejected)] as const;

const lost = hold.got(1, "m/1", 20, { ...LOST, closedAt: 40 });
/** Its outcome is unknown, and it was acknowledged. */
const parked = [
  hold.sent("m"),
  lost,
  acted(lost),
  delivered("m", 1, 10, 50, "retried"),
  delivered("m", 2, 1_600, 1_650),
] as const;

describe("a message", () => {
  it("is acknowledged after its result, and not before", () => {
    expectGoodOf(...completed, delivered("m", 1, 10, 40));
    expectBadOf(...completed, delivered("m", 1, 10, 28));
    expectBadOf(...completed, delivered("m", 1, 10, 28, "ack-lost"), delivered("m", 2, 130, 150));
  });

  it("is acknowledged after the beginning of a result that is too large to be kept", () => {
    const large = retry.got(1, "m/1", 20, { bytes: 10 ** 9, lastAt: null, closedAt: 900 });
    expectGoodOf(retry.sent("m"), large, delivered("m", 1, 10, 30));
  });

  it("with a result that does not settle it is acknowledged after its dead letter", () => {
    const letter = retry.died("m", "rejected", 35, { status: 402 });
    expectGoodOf(...unsettled, letter, delivered("m", 1, 10, 40));
    expectBadOf(...unsettled, letter, delivered("m", 1, 10, 33));
    expectBadOf(...unsettled, delivered("m", 1, 10, 40));
  });

  it("is not acknowledged for the result of another content under its key", () => {
    const other = retry.sent("n", { fingerprint: "other", bodySha256: "other" });
    const letter = retry.died("n", "key-reused", 65, { bodySha256: "other" });
    expectGoodOf(...completed, delivered("m", 1, 10, 40), other, letter, delivered("n", 1, 60, 70));
    expectBadOf(...completed, delivered("m", 1, 10, 40), other, delivered("n", 1, 60, 70));
  });

  it("is acknowledged for the result of the same content, and for what an operator or the origin says", () => {
    expectGoodOf(...completed, delivered("m", 1, 10, 40), retry.sent("n"), delivered("n", 1, 60, 70));
    expectGoodOf(...parked, hold.changed(-1, "resolve", 5_000));
    expectGoodOf(...parked, hold.changed(-1, "forget", 5_000));
    const asked = verify.got(1, "m/1", 20, { ...LOST, closedAt: 40 });
    const found = verifiedAt(2, 1_700, { scope: asked.scope, credential: asked.credential, effect: "e1" });
    const first = delivered("m", 1, 10, 50, "retried");
    expectGoodOf(verify.sent("m"), asked, acted(asked), first, found, delivered("m", 2, 1_600, 1_720));
  });

  it("is parked only unknown, and only where its rule says so", () => {
    expectBadOf(retry.sent("m"), { ...lost, path: done.path, scope: done.scope }, delivered("m", 2, 1_600, 1_650));
    // Its attempt is still in flight.
    const slow = hold.got(1, "m/1", 20, { headAt: 500, lastAt: 510, closedAt: 511 });
    expectBadOf(hold.sent("m"), slow, delivered("m", 1, 10, 700), delivered("m", 2, 100, 200));
    expectGoodOf(
      hold.sent("m"),
      slow,
      delivered("m", 1, 10, 700),
      delivered("m", 2, 100, 200),
      outage("killed", 90, 120),
    );
    const asked = verify.got(1, "m/1", 20, { ...LOST, closedAt: 40 });
    const resolved = verify.changed(-1, "resolve", 9_000);
    const first = delivered("m", 1, 10, 50, "retried");
    expectBadOf(verify.sent("m"), asked, first, delivered("m", 3, 4_000, 4_100), resolved);
    expectGoodOf(verify.sent("m"), asked, first, delivered("m", 3, 5_000, 5_100), resolved);
  });

  it("is not lost after it was parked", () => {
    expectBadOf(...parked);
    expectGood(story(...parked, { ...stillParked(KEY), isReleased: false }));
    expectGoodOf(...parked, hold.changed(-1, "release", 2_000), hold.got(2, "m/2", 2_010));
    const refused = hold.changed(-1, "resolve", 2_000, { outcome: "refused" });
    expectBadOf(...parked, refused);
  });

  it("is delivered until it is settled, and each delivery decides", () => {
    expectBadOf(...completed);
    expectBadOf(...completed, delivered("m", 1, 10, 40, "ack-lost"));
    expectBadOf(...completed, delivered("m", 1, 10, 40, "undecided"), delivered("m", 2, 60, 80));
    expectBad(story(...parked, hold.changed(-1, "release", 2_000), stillParked(KEY)), RULE);
    expectBad(story(...completed, delivered("m", 1, 10, 40)), RULE);
    expectBad(story(...completed, delivered("m", 1, 10, 40), stillParked("unread")), RULE);
  });

  it("takes no second effect after it was acknowledged, and none by guess", () => {
    const again = retry.got(2, "n/1", 100);
    const twice = [retry.sent("n"), again, delivered("n", 1, 90, 130)];
    expectBadOf(...completed, delivered("m", 1, 10, 40), ...twice);
    const resolved = [retry.sent("m"), retry.changed(-1, "resolve", 20), delivered("m", 1, 40, 45)];
    const anew = retry.got(2, "n/1", 100, { attempt: 1 });
    expectGoodOf(...resolved, retry.changed(-2, "forget", 50), retry.sent("n"), anew, delivered("n", 1, 90, 130));
    expectBad(queueHistory(...parked, hold.got(2, "m/2", 1_610)), GUESS);
    const after = hold.got(2, "m/2", 1_610, { ...LOST, closedAt: 1_620 });
    expectGoodOf(...parked, hold.changed(-1, "release", 1_605), after, hold.changed(-2, "resolve", 5_000));
  });
});

describe("a result that does not settle a message", () => {
  it("has a dead letter, also of a parked one, unless somebody wants that nothing is left", () => {
    const resolved = hold.changed(-1, "resolve", 5_000, { status: 402 });
    expectGoodOf(...parked, resolved, hold.died("m", "rejected", 5_100, { status: 402 }));
    expectBadOf(...parked, resolved);
    expectGoodOf(...parked, resolved, hold.changed(-2, "forget", 6_000));
    expectBadOf(...unsettled, delivered("m", 1, 10, 40), retry.changed(-2, "forget", 6_000, { outcome: "refused" }));
  });

  it("has one also if the origin has sent another result, which was lost with the gateway", () => {
    const sent = hold.got(1, "m/1", 20);
    const killed = [outage("killed", 25, 60), delivered("m", 1, 10, 40, "lost"), delivered("m", 2, 1_600, 1_650)];
    const resolved = [
      hold.sent("m"),
      sent,
      acted(sent),
      ...killed,
      hold.changed(-1, "resolve", 5_000, { status: 402 }),
    ];
    expectGoodOf(...resolved, hold.died("m", "rejected", 5_100, { status: 402 }));
    expectBadOf(...resolved);
  });
});

describe("a dead letter", () => {
  const letter = retry.died("m", "rejected", 35, { status: 402 });
  const over = delivered("m", 1, 10, 40);

  it("is of its own message, and says what is so", () => {
    expectGoodOf(...unsettled, letter, over);
    expectBadOf(...unsettled, { ...letter, letter: "chaos-retry/n" }, over);
    expectBadOf(...unsettled, { ...letter, bodySha256: "other" }, over);
    expectBadOf(...unsettled, { ...letter, messageSentAt: 5 }, over);
    expectBadOf(...unsettled, { ...letter, status: 404 }, over);
    expectBadOf(...unsettled, letter, { ...letter, reason: "key-missing", at: 36 }, over);
    expectBadOf(...completed, retry.died("m", "rejected", 35, { status: 201 }), over);
  });

  it("for another content under the key is of a key that has one", () => {
    const reused = retry.died("m", "key-reused", 35);
    expectBadOf(...unsettled, letter, reused, over);
    expectGoodOf(...unsettled, letter, retry.sent("n", { fingerprint: "other" }), delivered("n", 1, 20, 60), over, {
      ...reused,
      message: "n",
      letter: "chaos-retry/n",
      at: 50,
    });
  });

  it("of a message that is given up comes when it is old, after an attempt without effect", () => {
    const refused = retry.got(1, "m/4", 6_000, { step: "refuse", status: 503 });
    const late = delivered("m", 4, 5_990, 6_100);
    expectGoodOf(retry.sent("m"), refused, retry.died("m", "exhausted", 6_050), late);
    expectBadOf(
      retry.sent("m", { sentAt: 2_000 }),
      refused,
      retry.died("m", "exhausted", 6_050, { messageSentAt: 2_000 }),
      late,
    );
    expectBadOf(retry.sent("m"), retry.died("m", "exhausted", 6_050), late);
    for (const kind of ["origin-refuses", "lag"] as const) {
      expectGoodOf(retry.sent("m"), retry.died("m", "exhausted", 6_050), late, outage(kind, 5_000, 6_100));
    }
  });

  it("of a parked message with an unknown outcome comes when its record has expired", () => {
    const DAY_MS = 86_400_000;
    expectGoodOf(...parked, hold.died("m", "outcome-unknown", 5 * DAY_MS));
    expectBadOf(...parked, hold.died("m", "outcome-unknown", 3 * DAY_MS));
    const again = delivered("m", 3, 2 * DAY_MS, 2 * DAY_MS + 50);
    const released = [hold.changed(-1, "release", 2 * DAY_MS - 10), hold.got(2, "m/3", 2 * DAY_MS + 5, LOST), again];
    expectBadOf(...parked, ...released, hold.died("m", "outcome-unknown", 5 * DAY_MS));
    expectBadOf(
      hold.sent("m"),
      hold.got(1, "m/1", 20),
      delivered("m", 1, 10, 40),
      hold.died("m", "outcome-unknown", 5 * DAY_MS),
    );
    expectBadOf(...completed, delivered("m", 1, 10, 40), retry.died("m", "outcome-unknown", 5 * DAY_MS));
  });
});

describe("poison", () => {
  const poison = retry.sent("p", { key: "", poison: "key-missing" });
  const letter = retry.died("p", "key-missing", 30);

  it("is a dead letter with its reason, and then acknowledged", () => {
    expectGoodOf(poison, letter, delivered("p", 1, 10, 40));
    expectGoodOf(poison, letter, delivered("p", 1, 10, 40, "retried"), delivered("p", 2, 1_000, 1_010));
    expectBadOf(poison, delivered("p", 1, 10, 40));
    expectBadOf(poison, letter, delivered("p", 1, 10, 20));
    expectBadOf(poison, { ...letter, reason: "message-invalid" }, delivered("p", 1, 10, 40));
    expectBadOf(poison, letter, delivered("p", 1, 10, 40, "retried"));
    expectBadOf(poison, letter, delivered("p", 1, 10, 40, "undecided"), delivered("p", 2, 1_000, 1_010));
    expectBadOf(poison);
  });
});
