// Saves records with events, as steps do that publish.

import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import type { NewEvent } from "../../../../src/kernel/record/outbox.ts";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { epochMs, type EpochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import type { RecordAttachments } from "../../../../src/kernel/store/attachments.ts";
import { keyText } from "../../../../src/kernel/store/label.ts";
import type { Ledger } from "../../../../src/kernel/store/ledger.ts";

export function saveWithEvents(
  ledger: Ledger,
  id: RecordId,
  record: IdempotencyRecord,
  events: readonly NewEvent[],
  { due = epochMs(0), ...attachments }: RecordAttachments & { readonly due?: EpochMs } = {},
): void {
  const entry = ledger.find(id);
  const key = keyText(attachments.label ?? ledger.label(id, entry));
  const { events: outbox } = new OutboxStore(ledger.tables);
  ledger.save(id, entry, record, attachments, [{ write: () => outbox.insert(id, events, due, key) }]);
  outbox.added();
}
