// All records that a filter matches: how the request is read, and how its pages are gone through, over shards made up by the test. Real
// ones are in change-all.test.ts.

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { decodeMessage } from "../../../../src/kernel/request/message.ts";
import {
  changeAll,
  type ChangeAllPorts,
  fixedAt,
  matchesAll,
} from "../../../../src/features/bulk/operator/change-all.ts";
import { parseChangeAll } from "../../../../src/features/bulk/operator/request.ts";
import type { AllChange } from "../../../../src/features/bulk/operator/all-change.ts";
import type { RecordFilter, RecordSummary } from "../../../../src/operator/operator.ts";
import { RECORD_STATES } from "../../../../src/operator/request-schema.ts";
import type { ListedChangeHead, ListedOutcome } from "../../../../src/features/bulk/object/listed-changes.ts";

const NOW = epochMs(1_800_000_000_000);
const UNTIL = new Date(NOW).toISOString();
const ANYTHING: RecordFilter = { states: [], route: null, since: null, until: null, key: null, idPrefix: null };

describe("a request to change all that match", () => {
  const asked = { change: "release", filter: { state: "unknown,failed", until: "5m" }, reason: "because" };

  it("is read with the list's conditions, and takes the time of the call for its own", () => {
    expect(parseChangeAll({ ...asked, preview: true }, NOW)).toEqual({
      ok: true,
      value: {
        action: "release",
        reason: "because",
        response: null,
        filter: expect.objectContaining({ states: ["failed", "unknown"], until: NOW - 300_000, route: null }),
        written: asked.filter,
        until: NOW,
        isPreview: true,
        cursor: null,
      },
    });
  });

  it("changes with the time of its preview", () => {
    const later = epochMs(NOW + 3_600_000);
    const parsed = parseChangeAll({ ...asked, confirm: true, until: UNTIL, cursor: "open~shard-0-of-1~" }, later);
    expect(parsed).toMatchObject({ ok: true, value: { until: NOW, isPreview: false, cursor: "open~shard-0-of-1~" } });
    // Durations count from the preview, whenever it is confirmed.
    expect(parsed).toMatchObject({ ok: true, value: { filter: { until: NOW - 300_000 } } });
  });

  const RESPONSE = { status: 201, body: "done" };
  it.each([
    [{ preview: false }, "Write preview: true to count them"],
    [{ confirm: true }, "Write preview: true to count them"],
    [{ preview: undefined, confirm: true }, "until is missing"],
    [{ cursor: "open~shard-0-of-1~" }, "until is missing"],
    [{ until: "yesterday" }, "until must be the time"],
    [{ until: "2026-11-23T08:30:00+05" }, "until must be the time"],
    [{ until: new Date(NOW + 3_600_000).toISOString() }, "until must not be in the future"],
    [{ change: "erase" }, "change must be one of release, resolve, forget"],
    [{ filter: {} }, "filter would match every record"],
    [{ filter: { state: RECORD_STATES.join(",") } }, "filter would match every record"],
    // Conditions that leave nothing out, or only what is too young for Workers' clocks.
    [{ filter: { until: UNTIL } }, "filter would match every record"],
    [{ filter: { until: "2099-01-01T00:00:00Z" } }, "filter would match every record"],
    [{ filter: { until: "1ms" } }, "filter would match every record"],
    [{ filter: { until: "60s", since: "3650d" } }, "filter would match every record"],
    [{ filter: { since: "1970-01-01T00:00:00Z", state: RECORD_STATES.join(",") } }, "filter would match every record"],
    [{ filter: { since: "1000000d" } }, "filter would match every record"],
    [{ filter: { until: "0s" } }, "filter: until must be a time or a duration ago"],
    [{ filter: { state: "unknow" } }, "filter: state must be one or more of"],
    [{ filter: { stat: "unknown" } }, "filter: Unknown parameter"],
    [{ filter: { state: "unknown", limit: "10" } }, "leave limit and cursor out"],
    [{ filter: { state: ["unknown"] } }, "filter must have the conditions"],
    [{ filter: undefined }, "The body must be JSON"],
    [{ reason: " " }, "reason must not be empty"],
    [{ response: RESPONSE }, "response is only for resolve"],
    [{ change: "resolve" }, "resolve needs the response"],
    [{ change: "resolve", response: { ...RESPONSE, status: 204 } }, "A response with status 204 has no body"],
    [{ other: 1 }, "The body must be JSON"],
  ])("is refused, and says what to write: %j", (change, reason) => {
    const json: unknown = JSON.parse(JSON.stringify({ ...asked, preview: true, ...change }));
    expect(parseChangeAll(json, NOW)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  it("has a condition if any member of the filter leaves a record out", () => {
    expect(matchesAll(ANYTHING, NOW)).toBe(true);
    for (const condition of [
      { states: ["unknown"] as const },
      { route: "/pay" },
      { since: NOW },
      { since: epochMs(NOW - 3650 * 86_400_000 + 1) },
      { until: epochMs(NOW - 60_001) },
      { caller: "3f9a0c51d2be" },
      { status: 201 },
      { key: "k" },
      { idPrefix: "00000000" },
    ]) {
      expect(matchesAll({ ...ANYTHING, ...condition }, NOW)).toBe(false);
      // Beside one that leaves nothing out.
      expect(matchesAll({ ...ANYTHING, until: NOW, ...condition }, NOW)).toBe(false);
    }
  });

  it("leaves out what has begun after its time", () => {
    const earlier = epochMs(NOW - 5000);
    expect(fixedAt({ ...ANYTHING, until: earlier }, NOW)).toEqual({ ...ANYTHING, until: earlier });
    expect(fixedAt({ ...ANYTHING, until: epochMs(NOW + 1) }, NOW)).toEqual({ ...ANYTHING, until: NOW });
    expect(fixedAt(ANYTHING, NOW)).toEqual({ ...ANYTHING, until: NOW });
  });
});

interface Planted {
  readonly shard: number;
  readonly startedAt: number;
  /** What its shard says of it when it is asked; `changed` moves it to the end of the list. */
  readonly outcome: Exclude<ListedOutcome, "decided">;
}

/** Shards whose list is in pages of at most `width`; those in `silent` list their records, and then do not answer. */
function startShards(planted: readonly Planted[], width: number, silent: ReadonlySet<number>, callsPerPage = 16) {
  const rows = planted.map((one, at) => ({ ...one, id: recordId(`record-${at}`) }));
  const changes = new Map<string, number>();
  const list: ChangeAllPorts["list"] = (filter, limit, cursor) => {
    const from = cursor === null ? 0 : Number(cursor);
    const page = rows.slice(from, from + Math.min(limit, width));
    const records = page
      .filter(({ startedAt }) => startedAt <= (filter.until ?? Number.POSITIVE_INFINITY))
      .map(({ id, shard, startedAt }) => summaryOf(id, `shard-${shard}-of-4`, startedAt));
    const end = from + page.length;
    const calls = callsPerPage;
    return Promise.resolve({ records, cursor: end < rows.length ? String(end) : null, unreachable: [], calls });
  };
  const ask: ChangeAllPorts["ask"] = (record, message) => {
    const { head } = decodeMessage<ListedChangeHead>(message);
    if (silent.has(Number(record.shard.split("-")[1]))) return Promise.resolve(null);
    return Promise.resolve(
      head.records.map(({ id }) => {
        const at = rows.findIndex((row) => row.id === id);
        const [row] = rows.slice(at, at + 1);
        if (row === undefined) throw new Error("not planted");
        if (changes.has(id)) return "decided";
        if (row.outcome !== "changed" || head.isPreview) return row.outcome;
        changes.set(id, (changes.get(id) ?? 0) + 1);
        // As a record that is released lies behind the others: the list shows it again.
        rows.push(row);
        return "changed";
      }),
    );
  };
  return { list, callsPerPage, ask, changes };
}

function summaryOf(id: RecordSummary["id"], shard: string, startedAt: number): RecordSummary {
  return {
    id,
    shard,
    layout: "4",
    key: id,
    encrypted: false,
    route: "/pay",
    request: null,
    state: "unknown",
    reason: "origin-dropped",
    attempt: 1,
    startedAt: epochMs(startedAt),
    lockedUntil: NOW,
    accepted: false,
    nextAttemptAt: null,
    expiresAt: NOW,
    status: null,
    responseKept: null,
  };
}

const CHANGE: AllChange = {
  action: "release",
  by: { name: "ann", role: "admin", via: "token", address: "192.0.2.1" },
  reason: "because",
  response: null,
  filter: { ...ANYTHING, states: ["unknown"] },
  written: { state: "unknown" },
  until: NOW,
  isPreview: false,
  cursor: null,
};

/** Calls until the cursor is `null`. */
async function changeToEnd(change: AllChange, ports: ChangeAllPorts) {
  const sum = { matched: 0, changed: 0, inFlight: 0, completed: 0, remembered: 0, skipped: 0, unanswered: 0, calls: 0 };
  const unreachable = new Set<string>();
  let cursor: string | null = null;
  do {
    const part = await changeAll({ ...change, cursor }, ports);
    if (part.kind !== "done") throw new Error("the cursor was refused");
    const { refused } = part;
    sum.matched += part.matched;
    sum.changed += part.changed;
    sum.inFlight += refused.inFlight;
    sum.completed += refused.completed;
    sum.remembered += refused.remembered;
    sum.skipped += part.skipped;
    sum.unanswered += part.unanswered;
    sum.calls += 1;
    for (const shard of part.unreachable) unreachable.add(shard);
    ({ cursor } = part);
  } while (cursor !== null);
  return { ...sum, unreachable: [...unreachable].toSorted() };
}

describe("the walk over all that match", () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);

  it("changes each record that began in time once, counts each as what became of it, and does as its preview said", async () => {
    const planted = fc.array(
      fc.record({
        shard: fc.integer({ min: 0, max: 3 }),
        startedAt: fc.constantFrom(NOW - 1, NOW, NOW + 1),
        outcome: fc.constantFrom("changed", "changed", "in-flight", "completed", "remembered", "skipped"),
      }),
      { maxLength: 60 },
    );
    const property = fc.asyncProperty(
      planted,
      fc.integer({ min: 1, max: 200 }),
      fc.subarray([0, 1, 2, 3]),
      async (rows, width, silent) => {
        const shards = startShards(rows, width, new Set(silent));
        const preview = await changeToEnd({ ...CHANGE, isPreview: true }, shards);
        expect(shards.changes.size).toBe(0);
        const { calls: _, ...done } = await changeToEnd(CHANGE, shards);
        const inTime = rows.filter(({ startedAt }) => startedAt <= NOW);
        const asked = inTime.filter(({ shard }) => !silent.includes(shard));
        const of = (outcome: Planted["outcome"]): number => asked.filter((one) => one.outcome === outcome).length;
        const expected = {
          matched: inTime.length,
          changed: of("changed"),
          inFlight: of("in-flight"),
          completed: of("completed"),
          remembered: of("remembered"),
          skipped: of("skipped"),
          unanswered: inTime.length - asked.length,
          unreachable: [...new Set(inTime.map(({ shard }) => shard))]
            .filter((shard) => silent.includes(shard))
            .map((shard) => `shard-${shard}-of-4`)
            .toSorted(),
        };
        expect(done).toEqual(expected);
        expect(preview).toMatchObject(expected);
        expect([...shards.changes.values()].every((times) => times === 1)).toBe(true);
        // Again: nothing is left, and nothing that was changed is counted.
        const again = await changeToEnd(CHANGE, shards);
        expect(again).toMatchObject({ ...expected, matched: expected.matched - expected.changed, changed: 0 });
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  it("sends the response of resolve to objects that are to give it, and to none in a preview", async () => {
    const rows = Array.from({ length: 30 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const response = { status: 201, headers: [["x-paid", "1"]] as const, body: new Uint8Array(100_000) };
    const sent = async (isPreview: boolean): Promise<readonly [number, number]> => {
      const shards = startShards(rows, 500, new Set());
      let [bytes, headers] = [0, 0];
      const ask: ChangeAllPorts["ask"] = (record, message) => {
        const { head, body } = decodeMessage<ListedChangeHead>(message);
        bytes += body.byteLength;
        headers += head.headers.length;
        return shards.ask(record, message);
      };
      expect(await changeAll({ ...CHANGE, action: "resolve", response, isPreview }, { ...shards, ask })).toMatchObject({
        changed: 30,
      });
      return [bytes, headers];
    };
    expect(await sent(true)).toEqual([0, 0]);
    expect(await sent(false)).toEqual([300_000, 3]);
  });

  it("makes a bounded number of calls in one request, asks a shard for ten records at a time, and goes on with the cursor", async () => {
    const rows = Array.from({ length: 9000 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const shards = startShards(rows, 500, new Set());
    let most = 0;
    const ask: ChangeAllPorts["ask"] = (record, message) => {
      most = Math.max(most, decodeMessage<ListedChangeHead>(message).head.records.length);
      return shards.ask(record, message);
    };
    const first = await changeAll(CHANGE, { ...shards, ask });
    if (first.kind !== "done") throw new Error("refused");
    expect(first.changed).toBeLessThanOrEqual(4000);
    expect(first.cursor).not.toBeNull();
    // With many shards a page alone takes many.
    const spread = await changeAll(CHANGE, startShards(rows, 500, new Set(), 256));
    expect(spread).toMatchObject({ kind: "done", changed: 200 });
    expect(most).toBe(10);
    const done = await changeToEnd(CHANGE, shards);
    expect(first.changed + done.changed).toBe(9000);
    expect(done.calls).toBeGreaterThan(1);
  });

  it("ends after five seconds with the page that it is at, and goes on with the cursor", async () => {
    const rows = Array.from({ length: 300 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const shards = startShards(rows, 500, new Set());
    const ask: ChangeAllPorts["ask"] = (record, message) => {
      vi.setSystemTime(Date.now() + 600);
      return shards.ask(record, message);
    };
    try {
      expect(await changeAll(CHANGE, { ...shards, ask })).toMatchObject({ changed: 100, cursor: "100" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives fewer records at a time a large response", async () => {
    const rows = Array.from({ length: 12 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const shards = startShards(rows, 500, new Set());
    const sizes: number[] = [];
    const ask: ChangeAllPorts["ask"] = (record, message) => {
      sizes.push(decodeMessage<ListedChangeHead>(message).head.records.length);
      return shards.ask(record, message);
    };
    const response = { status: 201, headers: [], body: new Uint8Array(300_000) };
    await changeAll({ ...CHANGE, action: "resolve", response }, { ...shards, ask });
    expect(Math.max(...sizes)).toBe(3);
  });

  it("shows the first ten in a preview, with the routes", async () => {
    const rows = Array.from({ length: 12 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const shards = startShards(rows, 5, new Set());
    const found = await changeAll({ ...CHANGE, isPreview: true }, shards);
    if (found.kind !== "done") throw new Error("refused");
    expect(found.records).toHaveLength(10);
    expect(found.routes).toEqual(["/pay"]);
    expect(found.states).toEqual({ waiting: 0, started: 0, failed: 0, unknown: 12, completed: 0, remembered: 0 });
  });

  it("says what it has done when the list stops answering, and rejects when it has done nothing", async () => {
    const rows = Array.from({ length: 10 }, (): Planted => ({ shard: 1, startedAt: NOW, outcome: "changed" }));
    const shards = startShards(rows, 5, new Set());
    const list: ChangeAllPorts["list"] = (filter, limit, cursor) =>
      cursor === null ? shards.list(filter, limit, cursor) : Promise.reject(new Error("unreachable"));
    expect(await changeAll(CHANGE, { ...shards, list })).toMatchObject({ kind: "done", changed: 5, cursor: "5" });
    await expect(changeAll({ ...CHANGE, cursor: "5" }, { ...shards, list })).rejects.toThrow("unreachable");
    const fresh = startShards(rows, 5, new Set());
    const gone: ChangeAllPorts["list"] = (filter, limit, cursor) =>
      cursor === null ? fresh.list(filter, limit, cursor) : Promise.resolve(null);
    expect(await changeAll(CHANGE, { ...fresh, list: gone })).toMatchObject({ kind: "done", changed: 5, cursor: "5" });
  });

  it("refuses a cursor that is not the list's", async () => {
    const list: ChangeAllPorts["list"] = () => Promise.resolve(null);
    const ask: ChangeAllPorts["ask"] = () => Promise.reject(new Error("not asked"));
    expect(await changeAll({ ...CHANGE, cursor: "x" }, { list, callsPerPage: 16, ask })).toEqual({ kind: "no-cursor" });
  });
});
