// A real shard in workerd, with an origin under the test's control. The test sends messages as the Worker does, also the same
// one more than once, and can lose the object in between.

import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { IdempotencyRecord } from "../../../src/kernel/record/record.ts";
import { attemptId, durationMs, fingerprint, type RecordId, recordId } from "../../../src/kernel/record/units.ts";
import { encodeMessage, type ExchangeHead, EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";
import type { RouteRules } from "../../../src/kernel/config/resolved.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { eventually } from "../eventually.ts";
import { expectRuntimeError } from "./expected-errors.ts";

export const LOCK_MS = 40_000;
export const RETENTION_MS = 24 * 3_600_000;
export const UNKNOWN_RETENTION_MS = 365 * RETENTION_MS;

/** What the test's origin does with a call; it may take its time. */
export type Origin = (request: Request, number: number) => Response | Promise<Response>;

export interface Said {
  readonly status: number;
  /** Of a problem; `null` for the origin's own answers. */
  readonly code: string | null;
  readonly text: string;
  readonly isReplay: boolean;
  readonly retryAfterSeconds: number | null;
}

export class ShardBench {
  readonly #name: string;
  /** The calls that the origin has seen, in order: method, path, attempt. */
  readonly calls: string[] = [];
  origin: Origin = (_request, number) => new Response(`answer ${number}`, { status: 201 });

  /** From now on the network is the test's. */
  constructor(name: string = crypto.randomUUID()) {
    this.#name = name;
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
      const request = new Request(url, init);
      const attempt = request.headers.get("Idempotency-Attempt") ?? "-";
      this.calls.push(`${request.method} ${new URL(request.url).pathname} ${attempt}`);
      return this.origin(request, this.calls.length);
    });
  }

  /** A new stub each time, because a stub to a lost object stays broken. */
  get stub(): DurableObjectStub {
    return env.KEY_SHARD.get(env.KEY_SHARD.idFromName(this.#name));
  }

  /** What goes through one stub arrives in its order. */
  async send(message: Uint8Array, stub = this.stub): Promise<Said> {
    return saidBy(await stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: message }));
  }

  /** Resolves when the origin has seen so many calls. Polled: what resolves in the object does not wake the test. */
  async called(times: number): Promise<void> {
    await eventually(() => {
      if (this.calls.length < times) throw new Error(`the origin has seen ${this.calls.length} of ${times} calls`);
    });
  }

  /** Loses the object, with everything that it was doing. */
  async lose(): Promise<void> {
    expectRuntimeError("lost by the test");
    await this.within((_ledger, state) => state.abort("lost by the test")).catch(() => undefined);
    // The first request afterwards may still get the error.
    await this.alarmAt().catch(() => null);
  }

  /** Evicts the idle object. */
  evict(): Promise<void> {
    return evictDurableObject(this.stub);
  }

  within<T>(run: (ledger: Ledger, state: DurableObjectState) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, (_instance, state) => run(new Ledger(state.storage), state));
  }

  stored(id: RecordId): Promise<IdempotencyRecord | null> {
    return this.within((ledger) => ledger.find(id)?.record ?? null);
  }

  alarmAt(): Promise<number | null> {
    return this.within((_ledger, { storage }) => storage.getAlarm());
  }

  /** Runs the alarm if one is set. Returns whether one was. */
  alarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.stub);
  }

  /** Calls the alarm as the platform would, set or not, also repeatedly. */
  deliverAlarm(times = 1): Promise<void> {
    return runInDurableObject(this.stub, async (instance) => {
      await Promise.all(Array.from({ length: times }, () => Promise.resolve(instance.alarm?.())));
    });
  }
}

export async function saidBy(response: Response): Promise<Said> {
  const text = await response.text();
  const retryAfter = response.headers.get("Retry-After");
  return {
    status: response.status,
    code: /"code":"([a-z-]+)"/.exec(text)?.[1] ?? null,
    text,
    isReplay: response.headers.has("Idempotent-Replayed"),
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
  };
}

/** What a test changes in the head of a request, group by group. */
export interface HeadChanges {
  readonly record?: Partial<ExchangeHead["record"]>;
  readonly request?: Partial<ExchangeHead["request"]>;
  readonly rules?: Partial<RouteRules>;
  readonly call?: ExchangeHead["call"];
  readonly telemetry?: ExchangeHead["telemetry"];
}

/** The Worker's head for a request, with a fresh record and attempt by default. */
export function headOf(changes: HeadChanges = {}, unknown: RouteRules["policy"]["unknown"] = "retry"): ExchangeHead {
  return {
    record: { id: recordId(crypto.randomUUID()), key: "key", route: "/act", ...changes.record },
    request: {
      echo: "key",
      attemptId: attemptId(crypto.randomUUID()),
      fingerprint: fingerprint("f"),
      sameBytes: true,
      upload: null,
      isCached: false,
      lastEventId: null,
      ...changes.request,
    },
    rules: {
      policy: {
        unknown,
        lockMs: durationMs(LOCK_MS),
        retentionMs: durationMs(RETENTION_MS),
        unknownRetentionMs: durationMs(UNKNOWN_RETENTION_MS),
      },
      lists: { refused: [503], ambiguous: [504] },
      duplicate: "reject",
      waitMs: 5000,
      timeoutMs: 20_000,
      idleTimeoutMs: 20_000,
      maxResponseBodyBytes: 1 << 20,
      keyReusedStatus: 422,
      omitHeaders: [],
      ...changes.rules,
    },
    call: changes.call ?? {
      origin: { kind: "zone" },
      method: "POST",
      url: "https://api.example/act",
      headers: [],
      hasBody: true,
    },
    verification:
      unknown !== "verify"
        ? null
        : {
            origin: { kind: "zone" },
            url: "https://api.example/look-up",
            headers: [],
            timeoutMs: 20_000,
            idleTimeoutMs: 20_000,
            maxBytes: 1 << 20,
          },
    telemetry: changes.telemetry ?? { log: "none", serverTiming: false, trace: null },
  };
}

/** The same request by another client, or by the same one again: with another attempt's id. */
export function again(head: ExchangeHead): ExchangeHead {
  return { ...head, request: { ...head.request, attemptId: attemptId(crypto.randomUUID()) } };
}

export function messageOf(head: ExchangeHead): Uint8Array {
  return encodeMessage({ head, body: new TextEncoder().encode("{}") });
}

/** An answer that waits for the test. Polled, since a promise of the test's does not wake the object. */
export function heldAnswer(answer: () => Response): { readonly origin: Origin; readonly release: () => void } {
  const gate = { isOpen: false };
  return {
    origin: async () => {
      while (!gate.isOpen) await scheduler.wait(1);
      return answer();
    },
    release: () => {
      gate.isOpen = true;
    },
  };
}
