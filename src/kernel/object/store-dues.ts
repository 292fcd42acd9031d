// What is due of the store by itself: bodies, excerpts and records to erase, and locks that end.

import type { Due } from "../due.ts";
import type { EpochMs } from "../record/units.ts";
import { ERASE_ROWS } from "../store/bodies.ts";
import type { Ledger } from "../store/ledger.ts";

export interface StoreWork {
  /** Erases some expired records. */
  readonly erase: (now: EpochMs) => void;
  /** Ends some locks. */
  readonly endLocks: (now: EpochMs) => void;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** In the order of work. */
export function storeDues(
  {
    bodies,
    remote,
    excerpts,
    expired,
    lockEnds,
  }: Pick<Ledger, "bodies" | "remote" | "excerpts" | "expired" | "lockEnds">,
  { erase, endLocks, waitUntil }: StoreWork,
): readonly Due[] {
  return [
    { name: "discarded bodies", nextAt: () => bodies.eraseAt(), run: () => bodies.eraseSome() },
    { name: "excerpts", nextAt: () => excerpts.eraseAt(), run: (now) => excerpts.eraseSome(now, ERASE_ROWS) },
    { name: "bodies in the bucket", nextAt: () => remote.eraseAt(), run: () => waitUntil(remote.eraseOne()) },
    { name: "expired records", nextAt: () => expired.nextAt(), run: erase },
    { name: "locks", nextAt: () => lockEnds.next(), run: endLocks },
  ];
}
