// How a list goes on where a page ended: through stretches of rows, each in the order of a key.

import { IN_FLIGHT } from "./buckets.ts";
import type { RecordRow } from "./record-rows.ts";

/** A stretch of rows in the order of a key: one bucket, or one state in the index of what is open. */
export interface Stretch {
  readonly name: string;
  readonly bucket: number;
  readonly id: string;
  /** The next rows after a place, `limit` at most. */
  readonly read: (bucket: number, id: string, limit: number) => Slice;
}

export interface Slice {
  readonly rows: readonly ListRow[];
  readonly looked: number;
  /** Where to go on; `null` at the end of the stretch. */
  readonly end: { readonly bucket: number; readonly id: string } | null;
}

export interface ListRow extends RecordRow {
  readonly key: string;
  readonly route: string;
}

/** All rows that a statement gave, of `limit` at most. */
export function sliceOf(rows: readonly ListRow[], limit: number): Slice {
  return { rows, looked: rows.length, end: rows.length < limit ? null : (rows.at(-1) ?? null) };
}

/** From a position on. What has expired since, or come before it, is not gone back to. */
export function resumed(stretches: readonly Stretch[], after: string | null): readonly Stretch[] {
  if (after === null) return stretches;
  const [name = "", bucketText = "", id = ""] = after.split(".");
  const bucket = Number(bucketText);
  const isAhead = (stretch: Stretch): boolean => {
    if (stretch.name !== name) return stretches.indexOf(stretch) > stretches.findIndex((one) => one.name === name);
    // In flight first, then the newest.
    return name !== "bucket" || bucket === IN_FLIGHT || (stretch.bucket !== IN_FLIGHT && stretch.bucket <= bucket);
  };
  const isHere = (stretch: Stretch): boolean =>
    stretch.name === name && (name !== "bucket" || stretch.bucket === bucket);
  return stretches.filter(isAhead).map((stretch) => (isHere(stretch) ? from(stretch, bucket, id) : stretch));
}

function from({ name, read }: Stretch, bucket: number, id: string): Stretch {
  return { name, bucket, id, read };
}
