// The figures that need millions of records, measured by a script of their own; a run takes them over from what that wrote.

import { readFile } from "node:fs/promises";
import * as v from "valibot";

const figures = v.object({
  /** Throughput of first requests with 1,000,000 completed records in the shard, of that with 1,000. */
  firstMillionVsThousand: v.nullable(v.number()),
  /** Rows written for a key over its whole life, by SQLite's own count. */
  rowsPerKey: v.nullable(v.number()),
});
export type VolumeFigures = v.InferOutput<typeof figures>;

/** `null` where no such figures are named. */
export async function firstMillionVsThousand(file: string | undefined): Promise<VolumeFigures | null> {
  if (file === undefined) return null;
  const written: unknown = JSON.parse(await readFile(file, "utf8"));
  return v.parse(figures, written);
}
