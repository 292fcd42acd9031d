// The ledger: the records of one shard and their responses, in SQLite. It stores and finds records, and decides nothing. It knows
// no HTTP: headers are pairs of strings, bodies are bytes. Every method runs within one synchronous turn, so that all reads and
// writes of a turn are one atomic commit (Durable Objects documentation, "write coalescing").

import type { IdempotencyRecord } from "../record/record.ts";
import type { TimelineEvent } from "../record/timeline.ts";
import type { BodyNumber, RecordId } from "../record/units.ts";
import { AliasRows } from "../previous-scope/aliases.ts";
import type { StepParticipation } from "../step-hook.ts";
import type { RecordAttachments } from "./attachments.ts";
import { BodyStore, type WakeEraser } from "./bodies.ts";
import { type RecordLabel, UNLABELLED } from "./label.ts";
import { DueRequests, LockEnds, WaitingVerifications } from "./due-records.ts";
import { ExpiredRecords } from "./expired-records.ts";
import { ExpiryBuckets, expiryBucketOf } from "./expiry-buckets.ts";
import { type PreferredSlots, IS_IN_FLIGHT, rowLocationOf, RecordNumbers } from "./record-numbers.ts";
import { type RecordEntry, entryOf, findIn, formFor, readableEntries } from "./entry.ts";
import { FOUND_COLUMNS, type FoundColumns, foundRow, type FoundRow } from "./record-row.ts";
import { RecordRows } from "./record-rows.ts";
import { chunksOf, largeBody, needsBody, RecordBodies } from "./record-bodies.ts";
import { ExcerptReader } from "../notes/excerpts.ts";
import { CountRows } from "./counts.ts";
import { LaterTables, type LedgerSql, makeTables } from "./schema.ts";
import { RemoteBodies } from "../overflow/remote-bodies.ts";
import { FIRST_CHUNKS } from "./response-rows.ts";
import { type AcceptanceWrite, acceptanceWriteOf, type StoredRequest } from "./stored-request.ts";
import { storeSql } from "./store-error.ts";

export type { RecordEntry as Entry } from "./entry.ts";

/** What the ledger needs of an object's storage. */
export interface LedgerStorage {
  readonly sql: LedgerSql;
  transactionSync<T>(run: () => T): T;
}

export class Ledger {
  readonly #sql: LedgerSql;
  readonly #transaction: (run: () => void) => void;
  /** For what is kept in tables of its own. */
  readonly tables: LaterTables;
  readonly bodies: BodyStore;
  readonly remote: RemoteBodies;
  readonly addresses: AddressRows;
  readonly expiryBuckets: ExpiryBuckets;
  readonly numbers: RecordNumbers;
  readonly #rows: RecordRows;
  readonly #recordBodies: RecordBodies;
  readonly lockEnds: LockEnds;
  readonly verifications: WaitingVerifications;
  readonly due: DueRequests;
  readonly aliases: AliasRows;
  readonly excerpts: ExcerptReader;
  readonly counts: CountRows;
  readonly expired: ExpiredRecords;
  /** The texts of the look-up statements; valid while the buckets are the same. */
  #find: { readonly lists: readonly string[]; readonly queries: readonly string[] } = { lists: [], queries: [] };
  /** Records in flight that this instance has written: each is read once more when its attempt ends. */
  readonly #inFlight = new Map<RecordId, RecordEntry>();

  /** `preferredSlots`: for tests, in which many records collide. */
  constructor(
    storage: LedgerStorage,
    r2: R2Bucket | null = null,
    wake: WakeEraser = () => undefined,
    preferredSlots?: PreferredSlots,
  ) {
    const sql = storeSql(storage.sql);
    this.#sql = sql;
    this.#transaction = (run) => storage.transactionSync(run);
    this.bodies = new BodyStore(sql, wake);
    this.remote = new RemoteBodies(sql, r2, wake);
    this.addresses = new AddressRows(sql);
    this.tables = new LaterTables(sql, this.#transaction);
    const { tables } = this;
    if (!tables.has("records")) this.#transaction(() => makeTables(sql));
    this.expiryBuckets = new ExpiryBuckets(sql);
    this.lockEnds = new LockEnds(sql);
    this.verifications = new WaitingVerifications(sql);
    this.due = new DueRequests(sql, this.expiryBuckets);
    this.numbers = new RecordNumbers(sql, tables.has("reach"), preferredSlots);
    this.#rows = new RecordRows(sql, this.numbers);
    this.#recordBodies = new RecordBodies(this.bodies, this.remote, this.#rows);
    this.aliases = new AliasRows(sql, tables.has("aliases"));
    this.excerpts = new ExcerptReader(tables);
    this.counts = new CountRows(tables);
    const { bodies, remote, expiryBuckets, aliases } = this;
    this.expired = new ExpiredRecords(sql, this.#transaction, {
      bodies,
      remote,
      expiryBuckets,
      aliases,
      rows: this.#rows,
    });
  }

