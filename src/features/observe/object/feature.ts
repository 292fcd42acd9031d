// Routes on trial in an object: what the sightings of its keys are, compared with those before, and in the operators' object the examples.

import { answerCall, jsonCall } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { LaterTables } from "../../../kernel/store/schema.ts";
import { classify } from "../classify.ts";
import { type DayCounts, effectName, gapName } from "../day-counts.ts";
import { EXAMPLE_CALL, EXAMPLES_CALL } from "../example.ts";
import { SIGHT_CALL, type Sighting, type SightingAnswer, type SightingQuestion } from "../sighting.ts";
import { ExampleRows } from "./example-rows.ts";
import { DAY_MS, KEPT_DAYS, SightingRows } from "./sighting-rows.ts";

/** What an object has counted of each route and day. */
export const OBSERVED_CALLS = { observed: jsonCall<void, readonly DayCounts[]>("observed") };

export function observeObject(kernel: ObjectKernel): ObjectFeature {
  const { storage, alarm, reporter } = kernel;
  const tables = new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  const rows = new SightingRows(tables);
  const examples = new ExampleRows(tables);
  const counts = (): readonly DayCounts[] => rows.days(dayOf(Date.now()) - KEPT_DAYS);
  const see = (question: SightingQuestion): SightingAnswer | null => {
    const now = Date.now();
    const wasThere = tables.has("sightings");
    let seen: SightingAnswer | null = null;
    try {
      tables.transaction(() => {
        for (const { route, name, count } of question.counted) rows.add(dayOf(now), route, name, count, now);
        if (question.sighting !== null) seen = sight(rows, question.sighting, question, now);
      });
    } catch (error) {
      rows.forget();
      throw error;
    }
    if (!wasThere) rows.made();
    const at = rows.nextAt(now);
    if (at !== null) alarm.moveTo(epochMs(at));
    return seen;
  };
  return {
    name: "observe",
    calls: [
      answerCall(SIGHT_CALL, (question) => {
        const answer = see(question);
        const { sighting } = question;
        if (answer !== null && sighting !== null) {
          reporter.traffic.sighted(sighting.route, answer.class, answer.evidence);
        }
        kernel.restoreAlarm();
        return answer;
      }),
      answerCall(OBSERVED_CALLS.observed, counts),
      answerCall(EXAMPLE_CALL, (example) => examples.add(example, Date.now())),
      answerCall(EXAMPLES_CALL, ({ since }) => examples.since(since)),
    ],
    dues: [
      {
        name: "sightings",
        nextAt: (now) => {
          const at = rows.nextAt(now);
          return at === null ? null : epochMs(at);
        },
        run: (now) => {
          const at = rows.nextAt(now);
          if (at !== null && at <= now) rows.erase(now);
        },
      },
    ],
    numbers: counts,
  };
}

export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** In a transaction. */
function sight(rows: SightingRows, sighting: Sighting, question: SightingQuestion, now: number): SightingAnswer {
  const { id, route, marks, beganAt, isKeyless } = sighting;
  const before = rows.get(id, now);
  const known = before?.known ?? null;
  const elsewhere = known === null && !isKeyless ? rows.ofOther(id, sighting.fingerprint, now) : null;
  const classified = classify(sighting, { known, elsewhere, unknown: question.unknown });
  const { class: seen, evidence } = classified;
  const day = dayOf(now);
  if (before === null) {
    const names = [isKeyless ? KEYLESS : seen, ...marks];
    rows.insert(id, { route, day, names, until: now + question.keepMs, known: classified.known }, now);
  } else {
    const gap = gapName(Math.abs(beganAt - before.known.beganAt));
    for (const name of [seen, ...marks, gap]) rows.add(day, route, name, 1, now);
    if (classified.known !== known) rows.update(id, classified.known);
  }
  if (evidence !== null) rows.add(day, route, effectName(evidence), 1, now);
  const earlier = known ?? elsewhere;
  return { class: seen, evidence, earlierAt: earlier?.beganAt ?? null };
}

/** The first of equal requests without a key. */
const KEYLESS = "keyless";
