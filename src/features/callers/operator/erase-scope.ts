// Goes through the objects of all layouts and lets each forget a caller's records, slice by slice: a few objects at a time, for a bounded
// time in one request. What is left is in a cursor, which names objects by their place in the list and holds nothing of the scope.

import { keyHash } from "../../../kernel/request/record-name.ts";
import { ERASURE_BEGIN, type ErasedSlice, type ErasurePosition, type ScopeErasure } from "../object/eraser.ts";
import { shardTitle } from "../../../kernel/object/shard-address.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import { MAX_CALLS } from "../../../operator/asking-plan.ts";
import type { LayoutShardAddress } from "../../../operator/shards.ts";

/** The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 16;
/** Besides them, the request writes to the audit log. */
const MOST_CALLS = MAX_CALLS - 20;
const MAX_MS = 5000;

/** An object, and where to go on. */
interface Task {
  readonly index: number;
  readonly from: ErasurePosition;
}

/** `null`: the shard does not answer. */
export type EraseAsk = (address: LayoutShardAddress, erasure: LayoutlessErasure) => Promise<ErasedSlice | null>;

/** For any layout. */
export type LayoutlessErasure = Omit<ScopeErasure, "layout">;
type Erased = Omit<ScopeErasedView, "notListed">;

/** `null` if the cursor is not one of these objects'. */
export async function eraseScope(
  addresses: readonly LayoutShardAddress[],
  erasing: Omit<LayoutlessErasure, "from">,
  cursor: string | null,
  ask: EraseAsk,
): Promise<Erased | null> {
  const mark = (await keyHash(addresses.map(shardTitle).join())).slice(0, MARK_DIGITS);
  const start = cursor === null ? { waiting: [], nextIndex: 0 } : readCursor(cursor, mark, addresses.length);
  if (start === null) return null;
  const waiting: Task[] = [...start.waiting];
  let { nextIndex } = start;
  const left: Task[] = [];
  const unreachable: string[] = [];
  const counts = { forgotten: 0, inFlight: 0, unknown: 0, events: 0 };
  const until = Date.now() + MAX_MS;
  let calls = 0;
  const isOver = (): boolean => calls >= MOST_CALLS || Date.now() >= until;

  const takeNext = (): Task | null => {
    if (isOver()) return null;
    const [task = null] = waiting.splice(0, 1);
    if (task !== null || nextIndex >= addresses.length) return task;
    nextIndex += 1;
    return { index: nextIndex - 1, from: ERASURE_BEGIN };
  };
  const run = async (): Promise<void> => {
    for (let task = takeNext(); task !== null; task = takeNext()) {
      const address = addresses[task.index];
      if (address === undefined) continue;
      let from: ErasurePosition | null = task.from;
      while (from !== null && !isOver()) {
        calls += 1;
        const slice = await ask(address, { ...erasing, from });
        if (slice === null) unreachable.push(shardTitle(address));
        counts.forgotten += slice?.forgotten ?? 0;
        counts.inFlight += slice?.inFlight ?? 0;
        counts.unknown += slice?.unknown ?? 0;
        counts.events += slice?.events ?? 0;
        from = slice?.next ?? null;
      }
      if (from !== null) left.push({ index: task.index, from });
    }
  };
  await Promise.all(Array.from({ length: SHARDS_AT_ONCE }, run));

  const tasks = [...left, ...waiting];
  const isWhole = tasks.length === 0 && nextIndex >= addresses.length;
  return { ...counts, unreachable, cursor: isWhole ? null : writeCursor(mark, nextIndex, tasks) };
}

/** How much of the digest of all objects' names a cursor carries: it is not valid when these have changed. */
const MARK_DIGITS = 8;
/** After a place: what waits is looked at for the first time. */
const FIRST_LOOK = "w";
const CURSOR = /^([0-9a-f]{8})~(\d{1,6})((?:~\d{1,6}\.\d{1,10}\.\d{1,10}w?){0,16})$/;

/** `<objects>~<first that was not asked>~<object>.<place>…`, one for each object that is not done. */
function writeCursor(mark: string, nextIndex: number, tasks: readonly Task[]): string {
  const addresses = tasks.map(
    ({ index, from: { expiryBucket, slot, isFirstLook } }) =>
      `~${index}.${expiryBucket}.${slot}${isFirstLook === true ? FIRST_LOOK : ""}`,
  );
  return `${mark}~${nextIndex}${addresses.join("")}`;
}

function readCursor(
  cursor: string,
  mark: string,
  count: number,
): { readonly waiting: readonly Task[]; readonly nextIndex: number } | null {
  const [, of, nextText, tasks = ""] = CURSOR.exec(cursor) ?? [];
  const nextIndex = Number(nextText);
  if (of !== mark || nextIndex > count) return null;
  const waiting = tasks
    .split("~")
    .filter((text) => text !== "")
    .map((text) => {
      const isFirstLook = text.endsWith(FIRST_LOOK);
      const [index = 0, expiryBucket = 0, slot = 0] = text.replace(FIRST_LOOK, "").split(".").map(Number);
      return { index, from: { expiryBucket, slot, isFirstLook } };
    });
  return waiting.every(({ index }) => index < nextIndex) ? { waiting, nextIndex } : null;
}
