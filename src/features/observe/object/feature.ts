// Routes on trial in an object: what the sightings of its keys are, compared with those before, and in the operators' object the examples.

import { answerCall } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { LaterTables } from "../../../kernel/store/schema.ts";
import { classifySighting } from "../classify.ts";
import { type DayCounts, effectName, gapName } from "../day-counts.ts";
import { EXAMPLE_CALL, EXAMPLES_CALL } from "../example.ts";
import { SIGHT_CALL, type RequestSighting, type SightingAnswer, type SightingQuestion } from "../sighting.ts";
import { ExampleRows } from "./example-rows.ts";
import { OBSERVED_CALLS } from "./observed-calls.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import { KEPT_DAYS } from "./sighting-days.ts";
import { SightingRows } from "./sighting-rows.ts";

export function observeObject(kernel: ObjectKernel): ObjectFeature {
  const { storage, alarm, reporter } = kernel;
  const tables = new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  const rows = new SightingRows(tables);
  const examples = new ExampleRows(tables);
  const counts = (): readonly DayCounts[] => rows.days(utcDay(Date.now()) - KEPT_DAYS);
  const see = ({ sighting, unknown, keepMs, counted }: SightingQuestion): SightingAnswer | null => {
    const now = Date.now();
    let answer: SightingAnswer | null = null;
    try {
      tables.transaction(() => {
        for (const one of counted) rows.add({ ...one, day: utcDay(now) }, now);
        if (sighting !== null) answer = sight(rows, sighting, { unknown, keepMs, now });
      });
    } catch (error) {
      rows.forget();
      throw error;
    }
    if (sighting !== null || counted.length > 0) rows.made(sighting !== null);
    const at = rows.nextAt(now);
    if (at !== null) alarm.moveTo(epochMs(at));
    return answer;
  };
  return {
    name: "observe",
    calls: [
      answerCall(SIGHT_CALL, (question) => {
        const answer = see(question);
        const { sighting } = question;
        // The first of equal requests without a key is what its isolate says: it has no key.
        if (answer !== null && sighting !== null && (!sighting.isKeyless || answer.class === "content-repeat")) {
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

function utcDay(now: number): number {
  return Math.floor(now / DAY_MS);
}

interface SightRules extends Pick<SightingQuestion, "unknown" | "keepMs"> {
  readonly now: number;
}

/** In a transaction. */
function sight(rows: SightingRows, sighting: RequestSighting, { unknown, keepMs, now }: SightRules): SightingAnswer {
  const { id, route, marks, beganAt, isKeyless } = sighting;
  const known = rows.get(id, now);
  const elsewhere = known === null && !isKeyless ? rows.ofOther(id, sighting.fingerprint, now) : null;
  const { class: seen, evidence, known: next } = classifySighting(sighting, { known, elsewhere, unknown });
  const day = utcDay(now);
  const add = (name: string): void => rows.add({ day, route, name, count: 1 }, now);
  if (known === null) {
    const names = [isKeyless ? KEYLESS : seen, ...marks];
    rows.insert({ id, route, day, names, until: now + keepMs, known: next }, now);
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
