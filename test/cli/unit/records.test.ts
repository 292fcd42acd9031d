// How records and exchanges are printed: pure functions of the data, the time, the width and the colours.

import { describe, expect, it } from "vitest";
import { type TerminalLook, plainLook, printableText, shortenText } from "../../../src/cli/look.ts";
import type { ShownRecord, ShownSummary } from "../../../src/cli/operator-client.ts";
import { recordText } from "../../../src/cli/record-text.ts";
import { recordsTable } from "../../../src/cli/records-table.ts";
import { exchangeLine } from "../../../src/cli/tail.ts";
import { fromNow, roughDuration } from "../../../src/cli/times.ts";
import { expectApproved } from "../../support/words.ts";

const NOW = Date.parse("2026-11-21T08:35:00.000Z");
const ID = "0123456789abcdef".repeat(4);

const summary: ShownSummary = {
  id: ID,
  shard: "shard-3-of-64",
  layout: "64",
  key: "8e03978e-40d5-43e8-bc93-6894a57f9324",
  route: "/v1/payments/*",
  request: { method: "POST", target: "/v1/payments/4?x=1", sizeBytes: 57, caller: "3f9a0c51d2be", label: "order-7" },
  state: "unknown",
  reason: "origin-dropped",
  attempt: 1,
  startedAt: "2026-11-21T08:30:00.000Z",
  lockedUntil: "2026-11-21T08:30:40.000Z",
  expiresAt: "2026-11-22T08:30:40.000Z",
  status: null,
  responseKept: null,
  encrypted: false,
  accepted: false,
  nextAttemptAt: null,
};

const detail: ShownRecord = {
  ...summary,
  description: {
    headline: "Outcome unknown: attempt 1 may have succeeded.",
    retry: "A retry gets 409 outcome-unknown.",
    advice: "Decide.",
    changes: ["resolve", "release", "forget"],
  },
  giveUpAt: null,
  lastAttempt: null,
  fingerprint: "ab".repeat(32),
  policy: { unknown: "hold", lockMs: 40_000, retentionMs: 86_400_000, unknownRetentionMs: 31_536_000_000 },
  timeline: [
    {
      type: "attempt",
      attempt: 1,
      startedAt: "2026-11-21T08:30:00.000Z",
      endedAt: "2026-11-21T08:30:30.000Z",
      verdict: "ambiguous",
      reason: "origin-timeout",
      status: null,
    },
    { type: "verification", attempt: 1, at: "2026-11-21T08:31:00.000Z", answer: "absent" },
    { type: "change", action: "release", at: "2026-11-21T08:34:00.000Z", by: "admin", reason: "not in\nthe books" },
  ],
  replays: { count: 3, lastAt: "2026-11-21T08:34:00.000Z" },
  excerpt: { text: '{"amount":5', keptUntil: "2026-11-21T09:30:00.000Z" },
  response: null,
};

const narrow: TerminalLook = { ...plainLook, width: 80 };

const next = (nextAttemptAt: string): ShownRecord => ({
  ...detail,
  state: "waiting",
  accepted: true,
  expiresAt: null,
  nextAttemptAt,
  giveUpAt: "2026-11-22T08:30:00.000Z",
  lastAttempt: 20,
  policy: {
    ...detail.policy,
    schedule: { attempts: 20, firstPauseMs: 1000, longestPauseMs: 900_000, giveUpAfterMs: 86_400_000 },
  },
  timeline: [{ type: "change", action: "cancel", at: "2026-11-21T08:34:00.000Z", by: "client", reason: "" }],
});

describe("an accepted request that waits", () => {
  it("has its next attempt in the table, which has no such column otherwise", () => {
    const waits = [next("2026-11-21T08:35:07.000Z"), next("2026-11-21T08:32:00.000Z"), summary];
    const [headings, ...lines] = recordsTable(waits, NOW, { ...plainLook, width: 300 }).split("\n");
    expect(headings).toMatch(/KEY +NEXT +ID$/);
    expect(lines.map((line) => / {2,}(in 7s|due for 3m) {2,}/.exec(line)?.[1] ?? null)).toEqual([
      "in 7s",
      "due for 3m",
      null,
    ]);
    expect(recordsTable([summary], NOW, plainLook)).not.toContain("NEXT");
  });
});

