// The pending questions of a gateway with one shard, read from the shard's file beside the running gateway. So a test sees
// what the alarm has done without a request that would do it.

import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import type { Gateway } from "../gateway.ts";
import { until } from "./scene.ts";
import { shardFile } from "./shard-database.ts";

const row = v.object({
  id: v.string(),
  state: v.string(),
  attempt: v.number(),
  locked_until: v.number(),
  verify_at: v.nullable(v.number()),
  verifications: v.nullable(v.number()),
  /** How the origin is to be asked, the client's own credential included. */
  verification: v.nullable(v.string()),
});

export type VerificationRow = v.InferOutput<typeof row>;

export interface VerificationRows {
  /** The record of an attempt that has not been settled; its question names the key, which has to be plain text. */
  ofKey(key: string): VerificationRow;
  ofId(id: string): VerificationRow;
  /** Sends nothing to the gateway. Resolves when the record is in the expected state. */
  until(id: string, accept: (row: VerificationRow) => boolean, what: string): Promise<VerificationRow>;
  close(): void;
}

const QUERY = "SELECT id, state, attempt, locked_until, verify_at, verifications, verification FROM records";

/** The object has to have been used once. */
export function openVerificationRows(gateway: Pick<Gateway, "stateDir">): VerificationRows {
  const database = new DatabaseSync(shardFile(gateway), { readOnly: true, timeout: 5_000 });
  const one = (where: string, value: string): VerificationRow => {
    const rows = database.prepare(`${QUERY} WHERE ${where}`).all(value);
    if (rows.length !== 1) throw new Error(`one record expected, found ${rows.length}`);
    return v.parse(row, rows[0]);
  };
  const ofId = (id: string): VerificationRow => one("id = ?", id);
  return {
    ofKey: (key) => one("instr(verification, ?) > 0", key),
    ofId,
    until: (id, accept, what) =>
      until(() => {
        const found = ofId(id);
        return Promise.resolve(accept(found) ? found : null);
      }, what),
    close: () => database.close(),
  };
}
