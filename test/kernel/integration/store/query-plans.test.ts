// No statement of a shard gets more expensive with the number of records: SQLite's plan of each statement shows that it uses
// a key. A new statement in src/kernel/object that nothing here runs fails the first test.

/// <reference types="vite/types/importMeta.d.ts" />

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { writeNote } from "../../../../src/kernel/record/request-note.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { CountRows } from "../../../../src/kernel/store/counts.ts";
import { Ledger, type LedgerStorage } from "../../../../src/kernel/store/ledger.ts";
import { KnownRows } from "../../../../src/kernel/store/known-rows.ts";
import { heldRows } from "../../../../src/kernel/store/tables.ts";
import { WHOLE_BUCKET } from "../../../../src/kernel/store/record-numbers.ts";
import { RecordList } from "../../../../src/kernel/store/record-list.ts";
import {
  completed,
  freshId,
  HOUR_MS,
  nextDeadline,
  NOW,
  response,
  started,
} from "../../../support/integration/records.ts";

import { useAudit } from "../../../features/audit/integration/statements.ts"; // feature: audit
import { useRecordScan } from "../../../features/callers/integration/statements.ts"; // feature: callers
import { useClaims } from "../../../features/claims/integration/statements.ts"; // feature: claims
import { useEnrolment } from "../../../features/placement/integration/statements.ts"; // feature: placement
import { useObserve } from "../../../features/observe/integration/statements.ts"; // feature: observe
import { useOutbox } from "../../../features/outbox/integration/statements.ts"; // feature: outbox
import { usePreviousShards } from "../../../features/previous-shards/integration/statements.ts"; // feature: previous-shards

/** What each feature does with the database, its statements all. */
const USED_BY_FEATURES: readonly ((ledger: Ledger, storage: LedgerStorage) => void)[] = [
  useOutbox, // feature: outbox
  useAudit, // feature: audit
  useRecordScan, // feature: callers
  useClaims, // feature: claims
  useObserve, // feature: observe
  useEnrolment, // feature: placement
  // The last: afterwards the object takes no record.
  usePreviousShards, // feature: previous-shards
];

interface Ran {
  readonly query: string;
  readonly bindings: readonly SqlStorageValue[];
}

/** Whatever SQLite scans, there is a limit. */
const ANY_SCAN = "";

