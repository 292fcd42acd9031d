// The floor, and what the gateway needs above it, one thing after the other: each step does all that the steps before it do.
// What a guarantee costs is the difference between two steps; between the last one and the gateway lies what is left.
//
//   1 parts      the call is made of parts, so that no client's leaving ends it (G5)
//   2 identity   the record is named by key and scope, and the request has a fingerprint (G7, mismatches)
//   3 deadline   the call ends after its timeout, and its lock is renewed (G8)
//   4 record     the record is looked up first, and is whole: all that a duplicate, an alarm or an operator asks of it
//   5 headers    those are left out, both ways, that belong to a connection or to the gateway

import type { Completed, Policy, Started } from "../../../src/kernel/record/record.ts";
import {
  attemptId,
  durationMs,
  epochMs,
  fingerprint,
  type RecordId,
  recordId,
} from "../../../src/kernel/record/units.ts";
import { fingerprintRequest } from "../../../src/kernel/request/fingerprint.ts";
import { type HeaderPairs, headersOf, requestHeaders, responseHeaders } from "../../../src/kernel/request/headers.ts";
import { decodeMessage, encodeMessage } from "../../../src/kernel/request/message.ts";
import { nameRecord } from "../../../src/kernel/request/record-name.ts";
import { AttemptHeartbeat } from "../../../src/kernel/object/heartbeat.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { ObjectTimers } from "../../../src/kernel/object/timers.ts";
import { shardOf } from "./shard-of.ts";

interface Env {
  readonly ORIGIN: string;
  readonly STEP: number;
  readonly KEY_SHARD: DurableObjectNamespace;
}

interface Head {
  readonly id: RecordId;
  readonly key: string;
  readonly fingerprint: string;
  readonly url: string;
  readonly method: string;
  readonly headers: HeaderPairs;
}

const TIMEOUT_MS = 30_000;
const POLICY: Policy = {
  unknown: "retry",
  lockMs: durationMs(40_000),
  retentionMs: durationMs(86_400_000),
  unknownRetentionMs: durationMs(86_400_000),
};
const NONE: ReadonlySet<string> = new Set();

export default {
  async fetch(request: Request, { KEY_SHARD, ORIGIN, STEP }: Env): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const key = headers.get("idempotency-key") ?? "";
    const body = new Uint8Array(await request.arrayBuffer());
    const parts = { method, path: pathname, query: search, headers: [] };
    const [id, digest] =
      STEP < 2
        ? [recordId(key), ""]
        : await Promise.all([
            nameRecord(key, [headers.get("authorization")], "64 null"),
            fingerprintRequest(parts, body, { as: "bytes" }),
          ]);
    const pairs = STEP < 5 ? [...headers] : requestHeaders(headers, NONE, NONE);
    const head: Head = { id, key, fingerprint: digest, url: ORIGIN + pathname + search, method, headers: pairs };
    const shard = KEY_SHARD.idFromName(String(shardOf(key)));
    return KEY_SHARD.get(shard).fetch("https://shard/", { method: "POST", body: encodeMessage({ head, body }) });
  },
};

export class KeyShard {
  readonly #sql: SqlStorage;
  readonly #ledger: Ledger;
  readonly #step: number;
  readonly #timers = new ObjectTimers();
  readonly #heartbeat = new AttemptHeartbeat(this.#timers, () => Promise.resolve());

  constructor({ storage }: DurableObjectState, { STEP }: Env) {
    this.#sql = storage.sql;
    this.#step = STEP;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS floor (id TEXT PRIMARY KEY, status INTEGER, body BLOB) WITHOUT ROWID");
    this.#ledger = new Ledger(storage);
  }

  async fetch(request: Request): Promise<Response> {
    const { head, body } = decodeMessage<Head>(new Uint8Array(await request.arrayBuffer()));
    return this.#step < 4 ? this.#withFloorRow(head, body) : this.#withRecord(head, body);
  }

  async #withFloorRow(head: Head, body: Uint8Array): Promise<Response> {
    this.#sql.exec("INSERT INTO floor (id) VALUES (?)", head.id);
    const response = await this.#call(head, body);
    const kept = await response.arrayBuffer();
    this.#sql.exec("UPDATE floor SET status = ?, body = ? WHERE id = ?", response.status, kept, head.id);
    return new Response(kept, response);
  }

  async #withRecord(head: Head, body: Uint8Array): Promise<Response> {
    const { id, key } = head;
    const now = epochMs(Date.now());
    if (this.#ledger.find(id) !== null) throw new TypeError("every key is new here");
    const attempt = {
      id: attemptId(crypto.randomUUID()),
      number: 1,
      startedAt: now,
      lockedUntil: epochMs(now + 40_000),
      mayHaveActed: false,
    };
    const claim: Started = { state: "started", fingerprint: fingerprint(head.fingerprint), attempt, policy: POLICY };
    this.#ledger.save(id, null, claim, { label: { key, route: "/v1/*" } });
    const response = await this.#call(head, body);
    const kept = new Uint8Array(await response.arrayBuffer());
    const { status, statusText } = response;
    const headers = this.#step < 5 ? [...response.headers] : responseHeaders(response.headers);
    const completedAt = epochMs(Date.now());
    const end = { status, kept: true, completedAt, expiresAt: epochMs(completedAt + POLICY.retentionMs) };
    const record: Completed = { ...claim, state: "completed", ...end };
    const stored = { status, statusText, headers, body: { kind: "inline", bytes: kept } } as const;
    this.#ledger.save(id, this.#ledger.find(id), record, { response: stored });
    return new Response(kept, { status, statusText, headers: headersOf(headers) });
  }

  async #call({ url, method, headers }: Head, body: Uint8Array): Promise<Response> {
    const init = { method, headers: headersOf(headers), body };
    if (this.#step < 3) return fetch(url, init);
    const controller = new AbortController();
    const stop = this.#heartbeat.begin(POLICY.lockMs / 2, () => undefined);
    const due = this.#timers.set(TIMEOUT_MS, () => controller.abort());
    try {
      return await fetch(url, { ...init, signal: controller.signal });
    } finally {
      due.cancel();
      stop();
    }
  }
}
