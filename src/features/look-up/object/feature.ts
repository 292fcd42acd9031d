// What became of a key, within its object; and that nothing becomes of it any more.

import { answerCall } from "../../../kernel/call.ts";
import { asLooked, type GivenOrElsewhere, type PlacedRecord } from "../../../kernel/elsewhere.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs, type EpochMs, type RecordId } from "../../../kernel/record/units.ts";
import { describeKey, type KeyReport, leastSafe } from "../key-report.ts";
import { ABANDON_CALL, type KeyAbandonment, type AbandonmentAnswer, LOOK_UP_CALL } from "../look-up-question.ts";

export function lookUpObject(kernel: ObjectKernel): ObjectFeature {
  const abandon = async (asked: KeyAbandonment): Promise<GivenOrElsewhere<AbandonmentAnswer>> => {
    const { placed, newKeys } = asked;
    if (newKeys !== undefined && reportsOf(placed, kernel, epochMs(Date.now())).length === 0) {
      if (!(await kernel.newKeys.mayBegin(placed.record.id, newKeys)))
        return { kind: "given", given: { kind: "too-many-keys" } };
    }
    const answer = abandonNow(asked, kernel, epochMs(Date.now()));
    kernel.restoreAlarm();
    return answer;
  };
  return {
    name: "look-up",
    calls: [answerCall(LOOK_UP_CALL, (placed) => lookUp(placed, kernel)), answerCall(ABANDON_CALL, abandon)],
  };
}

/** More records may be meant than one question looks at. */
const NOT_ALL_SEEN: KeyReport = { state: "unknown", next: "send-same", safeNewKey: false };

function lookUp(placed: PlacedRecord, kernel: ObjectKernel): GivenOrElsewhere<KeyReport | null> {
  const now = epochMs(Date.now());
  const given = leastSafe(reportsOf(placed, kernel, now).map(([, report]) => report));
  return (given === null ? kernel.elsewhere(asLooked(placed), now) : null) ?? { kind: "given", given };
}

/** In one turn: what it sees is what it ends. The answer leaves the object when the change is durable. */
function abandonNow(
  { placed, label, policy }: KeyAbandonment,
  kernel: ObjectKernel,
  now: EpochMs,
): GivenOrElsewhere<AbandonmentAnswer> {
  const found = reportsOf(placed, kernel, now);
  const report = leastSafe(found.map(([, one]) => one));
  if (report !== null && !report.safeNewKey) return { kind: "given", given: { kind: "refused", report } };
  const elsewhere = found.length === 0 ? kernel.elsewhere(placed, now) : null;
  if (elsewhere !== null) return elsewhere;
  const { id: own, olderIds } = placed.record;
  // A deployment of an older scope looks under that name.
  const attachments = { label, placed, ...(olderIds === undefined ? null : { aliases: olderIds }) };
  // Under its own name too: a request that is on its way looks there first. A closed object takes no record more, and the others are found.
  const isClosed = kernel.features().some(({ actions }) => (actions?.closing?.() ?? null) !== null);
  for (const id of new Set([...(isClosed ? [] : [own]), ...found.map(([name]) => name)])) {
    const { reply } = kernel.steps.take(id, { type: "abandon" }, policy, now, attachments);
    if (reply.type !== "abandoned") throw new TypeError(`a key that nothing came of was not abandoned: ${reply.type}`);
  }
  return { kind: "given", given: { kind: "abandoned" } };
}

/** Of each record that the key may mean, as time has left it. */
function reportsOf(
  { record: { id, olderIds = [] } }: PlacedRecord,
  { ledger, steps }: ObjectKernel,
  now: EpochMs,
): readonly (readonly [RecordId, KeyReport])[] {
  const { ids, isCut } = ledger.aliases.exist ? ledger.aliases.targets(id) : { ids: [], isCut: false };
  const reports = [...new Set([id, ...olderIds, ...ids])].flatMap((name) => {
    const entry = ledger.find(name);
    const record = entry === null ? null : steps.see(name, entry.record, now);
    return record === null ? [] : [[name, describeKey(record, now)] as const];
  });
  return isCut ? [...reports, [id, NOT_ALL_SEEN]] : reports;
}