describe("recordsTable", () => {
  it("has one line for each record on a wide terminal, with the whole id", () => {
    expect(recordsTable([summary], NOW, plainLook).split("\n")).toEqual([
      "STATE    STATUS  TRIES  BEGAN   REQUEST                          KEY                                   ID",
      `unknown          1      5m ago  order-7 POST /v1/payments/4?x=1  8e03978e-40d5-43e8-bc93-6894a57f9324  ${ID}`,
    ]);
  });

  it("puts ids on their own lines if there is no room, and never cuts one", () => {
    const long = { ...summary, request: null, route: `/v1/${"long/".repeat(20)}`, key: "k".repeat(255) };
    const lines = recordsTable([summary, long], NOW, narrow).split("\n");
    expect(lines).toHaveLength(5);
    expect(lines.filter((line) => line.trim() === ID)).toHaveLength(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[3]).toMatch(/^unknown .* \/v1\/long\/.*… +k+…$/);
  });

  it("keeps its columns with a coloured state", () => {
    const painted: TerminalLook = { ...plainLook, paint: (style, text) => `<${style}>${text}</>` };
    const [, line] = recordsTable([summary], NOW, painted).split("\n");
    expect(line).toMatch(/^<red>unknown<\/> {10}1 /);
  });
});

it("what commands print of records is as approved", async () => {
  const response = {
    status: 201,
    statusText: "Created",
    headers: [["content-type", "application/json"]] as [string, string][],
    sizeBytes: 57,
  };
  const exchange = {
    at: "2026-11-21T08:30:00.123Z",
    route: "/v1/payments/*",
    keyHash: "ab".repeat(16),
    recordId: ID,
    outcome: "first",
    status: 201,
    attempt: 1,
    durationMs: 12.4,
    originMs: 10.2,
  };
  const keyless = { outcome: "key-missing", status: 400, attempt: null, keyHash: null, recordId: null, originMs: null };
  const exchanges = [exchange, { ...exchange, outcome: "replay", originMs: null }, { ...exchange, ...keyless }];
  const waiting = next("2026-11-21T08:32:00.000Z");
  const completed: ShownRecord = { ...detail, state: "completed", responseKept: true, response };
  await expectApproved("records", [
    { asked: "onceway records list", words: recordsTable([summary, waiting], NOW, plainLook) },
    { asked: "onceway records show, an unknown outcome", words: recordText(detail, NOW, plainLook) },
    { asked: "onceway records show, an accepted request that waits", words: recordText(waiting, NOW, plainLook) },
    { asked: "onceway records show, a result", words: recordText(completed, NOW, plainLook) },
    { asked: "onceway tail", words: exchanges.map((one) => exchangeLine(one, plainLook)).join("\n") },
  ]);
});

describe("text from outside", () => {
  it("cannot control the terminal", () => {
    expect(printableText("a\u001b[2Jb\u009bc\u202ed\r")).toBe("a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{d}");
  });

  it("is shortened with an ellipsis", () => {
    expect([shortenText("abcd", 4), shortenText("abcde", 4)]).toEqual(["abcd", "abc…"]);
  });
});

describe("times", () => {
  it.each([
    [0, "0ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [59_999, "59s"],
    [90 * 60_000, "1h"],
    [86_400_000, "1d"],
  ])("%i ms are %s", (ms, text) => expect(roughDuration(ms)).toBe(text));

  it("are relative to now", () => {
    expect(fromNow("2026-11-21T08:34:59.000Z", NOW)).toBe("1s ago");
    expect(fromNow("2026-11-21T08:36:00.000Z", NOW)).toBe("in 1m");
  });
});
