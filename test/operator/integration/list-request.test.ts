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
    ["state=done", "state must be one or more of waiting, started,"],
    ["route=", "route must be the path of a route"],
    ["key=", "key must be an idempotency key"],
    ["key=a&key=b", "key is given more than once"],
    ["key=a&id=01234567", "key and id cannot be combined"],
    ["id=0123456", "id must be the first 8 to 64 digits"],
    ["caller=x", "caller must be the"],
    ["status=99", "status must be an HTTP status: write 201."],
    ["limit=0", "limit must be a whole number from 1 to 500."],
    ["limit=501", "limit must be a whole number from 1 to 500."],
    ["limit=x", "limit must be a whole number from 1 to 500."],
    ["older_than=1h", "Unknown parameter: write one of state, route, since, until,"],
  ])("refuses %s", (query, reason) => {
    expect(reasonOf(query)).toContain(reason);
  });
});
