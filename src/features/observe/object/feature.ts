// Routes on trial in an object: what the sightings of its keys are, compared with those before, and in the operators' object the examples.

import { answerCall } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { LaterTables } from "../../../kernel/store/schema.ts";
import { classifySighting } from "../classify.ts";
import { type DayCounts, effectName, gapName, OBSERVED_CALLS } from "../day-counts.ts";
import { EXAMPLE_CALL, EXAMPLES_CALL } from "../example.ts";
import { type SightingAnswer, type SightingBatch, SIGHTINGS_CALL, type SightingQuestion } from "../sighting.ts";
import { ExampleRows } from "./example-rows.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import { KEPT_DAYS } from "./sighting-days.ts";
import { SightingRows } from "./sighting-rows.ts";

export function observeObject(kernel: ObjectKernel): ObjectFeature {
  const { storage, alarm, reporter } = kernel;
  const tables = new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  const rows = new SightingRows(tables);
  const examples = new ExampleRows(tables);
  const counts = (): readonly DayCounts[] => rows.days(utcDay(Date.now()) - KEPT_DAYS);
  const see = ({ questions, counted }: SightingBatch): readonly SightingAnswer[] => {
    const now = Date.now();
    let answers: readonly SightingAnswer[] = [];
    try {
      tables.transaction(() => {
        for (const one of counted) rows.add({ ...one, day: utcDay(now) }, now);
        answers = questions.map((question) => sight(rows, question, now));
      });
    } catch (error) {
      rows.forget();
      throw error;
    }
    const at = rows.nextAt(now);
    if (at !== null) alarm.moveTo(epochMs(at));
    return answers;
  };
  const count = ({ sighting: { route, isKeyless } }: SightingQuestion, answer: SightingAnswer): void => {
    // The first of equal requests without a key is what its isolate says: it has no key.
    if (isKeyless && answer.class !== "content-repeat") return;
    reporter.traffic.sighted(route, answer.class, answer.evidence);
  };
  return {
    name: "observe",
    calls: [
      answerCall(SIGHTINGS_CALL, (batch) => {
        const answers = see(batch);
        for (const [at, answer] of answers.entries()) {
          const question = batch.questions[at];
          if (question !== undefined) count(question, answer);
        }
        kernel.restoreAlarm();
        return answers;
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

function utcDay(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** In a transaction. */
function sight(rows: SightingRows, { sighting, unknown, keepMs }: SightingQuestion, now: number): SightingAnswer {
  const { id, route, marks, beganAt, isKeyless } = sighting;
  const { known, expired, elsewhere: ofOther } = rows.find(id, now);
  const { fingerprint } = sighting;
  const elsewhere = known === null && !isKeyless && fingerprint !== null ? ofOther(fingerprint) : null;
  const { class: seen, evidence, known: next } = classifySighting(sighting, { known, elsewhere, unknown });
  const day = utcDay(now);
  const add = (name: string): void => rows.add({ day, route, name, count: 1 }, now);
  if (known === null) {
    const names = [isKeyless ? KEYLESS : seen, ...marks];
    rows.insert({ id, route, day, names, until: now + keepMs, known: next }, expired, now);
  } else {
    for (const name of [seen, ...marks, gapName(Math.abs(beganAt - known.beganAt))]) add(name);
    if (next !== known) rows.update(id, next);
  }
  if (evidence !== null) add(effectName(evidence));
  const earlier = known ?? elsewhere;
  return { class: seen, evidence, earlierAt: earlier?.beganAt ?? null };
}

/** The first of equal requests without a key. */
const KEYLESS = "keyless";
