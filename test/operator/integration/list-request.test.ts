// The parameters of a list: which times they mean together, and what is refused.

import { describe, expect, it } from "vitest";
import { epochMs } from "../../../src/kernel/record/units.ts";
import { parseListRequest } from "../../../src/operator/list-request.ts";
import { HOUR_MS } from "../../support/integration/records.ts";

const NOW = epochMs(Date.parse("2026-11-23T12:00:00Z"));

function reasonOf(query: string): string | null {
  const parsed = parseListRequest(new URLSearchParams(query), NOW);
  return parsed.ok ? null : parsed.reason;
}

describe("a list request", () => {
  it("reads both times against one clock", () => {
    const parsed = parseListRequest(new URLSearchParams("since=24h&until=2026-11-23T08:30:00Z"), NOW);
    expect(parsed).toMatchObject({
      ok: true,
      value: { filter: { since: NOW - 24 * HOUR_MS, until: NOW - 3.5 * HOUR_MS }, limit: 50, cursor: null },
    });
    expect(reasonOf("since=1h&until=1h")).toBeNull();
  });

  it.each([
    ["since=1h&until=2h", "since must not be after until: records between them are listed."],
    ["since=2026-11-23T08:30:01Z&until=2026-11-23T08:30:00Z", "since must not be after until"],
    ["since=soon", 'since must be a time or a duration ago: write "2026-11-23T08:30:00Z", "5m" or "24h".'],
    ["until=", "until must be a time or a duration ago"],
    // A plus that is not escaped is a blank.
    ["until=2026-11-23T08:30:00+01:00", "until must be a time"],
    ["since=1h&since=2h", "since is given more than once"],
    ["older_than=1h", "Unknown parameter: write one of state, route, since, until,"],
  ])("refuses %s", (query, reason) => {
    expect(reasonOf(query)).toContain(reason);
  });
});
