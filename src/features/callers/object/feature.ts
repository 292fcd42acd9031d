import { answered } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { OwnedEvents } from "../../outbox/object/owned-events.ts";
import { ERASE_SCOPE_CALL, ScopeEraser } from "./eraser.ts";
import { RecordScan } from "./record-scan.ts";

export function callersObject({ ledger, storage: { sql }, steps }: ObjectKernel): ObjectFeature {
  const eraser = new ScopeEraser({
    ledger,
    scan: new RecordScan(sql),
    events: new OwnedEvents(sql, ledger.outbox),
    steps,
  });
  return { name: "callers", calls: [answered(ERASE_SCOPE_CALL, (erasure) => eraser.erase(erasure))] };
}