/** Allowed scans, and why their cost does not grow with the number of records. */
const BOUNDED: readonly (readonly [query: RegExp, detail: string])[] = [
  // Once for each instance.
  [/^SELECT body FROM discarded$/, "SCAN discarded"],
  // The index holds only what is discarded.
  [/^SELECT body, upload_id FROM remote INDEXED BY remote_discarded /, "SCAN remote USING INDEX remote_discarded"],
  // As many rows as are counted at most: those of the statement within, which goes by the index.
  [/^SELECT count\(\*\) AS looked, .* FROM \(SELECT expires_at FROM records .* LIMIT \+\?\)$/, "SCAN (subquery-1)"],
  [
    /^SELECT count\(\*\) AS n FROM \(SELECT 1 FROM records INDEXED BY records_waiting .* LIMIT \+\?\)$/,
    "SCAN (subquery-1)",
  ],
  // As many entries as are counted at most.
  [
    /^SELECT count\(\*\) AS n FROM \(SELECT 1 FROM records INDEXED BY records_waiting .* LIMIT \+\?\)$/,
    "SCAN records USING COVERING INDEX records_waiting",
  ],
  [
    /^SELECT count\(\*\) AS n, min\(since\) AS oldest FROM \(SELECT since FROM outbox .* LIMIT \+\?\)$/,
    "SCAN (subquery-1)",
  ],
  // As many events as are compared at most, after a destination has failed: those of the statement within, which goes by the key.
  [
    /^SELECT destination, lane, .* WHERE \(destination, lane, due, seq\) IN \(SELECT .* LIMIT 1\)$/,
    "SCAN (subquery-1)",
  ],
  [
    /^SELECT destination, lane, .* WHERE \(destination, lane, due, seq\) IN \(SELECT .* LIMIT 1\)$/,
    "USE TEMP B-TREE FOR ORDER BY",
  ],
  [/^SELECT count\(\*\) AS looked FROM \(SELECT 1 FROM records .* LIMIT \+\?\)$/, "SCAN (subquery-1)"],
  [/^SELECT route, state, started_at, expires_at, history FROM records WHERE number IN .*$/, "SCAN (subquery-1)"],
  // A row per bucket, of which there are a handful; the table is SQLite's own, in memory.
  [/^WITH RECURSIVE found/, "SCAN found"],
  // One row at most.
  [/^SELECT slots FROM reach$/, "SCAN reach"],
  // One row for each live expiry bucket; the rows are in the statement's text.
  [/^SELECT .* FROM \(VALUES .*\) AS live CROSS JOIN records /, "SCAN N-ROW VALUES CLAUSE"],
  // As many rows as a part of a list may have: those of the statement within, which goes by the key. The newest of them are sorted.
  [/^SELECT count\(\*\) AS looked, .* AS verdict FROM \(VALUES .* LIMIT \+\?11\)$/, "SCAN (subquery-3)"],
  [
    /^SELECT .* WHERE number IN \(SELECT records.number FROM \(VALUES .* LIMIT \+\?11\)$/,
    "USE TEMP B-TREE FOR ORDER BY",
  ],
  // One row for each of the last hours, and one for those before.
  [/^SELECT routes FROM counts WHERE hour <> \?$/, "SCAN counts"],
  [/^SELECT since FROM counts LIMIT 1$/, "SCAN counts"],
  // As many entries as one call looks at.
  [/^SELECT count\(\*\) AS signIns FROM \(SELECT operator, action, at FROM audit .* LIMIT \+\?\) WHERE /, ANY_SCAN],
  // As many rows as the schema has tables and indexes.
  [/^SELECT 1 FROM sqlite_schema WHERE name = '(totals|gathered)'$/, "SCAN sqlite_schema"],
  // One row for each 500,000 characters, read once by the only object that has any.
  [/^SELECT text FROM (totals|gathered) ORDER BY part$/, ANY_SCAN],
  // As many rows of each table as are counted at most, and only in an object that is left.
  [/^SELECT count\(\*\) AS n FROM \(SELECT 1 FROM \w+ WHERE .* LIMIT 100\)$/, ANY_SCAN],
  [/^SELECT name FROM sqlite_schema WHERE type = 'table'$/, "SCAN sqlite_schema"],
  // One row at most.
  [/^SELECT next, at FROM closed$/, "SCAN closed"], // feature: previous-shards
  // A row for each closed object before it.
  [/^SELECT name, layout FROM closed_before$/, "SCAN closed_before"], // feature: previous-shards
  // One row at most.
  [/^SELECT 1 FROM aliases LIMIT 1$/, "SCAN aliases USING COVERING INDEX aliases_by_target"],
  // As many of the last events of a lane as are looked at, found by the key: those of the statement within.
  [/^SELECT destination, lane, due, seq, id FROM \(SELECT .* DESC LIMIT \d+\) WHERE set_at > /, ANY_SCAN],
  // The last ones of a lane, or of a route, found by the index: those of the statement within.
  [/^SELECT id FROM \(SELECT id, (?:start_at|verify_at), .* DESC LIMIT \d+\) WHERE /, "SCAN (subquery-1)"],
  // One row for each lane that rests, once for each instance.
  [/^SELECT destination, lane, until, set_at, failures, reason FROM resting$/, "SCAN resting"],
  // One row for each thing of which operators are told.
  [/^SELECT name, at, count, due FROM alerts( WHERE due <= \?)?$/, "SCAN alerts"],
  [/^SELECT min\(due\) AS due FROM alerts$/, "SCAN alerts"],
  // As many rows as are counted at most, by the index.
  [/^SELECT total\(started_at <= \?1\) AS old, .* LIMIT \+\?3\)$/, "SCAN (subquery-1)"],
  // As many rows as the schema has tables and indexes.
  [/^SELECT 1 FROM sqlite_schema WHERE name = '(audit|sightings|sighting_days)'$/, "SCAN sqlite_schema"],
  // feature: observe begins
  // One row at most.
  [/^SELECT 1 FROM sightings LIMIT 1$/, ANY_SCAN],
  // All keys that were observed, once for each instance that is asked for counts: the rows expire, and an index would cost a row for each key.
  [/^SELECT day, route, names, count\(\*\) AS count FROM sightings GROUP BY /, ANY_SCAN],
  // A row for each day that is kept, route and number.
  [/^SELECT day FROM sighting_days WHERE route <> '' LIMIT 1$/, "SCAN sighting_days"],
  // A few examples for each day that is kept and route.
  [/^(?:SELECT .*|DELETE) FROM sighting_examples WHERE /, ANY_SCAN],
  // feature: observe ends
  // One row at most.
  [/^SELECT 1 FROM records LIMIT 1$/, "SCAN records"],
];

/** When locks have ended, and records that are remembered have expired. */
const LATER = epochMs(NOW + 25 * HOUR_MS);

const SCHEMA = /^(?:CREATE|ALTER) /;

