// Each case of the profile for AdCP passes what a good server shows and fails what a defective one does.

import { describe, expect, it } from "vitest";
import type { RequestReply } from "../../../src/conformance/case.ts";
import { ADCP } from "../../../src/conformance/cases/adcp.ts";
import { copies, type Observations, reply, seen, testCases } from "./observations.ts";

function task(id: unknown, content: object, isError = false, status = 200): RequestReply {
  const result = { content: [], ...(isError ? { isError } : null), structuredContent: content };
  return reply(status, JSON.stringify({ jsonrpc: "2.0", id, result }));
}
const bought = (id: unknown, more: object = {}): RequestReply =>
  task(id, { status: "completed", media_buy_id: "mb-1", ...more });
const boughtAgain = (id: unknown, more: object = {}): RequestReply =>
  task(id, { status: "completed", media_buy_id: "mb-2", ...more });
const error = (id: unknown, code: string, more: object = {}): RequestReply =>
  task(id, { adcp_error: { code, message: "no", recovery: "correctable", ...more } }, true);

const FIRST = bought(7);
const REPLAY = bought("next", { replayed: true });
const replay = {
  good: [seen({ first: FIRST, again: REPLAY }), seen({ first: FIRST, again: REPLAY }, null)],
  bad: [
    // Without an origin two payloads are two operations.
    seen({ first: FIRST, again: boughtAgain("next", { replayed: true }) }, null),
    seen({ first: FIRST, again: FIRST }),
    seen({ first: FIRST, again: REPLAY }, 2),
    seen({ first: FIRST, again: boughtAgain("next") }),
    seen({ first: FIRST, again: error("next", "IDEMPOTENCY_CONFLICT") }),
    seen({ first: FIRST, again: { lost: "timeout" } }),
  ],
};
const refused = (code: string, calls: number) => ({
  good: [seen({ first: FIRST, again: error("next", code) }, calls)],
  bad: [
    seen({ first: FIRST, again: error("next", code) }, calls + 1),
    seen({ first: FIRST, again: error(7, code) }, calls),
    seen({ first: FIRST, again: error("next", "OTHER") }, calls),
    seen({ first: FIRST, again: task("next", { adcp_error: { code, recovery: "terminal" } }) }, calls),
    seen({ first: FIRST, again: task("next", { adcp_error: { code, recovery: "terminal" } }, true, 409) }, calls),
    seen({ first: FIRST, again: REPLAY }, calls),
    seen({ first: FIRST, again: reply(422, "{}") }, calls),
  ],
});
const conflict = refused("IDEMPOTENCY_CONFLICT", 1);
const fresh = {
  good: [seen({ first: error(7, "NO"), again: FIRST }, 2)],
  bad: [seen({ first: error(7, "NO"), again: error("next", "NO") }), seen({ first: error(7, "NO"), again: FIRST }, 1)],
};
const two = {
  good: [seen({ first: FIRST, again: boughtAgain(7) }, 2), seen({ first: FIRST, again: boughtAgain("next") }, null)],
  bad: [
    seen({ first: FIRST, again: REPLAY }, null),
    seen({ first: FIRST, again: REPLAY }),
    seen({ first: FIRST, again: error("next", "IDEMPOTENCY_CONFLICT") }),
  ],
};
const capabilities = (seconds: unknown): RequestReply =>
  task(7, { adcp: { idempotency: { replay_ttl_seconds: seconds } } });
const IN_FLIGHT = error("next", "IDEMPOTENCY_IN_FLIGHT", { retry_after: 1 });

const OBSERVATIONS: Observations = {
  "caps.declared": {
    good: [seen({ first: capabilities(86_400) }, null)],
    bad: [
      seen({ first: capabilities(60) }, null),
      seen({ first: capabilities(700_000) }, null),
      seen({ first: task(7, {}) }, null),
    ],
  },
  "first.unmarked": {
    good: [seen({ first: FIRST }), seen({ first: bought(7, { replayed: false }) })],
    bad: [seen({ first: bought(7, { replayed: true }) })],
  },
  "replay.payload": replay,
  "replay.replayed": { good: replay.good, bad: [seen({ first: FIRST, again: bought("next") })] },
  "replay.context": {
    good: [seen({ first: FIRST, again: bought("next", { context: { trace: "second" } }) })],
    bad: [seen({ first: FIRST, again: REPLAY }), seen({ again: bought("next", { context: { trace: "first" } }) })],
  },
  excluded: replay,
  included: conflict,
  "conflict.code": conflict,
  "conflict.no-leak": {
    good: conflict.good,
    bad: [
      seen({ again: error("next", "IDEMPOTENCY_CONFLICT", { message: "the budget was 918273" }) }),
      seen({ again: error("next", "IDEMPOTENCY_CONFLICT", { of: "mb-1" }) }),
    ],
  },
  "conflict.tool": conflict,
  "key.missing": refused("INVALID_REQUEST", 0),
  "key.pattern": refused("INVALID_REQUEST", 0),
  "key.read-optional": {
    good: [seen({ first: FIRST, again: boughtAgain(7) }, 2), seen({ first: FIRST, again: FIRST }, null)],
    bad: two.bad,
  },
  "conflict.in-flight": conflict,
  "error.not-kept": fresh,
  "error.status": fresh,
  "error.corrected": fresh,
  "limited.not-kept": fresh,
  "submitted.kept": replay,
  "flight.policy": {
    good: [...replay.good, seen({ first: FIRST, again: IN_FLIGHT })],
    bad: [seen({ first: FIRST, again: IN_FLIGHT }, 2), seen({ first: FIRST, again: error("next", "OTHER") })],
  },
  "flight.retry-after": {
    good: [seen({ again: IN_FLIGHT })],
    bad: [seen({ again: error("next", "IDEMPOTENCY_IN_FLIGHT") })],
  },
  "scope.account": two,
  "scope.agent": two,
  "burst.ten": {
    good: [seen(copies(() => FIRST)), seen(copies((at) => (at === 2 ? FIRST : error(7, "IDEMPOTENCY_IN_FLIGHT"))))],
    bad: [
      seen(
        copies(() => FIRST),
        2,
      ),
      seen(copies(() => error(7, "IDEMPOTENCY_IN_FLIGHT"))),
      seen(
        copies((at) => (at === 2 ? boughtAgain(7) : FIRST)),
        null,
      ),
      seen(
        copies((at) => (at === 2 ? FIRST : { lost: "timeout" })),
        null,
      ),
    ],
  },
  "cut.reply": { good: [seen({ again: FIRST })], bad: [seen({ again: FIRST }, 2), seen({ again: reply(409) })] },
  expired: refused("IDEMPOTENCY_EXPIRED", 1),
};

describe("the cases for AdCP", () => {
  testCases(ADCP, OBSERVATIONS);

  it("leave out what cannot be seen", () => {
    const skips = ["caps.declared", "flight.retry-after"].map(
      (id) => ADCP.find((one) => one.id === id)?.judge(seen({ again: REPLAY })).is,
    );
    expect(skips).toEqual(["skipped", "skipped"]);
  });
});
