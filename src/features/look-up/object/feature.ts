// What became of a key, within its object.

import { answerCall } from "../../../kernel/call.ts";
import type { GivenOrElsewhere, PlacedRecord } from "../../../kernel/elsewhere.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { LOOK_UP_CALL } from "../look-up-question.ts";
import { describeKey, leastSafe, type KeyReport } from "../key-report.ts";

export function lookUpObject({ ledger, steps, elsewhere }: ObjectKernel): ObjectFeature {
  const lookUp = (placed: PlacedRecord): GivenOrElsewhere<KeyReport | null> => {
    const { id, olderIds = [] } = placed.record;
    const now = epochMs(Date.now());
    const names = new Set([id, ...olderIds, ...(ledger.aliases.exist ? ledger.aliases.targets(id).ids : [])]);
    const reports = [...names].flatMap((name) => {
      const entry = ledger.find(name);
      const record = entry === null ? null : steps.see(name, entry.record, now);
      return record === null ? [] : [describeKey(record, now)];
    });
    const given = leastSafe(reports);
    return (given === null ? elsewhere(placed, now) : null) ?? { kind: "given", given };
  };
  return { name: "look-up", calls: [answerCall(LOOK_UP_CALL, lookUp)] };
}