function useExcerpts(ledger: Ledger): void {
  const id = freshId();
  const note = writeNote({
    method: "POST",
    target: "/",
    sizeBytes: 1,
    caller: null,
    label: null,
    excerptUntil: NOW + HOUR_MS,
  });
  const label = { key: "k", route: "/", note };
  ledger.save(id, null, started(), { label, excerpt: { until: NOW + HOUR_MS, text: "{" } });
  ledger.excerpts.find(id, label, NOW);
  ledger.excerpts.eraseAt();
  ledger.excerpts.eraseSome(NOW, 1);
  ledger.save(id, ledger.find(id), null);
}

/** Every use that the ledger makes of its database. */
async function runEverything(storage: DurableObjectStorage, ran: Ran[]): Promise<void> {
  const sql = {
    exec<T extends Record<string, SqlStorageValue>>(
      query: string,
      ...bindings: SqlStorageValue[]
    ): SqlStorageCursor<T> {
      ran.push({ query, bindings });
      return storage.sql.exec<T>(query, ...bindings);
    },
  };
  // So that the schema's own statements run as well.
  await storage.deleteAll();
  const ledger = new Ledger({ sql, transactionSync: (run) => storage.transactionSync(run) }, env.BODIES);
  const { bodies, remote, addresses } = ledger;
  const id = freshId();
  const claim = started();
  ledger.save(id, null, claim);
  const own = ledger.claimedBody(id);
  ledger.inFlight();
  ledger.verification(id, ledger.find(id));
  const noted = ledger.find(id);
  if (noted !== null) ledger.saveHistory(id, noted, []);
  bodies.append(own, 0, new Uint8Array(1));
  bodies.append(own, 1, new Uint8Array(1));
  bodies.read(own, 0);
  bodies.readPart(own, 0, 0, 1);
  bodies.deleteBelow(own, 1);
  const answer = completed(claim);
  const body = { kind: "chunks", body: own, count: 2, size: 2 } as const;
  ledger.save(id, ledger.find(id), answer, { response: { ...response, body } });
  useExcerpts(ledger);
  for (const hour of [1, 2, 30]) ledger.counts.put({ hour, since: 1, routes: "[]", taken: "[]", replays: "[]" });
  ledger.counts.get(30);
  ledger.counts.mergeOldest(30, () => "[]");
  for (let hour = 31; hour < 90; hour += 1)
    ledger.counts.put({ hour, since: 1, routes: "[]", taken: "[]", replays: "[]" });
  ledger.counts.mergeOldest(90, () => "[]");
  ledger.counts.routesFrom(30);
  ledger.counts.replaysFrom(30);
  ledger.counts.routesBut(30);
  ledger.counts.taken(30);
  // Read anew by another instance.
  expect(new CountRows(ledger.tables).since).not.toBeNull();
  heldRows(sql);
  for (const table of ["totals", "gathered"] as const) {
    const rows = new KnownRows(sql, table);
    rows.put("[]");
    rows.get();
  }
  const single = freshId();
  ledger.save(single, null, claim);
  const large = { kind: "inline", bytes: new Uint8Array(20_000) } as const;
  ledger.save(single, ledger.find(single), answer, { response: { ...response, body: large } });
  const asked = freshId();
  const lost = { ...claim, state: "unknown", expiresAt: epochMs(NOW + 9), verifyAt: NOW, verifications: 0 } as const;
  ledger.save(asked, null, lost, { label: { key: "k", route: "/" } });
  ledger.label(id, ledger.find(id));
  const schedule = {
    attempts: 2,
    firstPauseMs: durationMs(1),
    longestPauseMs: durationMs(1),
    giveUpAfterMs: durationMs(1),
  };
  const accepted = { schedule, acceptedAt: NOW, giveUpAt: NOW, lastAttempt: 2 };
  const promised = freshId();
  const request = { head: "{}", body: { kind: "inline", bytes: new Uint8Array(20_000) } } as const;
  const waiting = { ...claim, state: "waiting", accepted, startAt: NOW } as const;
  ledger.save(promised, null, waiting, { request: () => request });
  ledger.due.first(0, NOW, 1);
  ledger.due.next();
  ledger.due.next(new Set([promised]));
  ledger.due.tooFar(epochMs(NOW - HOUR_MS));
  ledger.due.count(9);
  const found = ledger.find(promised);
  if (found !== null) ledger.request(promised, found);
  ledger.save(promised, found, { ...waiting, startAt: epochMs(NOW + 1) });
  ledger.save(promised, ledger.find(promised), { ...claim, accepted });
  ledger.save(promised, ledger.find(promised), completed(claim));
  const remembered = { ...claim, policy: { ...claim.policy, rememberMs: durationMs(1000 * HOUR_MS) } };
  ledger.save(freshId(), null, completed(remembered));
  const list = new RecordList(sql, ledger.numbers);
  list.countOpen(NOW);
  list.oldestUnknown(NOW);
  list.lastExpiry();
  const query = { route: "/", since: NOW, until: NOW, caller: "a", status: 201, parts: null, part: null, limit: 10 };
  for (const states of [[], ["failed", "unknown"], ["completed", "remembered"]] as const) {
    for (const keyHash of [null, "a"]) {
      for (const direction of ["after", "before"] as const) {
        for (const position of [null, { startedAt: NOW, id: "a" }]) {
          list.page({ ...query, states, keyHash, direction, position }, (_id, record) => record, LATER);
        }
      }
    }
  }
  nextDeadline(ledger);
  for (const route of ledger.verifications.routes()) {
    ledger.verifications.first(route, 1);
    ledger.verifications.tooFar(route, NOW);
  }
  // One that cannot be read is set aside.
  const broken = freshId();
  ledger.save(broken, null, answer, { response });
  storage.sql.exec("UPDATE records SET state = 'lost' WHERE id = ?", broken);
  ledger.expired.erase(epochMs(NOW + 48 * HOUR_MS), 10);
  const upload = bodies.lend();
  bodies.append(upload, 0, new Uint8Array(1));
  bodies.eraseAt();
  bodies.release(upload);
  for (let time = 0; time < 3; time += 1) bodies.eraseSome();
  const parts = await remote.begin("remote");
  const part = new FixedLengthStream(1);
  const writer = part.writable.getWriter();
  void writer.write(new Uint8Array(1)).then(() => writer.close());
  await parts?.send(part.readable);
  await parts?.complete();
  remote.discard("remote");
  await remote.eraseOne();
  ledger.save(id, null, claim);
  ledger.save(id, ledger.find(id), null);
  if (!addresses.has("a")) addresses.add("a");
  const aliased = freshId();
  ledger.save(aliased, null, claim, { aliases: [freshId()] });
  ledger.aliases.targets(freshId());
  ledger.save(aliased, ledger.find(aliased), null);
  // A window that is full.
  const crowded = new Ledger({ sql, transactionSync: (run) => storage.transactionSync(run) }, null, undefined, {
    of: () => 0,
    range: () => WHOLE_BUCKET,
  });
  for (let more = 0; more < 9; more += 1) crowded.save(freshId(), null, claim);
  for (const use of USED_BY_FEATURES) use(ledger, { sql, transactionSync: (run) => storage.transactionSync(run) });
  void new Ledger({ sql, transactionSync: (run) => storage.transactionSync(run) });
}

