// Each case of the suite passes what a good server shows and fails what a defective one does. The observations are made by hand, so a
// judge that always agrees, or never looks, does not pass here.

import { describe, expect, it } from "vitest";
import type { CaseObservation, ConformanceCase, RequestReply, TargetPolicy } from "../../../src/conformance/case.ts";
import { CASES, selectCases } from "../../../src/conformance/catalogue.ts";
import { ALL_BYTES, GZIPPED, LARGE } from "../../../src/conformance/cases/bytes.ts";
import { PROFILE } from "../../../src/conformance/cases/expiry.ts";
import { PIECES } from "../../../src/conformance/cases/streaming.ts";
import type { HeaderPair } from "../../../src/conformance/http-response.ts";
import { call, type Replies, reply, seen, SENT } from "./observations.ts";

const WHOLE = PIECES.join("");

const ONE = reply(201, "one");
const TWO = reply(201, "two");
const MARKED = reply(201, "one", [["Idempotent-Replayed", "true"]]);
const CONFLICT = reply(409, "busy", [["Retry-After", "1"]]);
const REUSED = reply(422, "reused");
const PROBLEM: readonly HeaderPair[] = [["Content-Type", "application/problem+json"]];
const EARLY = { early: ["copy"] };
const POLICY: TargetPolicy = {
  profile: PROFILE,
  isKeyRequired: true,
  unknownOutcome: "hold",
  mismatchStatus: 422,
  retentionSeconds: 86_400,
};
const REPEATS = { policy: { ...POLICY, unknownOutcome: "retry" } };
const copies = (make: (at: number) => RequestReply): Replies =>
  Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`copy.${at}`, make(at)]));
const described = (...names: readonly string[]): RequestReply =>
  reply(
    201,
    "one",
    (
      [
        ["Content-Type", "application/vnd.conformance+json"],
        ["Location", "/things/7"],
        ["ETag", '"v7"'],
        ["Link", '</one>; rel="next"'],
        ["Link", '</two>; rel="prev"'],
      ] as const
    ).filter(([name]) => names.length === 0 || names.includes(name)),
  );
const gzipped = (body = GZIPPED, headers: readonly HeaderPair[] = [["Content-Encoding", "gzip"]]): RequestReply =>
  reply(201, body, headers);
const HALF = reply(200, PIECES[0]);

const twoKeys = {
  good: [seen({ first: ONE, again: TWO }, 2), seen({ first: reply(400), again: reply(400) }, 0)],
  bad: [seen({ first: ONE, again: ONE }, 1), seen({ first: ONE, again: ONE }, null)],
};
const refused = {
  good: [seen({ first: reply(400) }, 0), seen({ first: reply(400) }, null)],
  bad: [
    seen({ first: ONE }, 1),
    seen({ first: reply(400) }, 1),
    seen({ first: reply(500) }, 0),
    seen({ first: { lost: "" } }, 0),
  ],
};
const replayed = {
  good: [seen({ first: ONE, again: MARKED }), seen({ first: ONE, again: ONE }, null)],
  bad: [
    seen({ first: ONE, again: TWO }, 2),
    seen({ first: ONE, again: ONE }, 2),
    seen({ first: ONE, again: reply(200, "one") }),
    seen({ first: ONE, again: CONFLICT }),
    seen({ first: ONE, again: reply(201, "one", [], false) }),
    seen({ first: reply(500), again: reply(500) }),
  ],
};
const notAnswered = {
  good: [seen({ first: ONE, again: REUSED }), seen({ first: ONE, again: TWO }, 2)],
  bad: [seen({ first: ONE, again: MARKED }), seen({ first: ONE, again: ONE }, 2)],
};
const once = { good: [seen({ first: CONFLICT, copy: CONFLICT })], bad: [seen({ first: ONE, copy: ONE }, 2)] };
const notRepeated = {
  good: [seen({ first: reply(502), again: reply(409) }), seen({ first: reply(502), again: ONE }, 2, REPEATS)],
  bad: [seen({ first: reply(502), again: ONE }, 2), seen({ first: reply(502), again: ONE }, 2, { policy: POLICY })],
};
const notNow = (status: number) => ({
  good: [seen({ first: reply(status), again: ONE }, 2)],
  bad: [seen({ first: reply(status), again: reply(status) }, 1), seen({ first: reply(500), again: ONE }, 2)],
});
const emptyAnswer = (status: number) => ({
  good: [seen({ first: reply(status), again: reply(status) })],
  bad: [seen({ first: reply(status), again: reply(status) }, 2), seen({ first: ONE, again: ONE })],
});
const explained = (name: string, status: number, others: Replies = {}, more: Partial<CaseObservation> = {}) => ({
  good: [
    seen({ ...others, [name]: reply(status, "{}", PROBLEM) }, 1, more),
    seen({ ...others, [name]: reply(status, "", [["Link", '</docs>; rel="describedby"']]) }, 1, more),
  ],
  bad: [seen({ ...others, [name]: reply(status, "no") }, 1, more), seen({ ...others, [name]: ONE }, 1, more)],
});

