// Fills the file of one shard with completed records, through the shard's own ledger: copies of a record that the gateway has
// stored, each with its own id and attempt. A separate process that gets its jobs as messages.

import { hash, randomUUID } from "node:crypto";
import { attemptId, epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { type Entry, Ledger } from "../../../../src/kernel/store/ledger.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { storedHeadText, type StoredBody, isEncrypted } from "../../../../src/kernel/store/response-rows.ts";
import { FileStorage } from "./file-storage.ts";

export interface Load {
  readonly file: string;
  /** The record to copy. */
  readonly template: string;
  /** The records' ids: those given, and digests of `seed` and their number. */
  readonly ids: readonly string[];
  readonly seed: string;
  readonly from: number;
  readonly to: number;
  /** The size of their bodies; the copied record's own by default, and always with the ids given. */
  readonly bodyBytes?: number | undefined;
  /** How long ago they were completed. */
  readonly ageMs: number;
  /** Whether one in `RARE` has another route, and one in `RARE` an unknown outcome. */
  readonly isMixed?: boolean;
}

const RARE = 500;

/** Records per transaction, fewer if they are large: at most so many are lost, and loaded again, when the loader is stopped. */
const AT_ONCE = 20_000;
const BYTES_AT_ONCE = 256 << 20;

export type LoaderMessage = { readonly loaded: number } | { readonly done: true };

function load(
  { file, template, ids, seed, from, to, ageMs, bodyBytes, isMixed = false }: Load,
  tell: (message: LoaderMessage) => void,
): void {
  const storage = new FileStorage(file);
  try {
    const ledger = new Ledger(storage.ledgerStorage);
    const entry = ledger.find(recordId(template));
    if (entry?.record.state !== "completed") throw new Error(`${file} has no record to copy`);
    const { record } = entry;
    const stored = entry.response;
    if (stored === null || isEncrypted(stored)) throw new Error(`${file} has no response to copy`);
    if (stored.body.kind !== "inline") throw new Error(`the body in ${file} is too large to copy`);
    const own = stored.body;
    const { route } = ledger.label(recordId(template), entry);
    /** A body that fits no chunk lies in several, as if it had been streamed. */
    const bodyOf = (size: number): StoredBody => {
      if (size <= CHUNK_BYTES) return { kind: "inline", bytes: new Uint8Array(size).fill(1) };
      const body = ledger.bodies.allot();
      const count = Math.ceil(size / CHUNK_BYTES);
      for (let chunk = 0; chunk < count; chunk += 1) {
        const bytes = new Uint8Array(Math.min(CHUNK_BYTES, size - chunk * CHUNK_BYTES)).fill(1);
        ledger.bodies.append(body, chunk, bytes, chunk === 0 ? storedHeadText(stored) : null);
      }
      return { kind: "chunks", body, count, size };
    };
    const save = (id: string, before: Entry | null, number: number, body: StoredBody): void => {
      const response = { ...stored, body };
      const attempt = { ...record.attempt, id: attemptId(randomUUID()) };
      const expiresAt = epochMs(record.expiresAt - ageMs);
      const label = { key: id.slice(0, 36), route: isMixed && number % RARE === 1 ? "/rare" : route };
      if (isMixed && number % RARE === 0) {
        const { fingerprint } = record;
        const policy = { ...record.policy, unknown: "hold" } as const;
        const open = {
          state: "unknown",
          fingerprint,
          attempt,
          policy,
          expiresAt,
          verifyAt: null,
          verifications: 0,
        } as const;
        ledger.save(recordId(id), before, open, { label });
      } else {
        const copy = { ...record, attempt, completedAt: epochMs(record.completedAt - ageMs), expiresAt };
        ledger.save(recordId(id), before, copy, { response, label });
      }
    };
    // They may exist from an earlier run.
    storage.transaction(() => ids.forEach((id) => save(id, ledger.find(recordId(id)), 1, own)));
    const atOnce = Math.max(1, Math.min(AT_ONCE, Math.floor(BYTES_AT_ONCE / (bodyBytes ?? 1))));
    for (let at = from; at < to; at += atOnce) {
      const end = Math.min(to, at + atOnce);
      storage.transaction(() => {
        for (let number = at; number < end; number += 1) {
          const id = hash("sha256", `${seed}/${number}`);
          save(id, null, number, bodyBytes === undefined ? own : bodyOf(bodyBytes));
        }
      });
      tell({ loaded: end - at });
    }
  } finally {
    storage.close();
  }
}

process.on("message", (job: Load) => {
  load(job, (message) => process.send?.(message));
  process.send?.({ done: true });
});
process.on("disconnect", () => process.exit(0));
