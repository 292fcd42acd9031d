// A change of all records that a filter matches, as the API and the console ask for it: over the objects that keep them, and audited.

import type { EpochMs } from "../../../kernel/record/units.ts";
import { keyHashOf } from "../../../kernel/record/units.ts";
import { shardStub } from "../../../kernel/object/call-shard.ts";
import { shardTitle } from "../../../kernel/object/shard-address.ts";
import { keyHash } from "../../../kernel/request/record-name.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { unlessSilent } from "../../../operator/ask-shards.ts";
import { FEWEST_CALLS } from "../../../operator/list-groups.ts";
import type { AuditLog } from "../../../operator/audited.ts";
import type { ChangeRequest, RecordFilter, RecordSummary } from "../../../operator/operator.ts";
import type { LayoutShardAddress } from "../../../operator/shards.ts";
import { CHANGE_LISTED_CALL, type ListedOutcome } from "../object/listed-changes.ts";
import { changeAll } from "./change-all.ts";
import type { AllChangedView } from "./bulk-schema.ts";

/** A change of all records that a filter matches. */
export interface AllChange extends ChangeRequest {
  readonly filter: RecordFilter;
  /** The filter as it was written, for the log. */
  readonly written: Readonly<Record<string, string>>;
  /** When it was first asked for. What began later, or was changed by an operator later, is left. */
  readonly until: EpochMs;
  /** From the result before; `null`: from the beginning. */
  readonly cursor: string | null;
}

export type AllChangeResult =
  | ({ readonly kind: "done" } & Omit<AllChangedView, "until" | "records" | "preview"> & {
        readonly records: readonly RecordSummary[];
      })
  | { readonly kind: "no-cursor" };

/** Changes some of the records that a filter matches, page by page: continue with the cursor until it is `null`. */
export type ChangeAllRecords = (change: AllChange) => Promise<AllChangeResult>;

export function allChanger({
  namespace,
  directory,
  operator,
}: Pick<WorkerKernel, "namespace" | "directory" | "operator">): ChangeAllRecords {
  const send = async (address: LayoutShardAddress, body: Uint8Array): Promise<readonly ListedOutcome[]> =>
    (await shardStub(namespace, address).fetch(CHANGE_LISTED_CALL.url, { method: "POST", body })).json();
  return (change) =>
    changeAll(change, {
      list: (...query) => operator.list(...query),
      // At the beginning of a page each object may be asked twice, and go on once.
      callsPerPage: Math.min(FEWEST_CALLS, 3 * directory.listed.length),
      ask: (record, message) => {
        const address = directory.of(keyHashOf(record.id)).find((one) => isAt(one, record));
        return address === undefined ? Promise.resolve(null) : unlessSilent(address, send(address, message));
      },
    });
}

function isAt(address: LayoutShardAddress, { shard, layout }: RecordSummary): boolean {
  return shardTitle(address) === shard && address.layout === layout;
}

/** A preview changes nothing, so the log has nothing of it. */
export function auditedAllChanger(inner: ChangeAllRecords, audit: AuditLog): ChangeAllRecords {
  return async (change) =>
    change.isPreview
      ? inner(change)
      : audit.record(
          change.by,
          `${change.action}-all`,
          { target: await filterText(change.written, change.until), reason: change.reason },
          () => inner(change),
          (result) => (result.kind === "done" ? allOutcome(result) : `refused: ${result.kind}`),
        );
}

/** A filter and its time. A key may be confidential, so its digest stands for it. */
async function filterText(written: AllChange["written"], until: EpochMs): Promise<string> {
  const conditions = Object.entries(written).map(async ([name, value]) =>
    name === "key" ? `id=${await keyHash(value)}` : `${name}=${value}`,
  );
  // First, because the end of a long text is cut off.
  return [`preview=${new Date(until).toISOString()}`, ...(await Promise.all(conditions))].join(" ");
}

function allOutcome({
  matched,
  changed,
  refused,
  skipped,
  unanswered,
}: Extract<AllChangeResult, { readonly kind: "done" }>): string {
  const left = refused.inFlight + refused.completed + refused.remembered;
  return `done: ${changed} of ${matched} records, ${left} refused, ${skipped} skipped, ${unanswered} without an answer`;
}