function inShard<T>(run: (storage: DurableObjectStorage) => Promise<T>): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(storage));
}

const sources: Readonly<Record<string, string>> = import.meta.glob(
  [
    "../../../../src/kernel/{object,store,body,previous-scope,notes,overflow}/**/*.ts",
    "../../../../src/features/*/object/*.ts",
  ],
  {
    query: "?raw",
    import: "default",
    eager: true,
  },
);

/** The statements in the sources, each as a pattern with any text for its interpolations. */
function statementsInSources(): readonly RegExp[] {
  return Object.values(sources).flatMap((source) =>
    [...source.matchAll(/(["`])((?:WITH|SELECT|INSERT|UPDATE|DELETE)\s[^"`]*)/g)].map(([, , text = ""]) => {
      const parts = text.split(/\$\{[^}]*(?:\}|$)/);
      return new RegExp(`^${parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("[^]*")}`);
    }),
  );
}

it("every statement in src/kernel/object is among the checked ones", async () => {
  const ran: Ran[] = [];
  await inShard((storage) => runEverything(storage, ran));
  const statements = statementsInSources();
  expect(statements.length).toBeGreaterThan(20);
  expect(statements.filter((pattern) => !ran.some(({ query }) => pattern.test(query)))).toEqual([]);
});

it("no statement has a bare bound limit, for which SQLite would prepare it anew each time that it is bound", () => {
  expect(Object.values(sources).flatMap((source) => source.match(/LIMIT \?.*/g) ?? [])).toEqual([]);
});

it("no statement scans a table", async () => {
  const scans = await inShard(async (storage) => {
    const ran: Ran[] = [];
    await runEverything(storage, ran);
    const byQuery = new Map(ran.filter(({ query }) => !SCHEMA.test(query)).map((one) => [one.query, one]));
    return [...byQuery.values()].flatMap(({ query, bindings }) =>
      storage.sql
        .exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${query}`, ...bindings)
        .toArray()
        .filter(({ detail }) => /^SCAN (?!CONSTANT ROW)|TEMP B-TREE/.test(detail))
        .filter(
          ({ detail }) =>
            !BOUNDED.some(
              ([pattern, bounded]) =>
                pattern.test(query) && (bounded === ANY_SCAN || detail.replace(/\d+-ROW/, "N-ROW") === bounded),
            ),
        )
        .map(({ detail }) => `${detail}: ${query}`),
    );
  });
  expect(scans).toEqual([]);
});