  find(id: RecordId): RecordEntry | null {
    const known = this.#inFlight.get(id);
    if (known !== undefined) return known;
    const row = this.#row(id);
    return row === null ? null : entryOf(row);
  }

  /** Whether there is a row, also one that cannot be read. */
  has(id: RecordId): boolean {
    return this.#row(id) !== null;
  }

  #row(id: RecordId): FoundRow | null {
    const { lists } = this.expiryBuckets;
    if (this.#find.lists !== lists) {
      this.#find = { lists, queries: lists.map(findIn) };
    }
    const { from, through } = this.numbers.window(id);
    for (const query of this.#find.queries) {
      const [columns] = this.#sql.exec<FoundColumns>(query, from, through, id).toArray();
      if (columns !== undefined) return foundRow(columns);
    }
    return null;
  }

  /** Erases a record that cannot be read, with the bodies that it names. */
  eraseUnreadable(id: RecordId): void {
    const row = this.#row(id);
    if (row === null) return;
    const rowLocation = rowLocationOf(row);
    this.#transaction(() => {
      this.#recordBodies.discardUnreadable(id, rowLocation, row);
      this.aliases.erase(id);
      this.#rows.erase(id, rowLocation);
    });
    this.lockEnds.note(id, null);
  }

  /** Replaces `entry` by `record`; either may be `null`. Discards a body that no longer belongs to a record. `joined` take part. */
  save(
    id: RecordId,
    entry: RecordEntry | null,
    record: IdempotencyRecord | null,
    attachments: RecordAttachments = {},
    joined: readonly Pick<StepParticipation, "write">[] = [],
  ): void {
    const left = entry === null || needsBody(entry.record, record) ? null : entry;
    const large = largeBody(attachments.response ?? null);
    const aliases = record === null ? [] : (attachments.aliases ?? []).filter((name) => name !== id);
    const acceptanceWrite = acceptanceWriteOf(entry?.record ?? null, record, attachments.request !== undefined);
    const { excerpt = null } = attachments;
    const writes = joined.flatMap(({ write }) => write ?? []);
    const isAlone = left === null && large === null && aliases.length + writes.length === 0 && excerpt === null;
    if (isAlone && (acceptanceWrite === "never" || acceptanceWrite === "keep")) {
      this.#write(id, entry, record, attachments, acceptanceWrite);
      return;
    }
    // A record whose change fails keeps its body. The write comes last, because it also changes what is in memory.
    this.#transaction(() => {
      if (left !== null) this.#recordBodies.discard(left);
      if (entry !== null && (acceptanceWrite === "accept" || acceptanceWrite === "end"))
        this.#recordBodies.discardRequest(id, entry);
      const given = acceptanceWrite === "accept" ? attachments.request?.() : undefined;
      const request = given === undefined ? null : this.#recordBodies.ownRequest(given);
      if (record !== null && aliases.length > 0) this.aliases.add(aliases, id, record.fingerprint);
      if (excerpt !== null) {
        this.excerpts.erase(id, () => this.label(id, entry));
        this.excerpts.insert(id, excerpt);
      }
      for (const write of writes) write();
      this.#write(
        id,
        entry,
        record,
        large === null ? attachments : { ...attachments, response: this.#recordBodies.putApart(large) },
        acceptanceWrite,
        request,
      );
    });
    if (aliases.length > 0) this.aliases.added();
    if (excerpt !== null) this.excerpts.added();
  }

  /** Several changes as one. That of a record comes last, because it also changes what is in memory. */
  together(run: () => void): void {
    this.#transaction(run);
  }

  /** Writes a record's history, and nothing else of it. */
  saveHistory(id: RecordId, entry: RecordEntry, history: readonly TimelineEvent[]): void {
    this.#rows.putHistory(id, entry.rowLocation, history);
    const held = this.#inFlight.get(id);
    if (held !== undefined) this.#inFlight.set(id, { ...held, history });
  }

  #write(
    id: RecordId,
    entry: RecordEntry | null,
    record: IdempotencyRecord | null,
    { response = null, verification, keyForm: given, history = entry?.history ?? [], label = null }: RecordAttachments,
    acceptanceWrite: AcceptanceWrite,
    request: StoredRequest | null = null,
  ): void {
    if (record === null) {
      if (entry !== null) {
        this.aliases.erase(id);
        this.excerpts.erase(id, () => this.label(id, entry));
        this.#rows.erase(id, entry.rowLocation);
      }
      this.#inFlight.delete(id);
      this.lockEnds.note(id, null);
      return;
    }
    const expiryBucket = expiryBucketOf(record);
    this.expiryBuckets.add(expiryBucket);
    // A waiting record needs it for its next attempt.
    const { state } = record;
    const asks =
      record.policy.unknown === "verify" && (state === "started" || state === "unknown" || state === "waiting");
    const keyForm = given === undefined ? (entry?.keyForm ?? null) : formFor(entry, record, given);
    const asked = asks ? (verification?.(keyForm) ?? this.verification(id, entry)) : null;
    const body = record.state === "started" ? this.#claimBody(record, entry) : (chunksOf(response)?.body ?? null);
    const row = { record, response, body, verification: asked, keyForm, history, label, acceptanceWrite, request };
    const rowLocation = this.#rows.put(id, entry?.rowLocation ?? null, expiryBucket, row);
    if (record.state === "started")
      this.#inFlight.set(id, { record, rowLocation, keyForm, history, response: null, body });
    else this.#inFlight.delete(id);
    this.lockEnds.note(id, record);
  }

  /** The body that an attempt may write, or has begun to write. */
  #claimBody({ attempt }: IdempotencyRecord, entry: RecordEntry | null): BodyNumber {
    const isSame = entry?.record.state === "started" && entry.record.attempt.id === attempt.id;
    return (isSame ? entry.body : null) ?? this.bodies.allot();
  }

  /** The body that the attempt in flight may write. To be asked in the turn of its claim. */
  claimedBody(id: RecordId): BodyNumber {
    const body = this.#inFlight.get(id)?.body ?? null;
    if (body === null) throw new TypeError("a record without a claim was asked for its body");
    return body;
  }

  /** The key and route of a record. */
  label(id: RecordId, entry: RecordEntry | null): RecordLabel {
    return (entry === null ? null : this.#rows.label(id, entry.rowLocation)) ?? UNLABELLED;
  }

  /** The request of an accepted record; `null` if it has none. */
  request(id: RecordId, { rowLocation }: RecordEntry): StoredRequest | null {
    return this.#rows.request(id, rowLocation);
  }

  /** How to ask the origin whether the record's attempt took effect; `null` when that is not known. */
  verification(id: RecordId, entry: RecordEntry | null): string | null {
    return entry === null ? null : this.#rows.verification(id, entry.rowLocation);
  }

  /**
   * All records in flight, including those whose attempt was lost and whose lock the alarm has not ended yet. Without those that cannot be
   * read.
   */
  inFlight(): readonly { readonly id: RecordId; readonly entry: RecordEntry }[] {
    return readableEntries(
      this.#sql
        .exec<FoundColumns>(`SELECT ${FOUND_COLUMNS} FROM records ${FIRST_CHUNKS} WHERE ${IS_IN_FLIGHT}`)
        .toArray()
        .map(foundRow),
    );
  }
}

/**
 * Origin addresses to which a `connect` has succeeded once. Only for these does a failed `connect` mean that the origin is down.
 * They are stored so that an isolate that starts during an outage knows them too.
 */
class AddressRows {
  readonly #sql: LedgerSql;

  constructor(sql: LedgerSql) {
    this.#sql = sql;
  }

  has(address: string): boolean {
    return this.#sql.exec("SELECT 1 FROM addresses WHERE address = ?", address).toArray().length > 0;
  }

  add(address: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO addresses (address) VALUES (?)", address);
  }
}
