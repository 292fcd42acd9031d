// Each case of the profile for MCP passes what a good server shows and fails what a defective one does.

import { describe, expect, it } from "vitest";
import type { RequestReply } from "../../../src/conformance/case.ts";
import { asksForLater } from "../../../src/conformance/findings.ts";
import { MCP } from "../../../src/conformance/cases/mcp.ts";
import type { HeaderPair } from "../../../src/conformance/http-response.ts";
import { copies, type Observations, reply, seen, testCases } from "./observations.ts";

const RESULT = { content: [{ type: "text", text: "paid" }] };

function message(id: unknown, member: object, headers: readonly HeaderPair[] = [], status = 200): RequestReply {
  return reply(status, JSON.stringify({ jsonrpc: "2.0", id, ...member }), headers);
}
const result = (id: unknown, of: object = RESULT, headers: readonly HeaderPair[] = []): RequestReply =>
  message(id, { result: of }, headers);
const error = (id: unknown, status = 200): RequestReply =>
  message(id, { error: { code: 409, message: "no" } }, [], status);
const stream = (...events: readonly string[]): RequestReply =>
  reply(200, events.map((event) => `${event}\n\n`).join(""), [["Content-Type", "text/event-stream"]]);
const data = (id: unknown): string => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: RESULT })}`;
const PROGRESS = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}';

const FIRST = result(7);
const replay = {
  good: [seen({ first: FIRST, again: result("next") }), seen({ first: FIRST, again: stream(data("next")) })],
  bad: [
    // Without an origin two results are two operations.
    seen({ first: FIRST, again: result("next", { content: [{ type: "text", text: "paid again" }] }) }, null),
    seen({ first: FIRST, again: result("next", { ...RESULT, isError: true }) }),
    seen({ first: FIRST, again: FIRST }),
    seen({ first: FIRST, again: result("next") }, 2),
    seen({ first: FIRST, again: result("next", { content: [] }) }),
    seen({ first: FIRST, again: error("next") }),
    seen({ first: FIRST, again: stream(PROGRESS, data("next")) }),
    seen({ first: FIRST, again: stream(data(7)) }),
    seen({ first: reply(500), again: result("next") }),
    seen({ first: FIRST, again: { lost: "timeout" } }),
  ],
};
const given = {
  good: [seen({ again: FIRST }), seen({ again: stream(data(7)) })],
  bad: [
    seen({ again: FIRST }, 2),
    seen({ again: reply(409) }),
    seen({ again: error(7) }),
    seen({ again: result(7, { content: [] }) }),
    seen({ again: stream(PROGRESS, data(7)) }),
  ],
};
const fresh = {
  good: [seen({ first: error(7), again: FIRST }, 2)],
  bad: [seen({ first: error(7), again: error(7) }), seen({ first: error(7), again: FIRST }, 1)],
};
const refused = (calls: number) => ({
  good: [seen({ first: FIRST, again: error("next") }, calls)],
  bad: [
    seen({ first: FIRST, again: error("next") }, calls + 1),
    seen({ first: FIRST, again: error(null) }, calls),
    seen({ first: FIRST, again: error("next", 422) }, calls),
    seen({ first: FIRST, again: reply(422, "{}") }, calls),
    seen({ first: FIRST, again: result("next") }, calls),
  ],
});

const OBSERVATIONS: Observations = {
  "id.own": replay,
  "list.free": {
    good: [seen({ first: FIRST, again: FIRST }, 2)],
    bad: [seen({ first: FIRST, again: FIRST }, 1), seen({ first: reply(400), again: reply(400) }, 0)],
  },
  "retry.new-session": replay,
  "session.not-replayed": {
    good: replay.good,
    bad: [...replay.bad, seen({ first: FIRST, again: result("next", RESULT, [["Mcp-Session-Id", "first"]]) })],
  },
  "session.dead": fresh,
  "error.protocol": fresh,
  "mrtr.once": fresh,
  "stream.response-only": replay,
  "conflict.json-rpc": refused(1),
  "key.missing": refused(0),
  "members.twice": {
    good: [seen({ again: error(null) }, 0)],
    bad: [seen({ again: result("next") }, 1), seen({ again: result("next") }, null)],
  },
  batch: {
    good: [seen({ again: error(null) }, 0)],
    bad: [
      seen({ again: reply(200, "[]") }, 1),
      seen({ again: reply(200, JSON.stringify([{ jsonrpc: "2.0", id: "next", result: RESULT }])) }, null),
    ],
  },
  "burst.ten": {
    good: [seen(copies(() => FIRST)), seen(copies((at) => (at === 2 ? FIRST : error(7))))],
    bad: [
      seen(
        copies(() => FIRST),
        2,
      ),
      seen(copies(() => reply(409))),
      seen(
        copies((at) => (at === 2 ? FIRST : { lost: "timeout" })),
        null,
      ),
      seen(
        copies((at) => result(7, { content: [{ type: "text", text: `receipt ${at}` }] })),
        null,
      ),
    ],
  },
  "cut.reply": given,
  "leave.once": given,
};

describe("the cases for MCP", () => {
  testCases(MCP, OBSERVATIONS);
});

describe("a response with HTTP 200", () => {
  const failed = (more: object): object => ({
    isError: true,
    structuredContent: { adcp_error: { code: "NO", ...more } },
  });
  it.each([
    [
      "an error of JSON-RPC with its wait",
      message(7, { error: { code: 40_901, message: "no", data: { retryAfter: 1 } } }),
      true,
    ],
    ["one in snake case", message(7, { error: { code: -32_000, message: "no", data: { retry_after: 1 } } }), true],
    ["a tool's error with its wait", result(7, failed({ retry_after: 1 })), true],
    ["one without", result(7, failed({})), false],
    ["an error without", error(7), false],
    ["a result", FIRST, false],
    ["no JSON", reply(200, "paid"), false],
  ] as const)("asks for another try if it is %s", (_what, answer, asks) => {
    expect("lost" in answer ? null : asksForLater(answer)).toBe(asks);
  });
});
