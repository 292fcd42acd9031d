// Each case of the profiles for UCP passes what a good server shows and fails what a defective one does.

import { describe } from "vitest";
import type { CaseObservation, RequestReply, TargetPolicy } from "../../../src/conformance/case.ts";
import { UCP_MCP } from "../../../src/conformance/cases/ucp-mcp.ts";
import { UCP } from "../../../src/conformance/cases/ucp.ts";
import { copies, type Observations, reply, seen, testCases } from "./observations.ts";

const POLICY: TargetPolicy = {
  profile: null,
  isKeyRequired: null,
  unknownOutcome: null,
  mismatchStatus: null,
  retentionSeconds: null,
};
const OK = reply(201, '{"id":"one"}');
const OTHER = reply(201, '{"id":"two"}');
const problem = (status: number, body: object = { code: "c", content: "no" }): RequestReply =>
  reply(status, JSON.stringify(body));

const same = {
  good: [seen({ first: OK, again: OK })],
  bad: [
    seen({ first: OK, again: OK }, 2),
    seen({ first: OK, again: OTHER }),
    seen({ first: OK, again: problem(409) }),
    seen({ first: problem(500), again: problem(500) }),
  ],
};
const twice = {
  good: [seen({ first: OK, again: OTHER }, 2)],
  bad: [seen({ first: OK, again: OK }), seen({ first: OK, again: problem(409) })],
};
const malformed = (status: number, calls: number): readonly CaseObservation[] =>
  [problem(status, { code: "c" }), problem(status, { content: "no" }), reply(status, "no"), OK].map((answer) =>
    seen({ first: answer, again: answer }, calls),
  );
const kept = (leastS: number) => ({
  good: [seen({ first: OK }, 1, { policy: { ...POLICY, retentionSeconds: leastS } })],
  bad: [
    seen({ first: OK }, 1, { policy: { ...POLICY, retentionSeconds: leastS - 60 } }),
    seen({ first: problem(400) }),
  ],
});

const HTTP: Observations = {
  "bytes.equal": same,
  "bytes.other": {
    good: [seen({ first: OK, again: problem(409) })],
    bad: [
      seen({ first: OK, again: OK }),
      seen({ first: OK, again: problem(409) }, 2),
      seen({ first: OK, again: problem(422) }),
    ],
  },
  "body.shape": { good: [seen({ again: problem(409) })], bad: malformed(409, 1) },
  "key.required": {
    good: [seen({ first: problem(400) }, 0)],
    bad: [...malformed(400, 0), seen({ first: problem(400) })],
  },
  "scope.operation": twice,
  "scope.client": twice,
  "replay.error": {
    good: [seen({ first: problem(422), again: problem(422) })],
    bad: [seen({ first: problem(422), again: OK }, 2)],
  },
  "life.24h": kept(86_400),
  "life.48h": kept(172_800),
  "burst.ten": {
    good: [seen(copies(() => OK)), seen(copies((at) => (at === 3 ? OK : problem(409))))],
    bad: [
      seen(
        copies(() => OK),
        2,
      ),
      seen(copies(() => problem(409))),
      seen(copies((at) => (at === 3 ? OTHER : OK))),
    ],
  },
  "cut.complete": { good: [seen({ again: OK })], bad: [seen({ again: OK }, 2), seen({ again: problem(409) })] },
};

const faulty = (status: number, code: string) => ({
  good: [seen({ first: problem(status, { code, content: "no" }) }, 0)],
  bad: [
    seen({ first: problem(status, { code, content: "no" }) }),
    seen({ first: problem(status, { code: "other", content: "no" }) }, 0),
    seen({ first: problem(422, { code, content: "no" }) }, 0),
    seen({ first: OK }),
  ],
});

const SIGNED: Observations = {
  "sign.client": twice,
  "sign.again": same,
  "sign.rotated": same,
  "sign.wba": same,
  "sign.missing": faulty(401, "signature_missing"),
  "sign.digest": faulty(400, "digest_mismatch"),
  "sign.coverage": faulty(401, "signature_invalid"),
};

function message(id: unknown, member: object, status = 200): RequestReply {
  return reply(status, JSON.stringify({ jsonrpc: "2.0", id, ...member }));
}
const order = (id: unknown, name = "o-1"): RequestReply =>
  message(id, { result: { structuredContent: { order: name } } });
const error = (id: unknown, status = 409, code = -32_000, data: unknown = { code: "c", content: "no" }): RequestReply =>
  message(id, { error: { code, message: "no", data } }, status);
const FIRST = order(7);
const fresh = {
  good: [seen({ first: error(7), again: FIRST }, 2)],
  bad: [seen({ first: error(7), again: error(7) }), seen({ first: error(7), again: FIRST }, 1)],
};
const required = {
  good: [seen({ again: error("next", 400) }, 0)],
  bad: [seen({ again: error("next", 400) }), seen({ again: FIRST }, 0), seen({ again: error(null, 400) }, 0)],
};

const OVER_MCP: Observations = {
  "mcp.id": {
    good: [seen({ first: FIRST, again: order("next") })],
    bad: [
      seen({ first: FIRST, again: FIRST }),
      seen({ first: FIRST, again: order("next") }, 2),
      seen({ first: FIRST, again: order("next", "o-2") }),
      seen({ first: FIRST, again: error("next") }),
    ],
  },
  "mcp.conflict": {
    good: [seen({ first: FIRST, again: error("next") })],
    bad: [
      seen({ first: FIRST, again: error("next") }, 2),
      seen({ first: FIRST, again: error("next", 200) }),
      seen({ first: FIRST, again: error("next", 409, 409) }),
      seen({ first: FIRST, again: order("next") }),
    ],
  },
  "mcp.conflict-data": {
    good: [seen({ again: error("next") })],
    bad: [
      seen({ again: error("next", 409, -32_000, null) }),
      seen({ again: error("next", 409, -32_000, { code: "c" }) }),
    ],
  },
  "mcp.required-complete": required,
  "mcp.required-cancel": required,
  "mcp.optional": {
    good: [seen({ first: FIRST, again: order(7, "o-2") }, 2)],
    bad: [seen({ first: FIRST, again: FIRST }), seen({ first: error(7), again: error(7) }, 2)],
  },
  "mcp.operation": {
    good: [seen({ first: FIRST, again: order(7, "o-2") }, 2)],
    bad: [seen({ first: FIRST, again: order("next") }), seen({ first: FIRST, again: error("next") })],
  },
  "mcp.error-not-kept": fresh,
  "mcp.status-not-kept": fresh,
  "burst.ten": {
    good: [seen(copies(() => FIRST)), seen(copies((at) => (at === 2 ? FIRST : error(7))))],
    bad: [
      seen(
        copies(() => FIRST),
        2,
      ),
      seen(copies(() => error(7))),
    ],
  },
  "cut.complete": { good: [seen({ again: FIRST })], bad: [seen({ again: FIRST }, 2), seen({ again: error(7) })] },
};

describe.each([
  ["UCP", UCP, { ...HTTP, ...SIGNED }],
  ["UCP over MCP", UCP_MCP, OVER_MCP],
] as const)("the cases for %s", (_name, cases, observations) => {
  testCases(cases, observations);
});
