// Which objects an operator's request may ask: of a layout that nobody places those that have enrolled, and of all others all.

import { numberedName } from "../../kernel/object/shard-address.ts";
import type { AskableObjects, AskOperators } from "../../kernel/worker-feature.ts";
import { ENROL_CALL, ENROLLED_CALL, isEnrolled } from "./enrolment.ts";

export function enrolledObjects(ask: AskOperators): AskableObjects {
  return {
    // A previous layout's objects are asked until it may go: one that is not asked may hold something.
    isNarrowed: ({ layout, next }) => next === null && isEnrolled(layout),
    which: async (layouts) => {
      try {
        const enrolled = await ask(
          ENROLLED_CALL,
          layouts.map(({ title }) => title),
        );
        return layouts.map(({ title, layout: { shards } }) => {
          const { numbers, isPartial } = enrolled[title] ?? { numbers: [], isPartial: true };
          return isPartial ? null : new Set(numbers.map((number) => numberedName(number, shards)));
        });
      } catch (error) {
        // To see all is worth more than where objects are created.
        console.warn({ message: "the register of used objects does not answer: all are asked", reason: String(error) });
        return layouts.map(() => null);
      }
    },
    note: async ({ title }, numbers) => {
      await ask(ENROL_CALL, { layout: title, numbers, knows: "all" });
    },
  };
}