const OBSERVATIONS: Readonly<
  Record<string, { readonly good: readonly CaseObservation[]; readonly bad: readonly CaseObservation[] }>
> = {
  "syntax.quoted": { good: [seen({ first: ONE })], bad: [seen({ first: reply(400) }, 0)] },
  "syntax.bare": { good: [seen({ first: ONE })], bad: [seen({ first: reply(400) }, 0)] },
  "syntax.one-key": replayed,
  "syntax.escapes": twoKeys,
  "syntax.letter-case": twoKeys,
  "syntax.long": twoKeys,
  "syntax.length": { good: [seen({ first: ONE })], bad: [seen({ first: reply(400) }, 0)] },
  "syntax.unfinished": refused,
  "syntax.trailing": refused,
  "syntax.list": refused,
  "syntax.bad-escape": refused,
  "syntax.repeated": refused,
  "syntax.empty": twoKeys,
  "syntax.missing": refused,
  "syntax.missing-form": explained("first", 400),
  "replay.first": { good: [seen({ first: ONE })], bad: [seen({ first: ONE }, 2), seen({ first: reply(409) }, 0)] },
  "replay.request-unchanged": {
    good: [seen({ first: reply(202, '{"as":"it is"}') })],
    bad: [
      seen({ first: reply(202, '{"as":"it is"}') }, [call('{ "amount": 100 }')]),
      seen({ first: reply(202, '{"as":"it is"}') }, [call(SENT, "/pay")]),
      seen({ first: reply(200, '{"as":"it is"}') }),
      seen({ first: reply(202, '{"as": "it is"}') }),
      seen({ first: { lost: "reset" } }),
      seen({ first: reply(202, '{"as":"it is"}') }, 0),
    ],
  },
  "replay.same": replayed,
  "replay.headers": {
    good: [seen({ first: described(), again: described() })],
    bad: [
      seen({ first: described(), again: described("Content-Type", "Location", "Link") }),
      seen({ first: described(), again: reply(201, "one", [["Link", '</two>; rel="prev"']]) }),
    ],
  },
  "replay.cookies": {
    good: [seen({ first: reply(201, "one", [["Set-Cookie", "s=1"]]), again: ONE })],
    bad: [
      seen({ first: reply(201, "one", [["Set-Cookie", "s=1"]]), again: reply(201, "one", [["set-cookie", "s=1"]]) }),
      seen({ first: ONE, again: ONE }),
    ],
  },
  "replay.marked": {
    good: [
      seen({ first: ONE, again: MARKED }),
      seen({ first: ONE, again: reply(201, "one", [["Idempotency-Status", "replayed"]]) }),
    ],
    bad: [
      seen({ first: ONE, again: ONE }),
      seen({ first: ONE, again: reply(201, "one", [["Idempotent-Replayed", "false"]]) }),
    ],
  },
  "replay.first-unmarked": { good: [seen({ first: ONE })], bad: [seen({ first: MARKED })] },
  "replay.always": {
    good: [seen({ first: ONE, a: ONE, b: ONE, c: ONE, d: ONE })],
    bad: [
      seen({ first: ONE, a: ONE, b: ONE, c: ONE, d: TWO }),
      seen({ first: ONE, a: ONE, b: ONE, c: ONE, d: ONE }, 2),
    ],
  },
  "replay.new-key": {
    good: [seen({ first: ONE, again: TWO }, 2)],
    bad: [
      seen({ first: ONE, again: ONE }),
      seen({ first: ONE, again: ONE }, null),
      seen({ first: ONE, again: REUSED }, 1),
    ],
  },
  "mismatch.body": {
    good: [seen({ first: ONE, again: REUSED }), seen({ first: ONE, again: reply(409) })],
    bad: [
      seen({ first: ONE, again: MARKED }),
      seen({ first: ONE, again: TWO }, 2),
      seen({ first: ONE, again: REUSED }, 2),
    ],
  },
  "mismatch.status": {
    good: [seen({ again: REUSED }), seen({ again: reply(409) }, 1, { policy: { ...POLICY, mismatchStatus: 409 } })],
    bad: [seen({ again: reply(409) }), seen({ again: ONE })],
  },
  "mismatch.form": explained("again", 422),
  "mismatch.query": notAnswered,
  "mismatch.path": notAnswered,
  "mismatch.method": notAnswered,
  "mismatch.first-kept": {
    good: [seen({ first: ONE, other: REUSED, again: MARKED })],
    bad: [seen({ first: ONE, other: TWO, again: TWO }, 2), seen({ first: ONE, other: REUSED, again: REUSED })],
  },
  "mismatch.in-flight": {
    good: [seen({ first: ONE, again: REUSED })],
    bad: [seen({ first: ONE, again: CONFLICT }), seen({ first: ONE, again: TWO }, 2)],
  },
  "concurrency.one": {
    good: [
      seen({ ...copies(() => ONE), again: MARKED }),
      seen({ ...copies((at) => (at === 3 ? ONE : CONFLICT)), again: ONE }, null),
    ],
    bad: [
      seen({ ...copies(() => ONE), again: ONE }, 10),
      seen({ ...copies((at) => (at === 3 ? TWO : ONE)), again: ONE }, null),
      seen({ ...copies((at) => (at === 3 ? reply(500) : ONE)), again: ONE }),
      seen({ ...copies(() => CONFLICT), again: CONFLICT }),
    ],
  },
  "concurrency.in-flight": {
    good: [seen({ first: ONE, copy: CONFLICT }, 1, EARLY), seen({ first: ONE, copy: ONE })],
    bad: [
      seen({ first: ONE, copy: reply(500) }, 1, EARLY),
      seen({ first: ONE, copy: CONFLICT }),
      seen({ first: ONE, copy: ONE }, 2),
    ],
  },
  "concurrency.after": replayed,
  "concurrency.retry-after": {
    good: [seen({ copy: CONFLICT }, 1, EARLY)],
    bad: [seen({ copy: reply(409) }, 1, EARLY), seen({ copy: ONE }, 2, EARLY)],
  },
  "concurrency.form": explained("copy", 409, {}, EARLY),
  "concurrency.lock": once,
  "scopes.callers": {
    good: [seen({ first: ONE, theirs: TWO }, 2), seen({ first: ONE, theirs: reply(401) })],
    bad: [seen({ first: ONE, theirs: MARKED })],
  },
  "scopes.anonymous": {
    good: [seen({ first: ONE, theirs: reply(401) })],
    bad: [seen({ first: ONE, theirs: ONE })],
  },
  "scopes.separate": {
    good: [seen({ first: ONE, theirs: TWO, again: ONE }, 2), seen({ first: ONE, theirs: TWO, again: ONE }, null)],
    bad: [
      seen({ first: ONE, theirs: REUSED, again: ONE }),
      seen({ first: ONE, theirs: ONE, again: ONE }, null),
      seen({ first: ONE, theirs: TWO, again: TWO }, 2),
    ],
  },
  "scopes.payload": {
    good: [seen({ first: ONE, theirs: TWO }, 2), seen({ first: ONE, theirs: reply(401) })],
    bad: [
      seen({ first: ONE, theirs: REUSED }),
      seen({ first: ONE, theirs: CONFLICT }),
      seen({ first: ONE, theirs: reply(417) }),
    ],
  },
  "bytes.request": {
    good: [seen({ first: ONE }, [call(ALL_BYTES)])],
    bad: [seen({ first: ONE }, [call(Buffer.from(ALL_BYTES, "latin1").toString())]), seen({ first: reply(415) }, 0)],
  },
  "bytes.compared": {
    good: [seen({ first: ONE, again: REUSED })],
    bad: [seen({ first: ONE, again: ONE }), seen({ first: ONE, again: TWO }, 2)],
  },
  "bytes.response": {
    good: [seen({ first: reply(201, ALL_BYTES), again: reply(201, ALL_BYTES) })],
    bad: [
      seen({ first: reply(201, ALL_BYTES), again: reply(201, ALL_BYTES.slice(0, 128)) }),
      seen({ first: reply(201, "?"), again: reply(201, "?") }),
      seen({ first: reply(201, ALL_BYTES), again: reply(201, ALL_BYTES) }, 2),
    ],
  },
  "bytes.encoded": {
    good: [
      seen({ first: gzipped(), again: gzipped() }),
      seen({ first: gzipped('{"zipped":true}', []), again: gzipped('{"zipped":true}', []) }),
    ],
    bad: [
      seen({ first: gzipped(), again: gzipped(GZIPPED, []) }),
      seen({ first: gzipped(GZIPPED, []), again: gzipped(GZIPPED, []) }),
      seen({ first: gzipped('{"zipped":true}'), again: gzipped('{"zipped":true}') }),
      seen({ first: gzipped(), again: gzipped("?") }),
    ],
  },
  "bytes.no-content": emptyAnswer(204),
  "bytes.empty": emptyAnswer(200),
  "bytes.large": {
    good: [
      seen({ first: reply(201, LARGE), again: reply(201, LARGE) }),
      seen({ first: reply(201, LARGE), again: reply(409) }),
    ],
    bad: [
      seen({ first: reply(201, LARGE), again: reply(201, LARGE) }, 2),
      seen({ first: reply(201, LARGE), again: reply(201, LARGE.slice(1)) }),
      seen({ first: reply(201, LARGE.slice(1)), again: reply(409) }),
    ],
  },
  "streaming.progressive": {
    good: [seen({ first: reply(200, WHOLE) }, 1, { early: ["first"] })],
    bad: [seen({ first: reply(200, WHOLE) }), seen({ first: reply(502) }, 1, { early: ["first"] })],
  },
  "streaming.replayed": {
    good: [seen({ first: reply(200, WHOLE), again: reply(200, WHOLE) })],
    bad: [
      seen({ first: reply(200, WHOLE), again: HALF }),
      seen({ first: HALF, again: HALF }),
      seen({ first: reply(200, WHOLE), again: reply(200, WHOLE) }, 2),
    ],
  },
  "streaming.duplicate": {
    good: [
      seen({ first: reply(200, WHOLE), copy: CONFLICT }),
      seen({ first: reply(200, WHOLE), copy: reply(200, WHOLE) }),
    ],
    bad: [seen({ first: reply(200, WHOLE), copy: HALF }), seen({ first: reply(200, WHOLE), copy: CONFLICT }, 2)],
  },
  "streaming.leaver": {
    good: [seen({ first: { lost: "left" }, again: reply(200, WHOLE) })],
    bad: [seen({ again: HALF }), seen({ again: reply(200, WHOLE) }, 2), seen({ again: CONFLICT })],
  },
  "streaming.cut": {
    good: [
      seen({ first: reply(200, PIECES[0], [], false) }),
      seen({ first: reply(502) }),
      seen({ first: { lost: "reset" } }),
    ],
    bad: [seen({ first: HALF })],
  },
  "streaming.cut-retry": { ...notRepeated, bad: [...notRepeated.bad, seen({ again: HALF })] },
  "failures.client-error": {
    good: [seen({ first: reply(402, "declined"), again: reply(402, "declined") })],
    bad: [seen({ first: reply(402, "declined"), again: ONE }, 2), seen({ first: reply(500), again: reply(500) })],
  },
  "failures.server-error": notRepeated,
  "failures.unavailable": notNow(503),
  "failures.throttled": notNow(429),
  "failures.dropped": { ...notRepeated, bad: [...notRepeated.bad, seen({ first: ONE, again: ONE })] },
  "failures.dropped-reported": {
    good: [seen({ first: reply(502) }), seen({ first: reply(504) })],
    bad: [seen({ first: reply(500) }), seen({ first: { lost: "timeout" } })],
  },
  "failures.leaver": {
    good: [seen({ first: { lost: "left" }, again: ONE })],
    bad: [seen({ again: ONE }, 2), seen({ again: CONFLICT })],
  },
  "failures.unreachable": {
    good: [seen({ first: reply(502), again: ONE })],
    bad: [
      seen({ first: reply(502), again: reply(502) }, 0),
      seen({ first: ONE, again: ONE }),
      seen({ first: reply(502), again: ONE }, 2),
    ],
  },
  "crash.finished": replayed,
  "crash.mismatch": {
    good: [seen({ first: ONE, again: REUSED })],
    bad: [seen({ first: ONE, again: TWO }, 2), seen({ first: ONE, again: ONE })],
  },
  "crash.in-flight": notRepeated,
  "crash.not-stuck": {
    good: [seen({ again: reply(409, '{"retryable":false}') }), seen({ again: ONE })],
    bad: [seen({ again: reply(409) }), seen({ again: CONFLICT }), seen({ again: { lost: "timeout" } })],
  },
  "crash.stream": {
    ...notRepeated,
    bad: [...notRepeated.bad, seen({ first: HALF, again: reply(409) }), seen({ first: reply(502), again: HALF })],
  },
  "expiry.published": {
    good: [seen({}, 0, { policy: POLICY })],
    bad: [seen({}, 0), seen({}, 0, { policy: { ...POLICY, retentionSeconds: null } })],
  },
  "expiry.profile": {
    good: [seen({}, 0, { policy: POLICY })],
    bad: [seen({}, 0), seen({}, 0, { policy: { ...POLICY, profile: "other" } })],
  },
  "expiry.reported": {
    good: [seen({ first: reply(201, "one", [["Idempotency-Expires", "Thu, 01 Jan 2026 00:00:00 GMT"]]) })],
    bad: [seen({ first: ONE })],
  },
  "expiry.kept": replayed,
  "expiry.ended": {
    good: [seen({ first: ONE, again: TWO }, 2), seen({ first: ONE, again: reply(409) })],
    bad: [
      seen({ first: ONE, again: ONE }),
      seen({ first: ONE, again: reply(201, "", [["Idempotent-Replayed", "true"]]) }),
    ],
  },
};

