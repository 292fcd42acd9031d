// Enrolment within an object: of itself, and in the operators' object of others.

import { answerCall } from "../../../kernel/call.ts";
import { askAnother } from "../../../kernel/object/call-shard.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { ENROL_CALL, ENROLLED_CALL } from "../enrolment.ts";
import { ObjectEnrolment } from "./enrolling.ts";
import { type FirstUseObject, firstUseObject } from "./first-use.ts";
import { EnrolledRows } from "./register.ts";

export function placementObject({ env, shard, ledger, alarm, waitUntil }: ObjectKernel): ObjectFeature {
  const rows = new EnrolledRows(ledger.tables);
  let own: FirstUseObject | null = null;
  const enrolment = new ObjectEnrolment({
    tables: ledger.tables,
    enrols: () => (own = firstUseObject(env, shard)) !== null,
    register: async (knows) => {
      if (own === null) throw new TypeError("an object enrols that belongs to no such layout");
      const { layout, number, register: address } = own;
      const isTaken = await askAnother(env, address, ENROL_CALL, { layout, numbers: [number], ...knows });
      if (!isTaken) throw new Error("the register did not take it");
    },
    waitUntil,
    alarmAt: (at) => alarm.moveTo(at),
  });
  return {
    name: "placement",
    hooks: [enrolment.hook],
    dues: [enrolment.due],
    calls: [
      answerCall(ENROL_CALL, (enrolled) => rows.add(enrolled)),
      answerCall(ENROLLED_CALL, (layouts) => Object.fromEntries(layouts.map((layout) => [layout, rows.of(layout)]))),
    ],
  };
}
