// A decision about a record whatever has happened to it, and files of decisions however they are written.

import fc from "fast-check";
import { expect, it } from "vitest";
import { recordOutcome } from "../../../../src/features/decisions/object/record-outcome.ts";
import { namedTwice } from "../../../../src/features/decisions/operator/decision.ts";
import { parseDecisionLines } from "../../../../src/features/decisions/operator/decision-lines.ts";
import type { TimelineEvent } from "../../../../src/kernel/record/timeline.ts";
import { attemptId, epochMs } from "../../../../src/kernel/record/units.ts";

const SINCE = 10;
const actions = fc.constantFrom("release", "resolve", "forget");
/** Around the time of the preview, where it matters. */
const time = fc.integer({ min: SINCE - 3, max: SINCE + 3 }).map(epochMs);

const event: fc.Arbitrary<TimelineEvent> = fc.oneof(
  fc.record({
    type: fc.constant("change"),
    action: fc.oneof(actions, fc.constantFrom("cancel", "unreadable")),
    at: time,
    by: fc.constant("ann"),
    reason: fc.constant(""),
  }),
  fc.record({
    type: fc.constant("attempt"),
    attempt: fc.constant(1),
    startedAt: time,
    endedAt: fc.option(time),
    verdict: fc.constant(null),
    reason: fc.constant(null),
    status: fc.constant(null),
  }),
);

const record = fc.record({
  state: fc.constantFrom("waiting", "started", "failed", "unknown", "completed", "remembered"),
  attempt: fc.record({
    id: fc.constant(attemptId("a")),
    number: fc.constant(1),
    startedAt: time,
    lockedUntil: time,
    mayHaveActed: fc.boolean(),
  }),
});

const about = fc.record({
  record,
  timeline: fc.array(event, { maxLength: 4 }),
  hasResponse: fc.boolean(),
  whyNot: fc.option(fc.constantFrom("in-flight", "completed", "remembered")),
});

it("is carried out only on a record to which nothing has happened since, and never twice", () => {
  fc.assert(
    fc.property(about, actions, (seen, action) => {
      const outcome = recordOutcome(seen, action, epochMs(SINCE));
      const decisions = seen.timeline.flatMap((past) =>
        past.type === "change" && past.at >= SINCE && past.action !== "cancel" && past.action !== "unreadable"
          ? [past.action]
          : [],
      );
      const hasMoved =
        seen.record.attempt.startedAt > SINCE ||
        seen.timeline.some((past) => past.type === "attempt" && (past.endedAt ?? 0) > SINCE);
      if (outcome === "changed") expect([decisions, hasMoved, seen.whyNot]).toEqual([[], false, null]);
      if (outcome === "already") {
        const isSameResponse = action === "resolve" && seen.record.state === "completed" && seen.hasResponse;
        expect(decisions.at(-1) ?? action).toBe(action);
        expect(isSameResponse || (decisions.length > 0 && action !== "resolve")).toBe(true);
      }
      if (outcome === "decided-since") expect(decisions.length).toBeGreaterThan(0);
    }),
    { numRuns: 5000 },
  );
});

const begin = fc
  .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("", "0", "1"))
  .map(([key, scope]) => key.repeat(32) + scope.repeat(32));

it("names two that may mean one record exactly if one's name begins with the other's", () => {
  fc.assert(
    fc.property(fc.array(begin, { maxLength: 6 }), (begins) => {
      const pairs = begins.flatMap((later, at) =>
        begins
          .slice(0, at)
          .flatMap((one, first) => (one.startsWith(later) || later.startsWith(one) ? [[first, at] as const] : [])),
      );
      const found = namedTwice(begins);
      if (found === null) expect(pairs).toEqual([]);
      else expect(pairs).toContainEqual(found);
    }),
  );
});

const written = fc.record({
  key: fc.string({ unit: fc.constantFrom("a", "-", "~", '"', "\\"), minLength: 1, maxLength: 255 }),
  decision: fc.constantFrom("release", "forget"),
  reason: fc.string({ minLength: 1 }).map((text) => `because ${text}`),
});
const blank = fc.constantFrom("", " ", "\t", "\r");

it("reads a file however its lines end and are set apart", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(written, { minLength: 1, maxLength: 20, selector: ({ key }) => key }),
      fc.array(blank, { maxLength: 20 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      async (decisions, blanks, end, isEnded) => {
        const lines = decisions.flatMap((one, at) => [
          ...(blanks[at] === undefined ? [] : [blanks[at]]),
          JSON.stringify(one),
        ]);
        const parsed = await parseDecisionLines(lines.join(end) + (isEnded ? end : ""), undefined);
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
        expect(parsed.lines.map(({ decision }) => decision.written)).toEqual(
          decisions.map((one) => ({ ...one, reason: one.reason.trim() })),
        );
        expect(parsed.lines.map(({ line }) => JSON.parse(lines[line - 1] ?? "")["key"])).toEqual(
          decisions.map(({ key }) => key),
        );
      },
    ),
  );
});
