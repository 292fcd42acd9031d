// A real shard in workerd with a clock, an origin and faults under the test's control, for comparison with a model.

import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { IdempotencyRecord, Policy } from "../../../src/kernel/record/record.ts";
import {
  type AttemptId,
  attemptId,
  durationMs,
  fingerprint as fingerprintOf,
  type RecordId,
} from "../../../src/kernel/record/units.ts";
import { encodeMessage, type ExchangeHead, EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";
import { deadlineOf } from "../../../src/kernel/record/step.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { expectRuntimeError } from "./expected-errors.ts";

export const LOCK_MS = 40_000;
export const RETENTION_MS = 200_000;
export const UNKNOWN_RETENTION_MS = 600_000;
/** Of the requests that are remembered. */
export const REMEMBER_MS = 400_000;

export function policyOf({ unknown, isRemembered }: Pick<Ask, "unknown" | "isRemembered">): Policy {
  return {
    unknown,
    lockMs: durationMs(LOCK_MS),
    retentionMs: durationMs(RETENTION_MS),
    unknownRetentionMs: durationMs(UNKNOWN_RETENTION_MS),
    ...(isRemembered ? { rememberMs: durationMs(REMEMBER_MS) } : {}),
  };
}

/** What the origin does with a call. */
export type Behaviour = 201 | 404 | 500 | 503 | 429 | 502 | 504 | "drops" | "is cut short";

/** The statuses that are no result. */
export const LISTS = { refused: [429, 503], ambiguous: [502, 504] };

export interface Ask {
  readonly record: RecordId;
  readonly fingerprint: string;
  readonly unknown: Policy["unknown"];
  readonly isRemembered: boolean;
  readonly duplicate: "reject" | "wait";
}

/** An answer in a few words. */
export type Said = string;

export class ModelShard {
  readonly #name = crypto.randomUUID();
  behaviour: Behaviour = 201;
  /** The attempt numbers that the origin has seen, in order. */
  calls: number[] = [];
  /** Whether the origin never answers. */
  #isSilent = false;

  /** A new stub each time, because a stub to a lost object stays broken. */
  get #stub(): DurableObjectStub {
    return env.KEY_SHARD.get(env.KEY_SHARD.idFromName(this.#name));
  }

  constructor() {
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => this.#answer(new Request(url, init)));
  }

  async ask(ask: Ask, attempt: AttemptId): Promise<Said> {
    const response = await this.#send(ask, attempt);
    const text = await response.text().catch(() => "a broken body");
    const problem = /"code":"([a-z-]+)"/.exec(text)?.[1];
    if (problem !== undefined) return `${response.status} ${problem}`;
    return `${response.headers.has("Idempotent-Replayed") ? "replay" : "first"} ${response.status} ${text}`;
  }

  /** Sends a request and loses the object before the origin answers. `null` if there is no answer. */
  async askAndLose(ask: Ask, attempt: AttemptId): Promise<Said | null> {
    this.#isSilent = true;
    this.calls = [];
    const said = this.ask(ask, attempt).catch(() => null);
    const answered = said.then(() => "answered");
    // Polled: what resolves in the object's context does not wake the test's.
    while (this.calls.length === 0 && (await Promise.race([answered, scheduler.wait(1)])) !== "answered") continue;
    this.#isSilent = false;
    if (this.calls.length > 0) {
      expectRuntimeError("lost by the test");
      await runInDurableObject(this.#stub, (_instance, state) => state.abort("lost by the test")).catch(
        () => undefined,
      );
      // The first request afterwards may still get the error.
      await this.alarmAt().catch(() => null);
    }
    return said;
  }

  /** Replaces a record, as if a lost instance had left it. */
  async leave(record: RecordId, left: IdempotencyRecord): Promise<void> {
    await runInDurableObject(this.#stub, async (_instance, { storage }) => {
      const ledger = new Ledger(storage);
      ledger.save(record, ledger.find(record), left);
      const alarmAt = Math.min(deadlineOf(left), (await storage.getAlarm()) ?? Number.POSITIVE_INFINITY);
      await storage.setAlarm(alarmAt);
    });
    await this.evict();
  }

  #send(ask: Ask, attempt: AttemptId): Promise<Response> {
    const { record, fingerprint, duplicate } = ask;
    const head: ExchangeHead = {
      record: { id: record, key: "key", route: "/" },
      request: {
        echo: "key",
        attemptId: attempt,
        fingerprint: fingerprintOf(fingerprint),
        sameBytes: true,
        upload: null,
        isCached: false,
        lastEventId: null,
      },
      rules: {
        policy: policyOf(ask),
        lists: LISTS,
        duplicate,
        waitMs: 5000,
        timeoutMs: 5000,
        idleTimeoutMs: 5000,
        maxResponseBodyBytes: 1000,
        keyReusedStatus: 422,
        omitHeaders: [],
      },
      // The test's own `fetch` is the network here.
      call: {
        origin: { kind: "zone" },
        method: "POST",
        url: `https://api.example/${attempt}`,
        headers: [],
        hasBody: false,
      },
      telemetry: { log: "none", serverTiming: false, trace: null },
      verification: null,
    };
    const body = encodeMessage({ head, body: new Uint8Array() });
    return this.#stub.fetch(EXCHANGE_CALL.url, { method: "POST", body });
  }

  async #answer(request: Request): Promise<Response> {
    this.calls.push(Number(request.headers.get("Idempotency-Attempt")));
    if (this.#isSilent) return new Promise(() => undefined);
    // Long enough for a duplicate to come meanwhile.
    await scheduler.wait(10);
    const { behaviour } = this;
    switch (behaviour) {
      case "drops":
        throw new Error("connection lost");
      case "is cut short":
        return new Response(cutShort(), { status: 201 });
      case 201:
      case 404:
      case 500:
      case 503:
      case 429:
      case 502:
      case 504:
        return new Response(new URL(request.url).pathname, { status: behaviour });
    }
  }

  /** Evicts the idle object. */
  async evict(): Promise<void> {
    await evictDurableObject(this.#stub);
  }

  /** Returns whether an alarm was set. */
  alarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.#stub);
  }

  alarmAt(): Promise<number | null> {
    return runInDurableObject(this.#stub, (_instance, { storage }) => storage.getAlarm());
  }

  /** The record as it lies in the ledger, expired or not. */
  stored(record: RecordId): Promise<IdempotencyRecord | null> {
    return runInDurableObject(this.#stub, (_instance, { storage }) => new Ledger(storage).find(record)?.record ?? null);
  }
}

export function freshAttempt(): AttemptId {
  return attemptId(crypto.randomUUID());
}

function cutShort(): ReadableStream<Uint8Array> {
  let isFirst = true;
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (isFirst) controller.enqueue(new TextEncoder().encode("half of"));
      else controller.error(new Error("connection lost"));
      isFirst = false;
    },
  });
}
