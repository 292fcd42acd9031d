// Each case of ACP's rules passes what a good server shows and fails what a defective one does.

import { describe, expect, it } from "vitest";
import type { CaseObservation, RequestReply, TargetPolicy } from "../../../src/conformance/case.ts";
import { ACP } from "../../../src/conformance/cases/acp.ts";
import { copies, type Observations, reply, seen, testCases } from "./observations.ts";

const ONE = reply(201, "one", [["Idempotency-Key", "k"]]);
const TWO = reply(201, "two");
const MARKED = reply(201, "one", [["Idempotent-Replayed", "true"]]);

function error(status: number, code: string, more: object = {}, retryAfter: string | null = null): RequestReply {
  const body = JSON.stringify({ type: "invalid_request", code, message: "no", ...more });
  return reply(status, body, retryAfter === null ? [] : [["Retry-After", retryAfter]]);
}

const REQUIRED = error(400, "idempotency_key_required");
const CONFLICT = error(422, "idempotency_conflict");
const BUSY = error(409, "idempotency_in_flight", {}, "1");
const policy = (retentionSeconds: number | null): Partial<CaseObservation> => {
  const of: TargetPolicy = {
    profile: null,
    isKeyRequired: null,
    unknownOutcome: null,
    mismatchStatus: null,
    retentionSeconds,
  };
  return { policy: of };
};

const replay = {
  good: [seen({ first: ONE, again: MARKED }), seen({ first: ONE, again: ONE }, null)],
  bad: [
    seen({ first: ONE, again: TWO }, 2),
    seen({ first: ONE, again: ONE }, 2),
    seen({ first: ONE, again: reply(200, "one") }),
    seen({ first: reply(400), again: reply(400) }),
  ],
};
const reuse = {
  good: [
    seen({ first: ONE, again: CONFLICT }),
    seen({ first: ONE, again: error(422, "idempotency_conflict", { param: "$" }) }),
  ],
  bad: [
    seen({ first: ONE, again: CONFLICT }, 2),
    seen({ first: ONE, again: MARKED }),
    seen({ first: ONE, again: error(409, "idempotency_conflict") }),
    seen({ first: ONE, again: error(422, "conflict") }),
    seen({ first: ONE, again: error(422, "idempotency_conflict", { detail: "more" }) }),
    seen({ first: ONE, again: error(422, "idempotency_conflict", { message: 7 }) }),
    seen({ first: ONE, again: reply(422, "reused") }),
  ],
};
const two = {
  good: [seen({ first: ONE, again: TWO }, 2), seen({ first: ONE, again: TWO }, null)],
  bad: [
    seen({ first: ONE, again: ONE }),
    seen({ first: ONE, again: MARKED }, null),
    seen({ first: ONE, again: CONFLICT }, 1),
  ],
};
const fresh = {
  good: [seen({ first: reply(500), again: ONE }, 2)],
  bad: [
    seen({ first: reply(500), again: reply(500) }),
    seen({ first: reply(500), again: ONE }, 1),
    seen({ first: reply(500), again: CONFLICT }, 1),
  ],
};

const OBSERVATIONS: Observations = {
  "key.echo": { good: [seen({ first: ONE })], bad: [seen({ first: TWO }), seen({ first: { lost: "reset" } })] },
  "key.required": {
    good: [seen({ first: REQUIRED }, 0), seen({ first: REQUIRED }, null)],
    bad: [
      seen({ first: REQUIRED }, 1),
      seen({ first: ONE }, 1),
      seen({ first: error(422, "idempotency_key_required") }, 0),
      seen({ first: error(400, "idempotency_key_required", { status: 400 }) }, 0),
    ],
  },
  "key.255": { ...replay, bad: [...replay.bad, seen({ first: REQUIRED, again: REQUIRED }, 0)] },
  "equal.order": replay,
  "equal.number": { ...replay, bad: [...replay.bad, seen({ first: ONE, again: CONFLICT })] },
  "equal.headers": replay,
  "equal.null": reuse,
  "equal.array": reuse,
  "equal.extension": reuse,
  "scope.path": two,
  "scope.session": two,
  "scope.identity": two,
  "replay.status": replay,
  "replay.marked": {
    good: [seen({ first: ONE, again: MARKED })],
    bad: [
      seen({ first: ONE, again: ONE }),
      seen({ first: ONE, again: reply(201, "one", [["Idempotent-Replayed", "false"]]) }),
      seen({ first: ONE, again: reply(201, "one", [["Idempotency-Replayed", "true"]]) }),
    ],
  },
  "replay.update": replay,
  "conflict.body": reuse,
  "flight.body": {
    good: [seen({ first: ONE, again: BUSY })],
    bad: [
      seen({ first: ONE, again: BUSY }, 2),
      seen({ first: ONE, again: ONE }),
      seen({ first: ONE, again: CONFLICT }),
    ],
  },
  "flight.retry-after": {
    good: [seen({ first: ONE, again: BUSY })],
    bad: [seen({ first: ONE, again: error(409, "idempotency_in_flight") }), seen({ first: ONE, again: ONE })],
  },
  "flight.conflict": {
    good: [seen({ first: ONE, again: BUSY }), seen({ first: ONE, again: CONFLICT })],
    bad: [seen({ first: ONE, again: BUSY }, 2), seen({ first: ONE, again: ONE }), seen({ first: ONE, again: TWO }, 2)],
  },
  "5xx.not-kept": fresh,
  "5xx.fresh-body": fresh,
  "4xx.kept": {
    good: [seen({ first: reply(400, "no"), again: reply(400, "no") })],
    bad: [
      seen({ first: reply(400, "no"), again: ONE }, 2),
      seen({ first: reply(400, "no"), again: reply(400, "no") }, 2),
    ],
  },
  "lost.fresh": {
    good: [seen({ first: reply(502), again: ONE }, 2)],
    bad: [seen({ again: reply(409) }), seen({ again: ONE })],
  },
  "life.24h": {
    good: [seen({ first: ONE }, 1, policy(86_400))],
    bad: [seen({ first: ONE }, 1, policy(3_600)), seen({ first: reply(500) }, 1, policy(86_400))],
  },
  "life.then-new": two,
  "burst.ten": {
    good: [seen(copies(() => ONE)), seen(copies((at) => (at === 3 ? ONE : BUSY)))],
    bad: [
      seen(
        copies(() => ONE),
        2,
      ),
      seen(copies(() => BUSY)),
      seen(copies((at) => (at === 3 ? ONE : reply(500)))),
      seen(copies((at) => (at === 3 ? ONE : TWO))),
    ],
  },
  "cut.reply": { good: [seen({ again: ONE })], bad: [seen({ again: ONE }, 2), seen({ again: BUSY })] },
};

describe("ACP's cases", () => {
  testCases(ACP, OBSERVATIONS);

  it("do not judge how long answers are kept where nobody says it", () => {
    const life = ACP.find(({ id }) => id === "life.24h");
    expect(life?.judge(seen({ first: ONE }, 1, policy(null)))).toMatchObject({ is: "skipped" });
  });
});