const find = (id: string): ConformanceCase | undefined => CASES.find((one) => one.id === id);

describe("the cases", () => {
  it("have unique ids, and an observation of each kind", () => {
    expect(new Set(CASES.map(({ id }) => id)).size).toBe(CASES.length);
    expect(Object.keys(OBSERVATIONS)).toEqual(CASES.map(({ id }) => id));
  });

  it.each(Object.keys(OBSERVATIONS))("%s passes a good server and fails a defective one", (id) => {
    const judge = find(id)?.judge;
    const { good = [], bad = [] } = OBSERVATIONS[id] ?? {};
    expect(good.map((one) => judge?.(one))).toEqual(good.map(() => ({ is: "passed" })));
    expect(bad.map((one) => judge?.(one))).toEqual(bad.map(() => ({ is: "failed", why: expect.stringMatching(/./) })));
  });

  it("do not pass what does not apply", () => {
    expect(find("syntax.one-key")?.judge(seen({ first: ONE, again: reply(400) }))).toMatchObject({ is: "skipped" });
    for (const id of ["concurrency.retry-after", "concurrency.form"]) {
      expect(find(id)?.judge(seen({ first: ONE, copy: ONE }))).toMatchObject({ is: "skipped" });
    }
  });

  it("are selected by group and by id", () => {
    expect(selectCases(["crash", "replay.same"]).cases.map(({ id }) => id)).toEqual([
      "replay.same",
      "crash.finished",
      "crash.mismatch",
      "crash.in-flight",
      "crash.not-stuck",
      "crash.stream",
    ]);
    expect(selectCases(["replay.sam", "none"])).toEqual({ cases: [], unknown: ["replay.sam", "none"] });
    expect(selectCases([]).cases).toBe(CASES);
  });
});
