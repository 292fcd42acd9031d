// The destinations of events, and the calls to them. A call leaves the object when the writes before it are durable (output gate).
// Later steps decide whether its events are taken, refused, or neither, and whether the gateway hears of it. What the gateway is told
// of an answer is what src/features/outbox/send-events.ts makes of it.

import { LONGEST_PAUSE_MS, type EventPublication, type TryResult } from "../../../../src/kernel/record/outbox.ts";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import type { RelayTarget } from "../../../../src/features/outbox/object/relay.ts";
import { NOWHERE } from "../../../../src/features/outbox/object/target.ts";
import type { StoredEvent } from "../../../../src/features/outbox/object/rows.ts";
import type { EventRules } from "./rules.ts";

/** A webhook that does not answer is given up after so long. */
export const ANSWER_MS = 20_000;
/** Longer than the first pauses of an event, so that it is tried a few times. */
export const GIVE_UP_MS = 60_000;
export const KEEP_DEAD_MS = 90_000;

/** What routes publish: to one, two or three destinations, of which `queue` takes several events at a time. */
export const PUBLICATIONS: readonly (readonly EventPublication[])[] = [
  [{ to: "hook", type: "done", when: ["2xx"], data: "response" }],
  [
    { to: "queue", type: "done", when: ["2xx", 500], data: "none" },
    { to: "hook", type: "done", when: [201], data: "response" },
  ],
  [
    { to: "hook", type: "done", when: ["2xx"], data: "none", step: "next" },
    { to: "other", type: "ended", when: ["2xx", "5xx"], data: "response" },
    { to: "queue", type: "failed", when: ["5xx"], data: "none" },
  ],
];

export interface EventCall {
  readonly destination: string;
  readonly events: readonly StoredEvent[];
  /** The write that has to be durable before it leaves. */
  readonly gate: number;
  work: "held" | "on the wire" | "over";
  /** Whether the gateway still waits for the answer. */
  isHeard: boolean;
  /** Whether nobody will answer it. */
  hangs: boolean;
  readonly answer: (sent: TryResult) => void;
}

export const ACCEPTED: TryResult = { kind: "accepted" };
const failed = { kind: "failed", retryAfterMs: null } as const;

/** How destinations refuse. */
export const REFUSALS: readonly (TryResult & { readonly kind: "failed" })[] = [
  { ...failed, reason: "status 422", scope: "event" },
  { ...failed, reason: "status 429", scope: "lane", retryAfterMs: 7_000 },
  { ...failed, reason: "status 429", scope: "lane", retryAfterMs: 200_000 },
  { ...failed, reason: "status 410", scope: "lane", retryAfterMs: LONGEST_PAUSE_MS },
  { ...failed, reason: "status 503", scope: "lane" },
];
export const BROKEN: TryResult & { readonly kind: "failed" } = {
  ...failed,
  reason: "the connection broke",
  scope: "destination",
};

/** A queue of dead letters, as the object has it in its environment. */
export interface LetterQueue {
  readonly takeLetters: RelayTarget["send"];
}

/** Where the letters of a binding go. */
export function letterTarget(binding: unknown): RelayTarget {
  return isLetterQueue(binding)
    ? { ...NOWHERE, batch: { events: 100, bytes: 250_000 }, send: binding.takeLetters }
    : NOWHERE;
}

function isLetterQueue(binding: unknown): binding is LetterQueue {
  return typeof binding === "object" && binding !== null && "takeLetters" in binding;
}

export class Destinations {
  calls: EventCall[] = [];
  readonly #dead: string | null;
  readonly #rules: EventRules;
  readonly #written: () => number;

  /** `dead`: a destination that takes nothing, ever. */
  constructor(dead: string | null, rules: EventRules, written: () => number) {
    this.#dead = dead;
    this.#rules = rules;
    this.#written = written;
  }

  target(destination: string): RelayTarget {
    return {
      giveUpAfterMs: durationMs(GIVE_UP_MS),
      keepDeadMs: durationMs(KEEP_DEAD_MS),
      batch: destination === "queue" ? { events: 3, bytes: 250_000 } : { events: 1, bytes: 0 },
      send: (events) => this.#send(destination, events),
    };
  }

  #send(destination: string, events: readonly StoredEvent[]): Promise<TryResult> {
    const answer = Promise.withResolvers<TryResult>();
    this.calls.push({
      destination,
      events,
      gate: this.#written(),
      work: "held",
      isHeard: true,
      hangs: false,
      answer: answer.resolve,
    });
    return answer.promise;
  }

  /** The calls whose gate has opened leave. */
  release(durable: number): void {
    for (const call of this.calls) {
      if (call.work !== "held" || call.gate > durable) continue;
      call.work = "on the wire";
      this.#rules.leaves(call);
    }
  }

  /** Those that the gateway waits for. */
  get open(): readonly EventCall[] {
    return this.calls.filter(({ isHeard }) => isHeard);
  }

  /** Those that a destination can answer. */
  get answerable(): readonly EventCall[] {
    return this.calls.filter(({ work, hangs }) => work === "on the wire" && !hangs);
  }

  /** How many timers they need. */
  get timers(): number {
    return this.calls.filter(({ isHeard, hangs }) => isHeard && hangs).length;
  }

  isDead({ destination }: EventCall): boolean {
    return destination === this.#dead;
  }

  /** The events arrive, and are taken. */
  take(call: EventCall): void {
    this.#rules.takes(call);
  }

  /** The gateway hears how a call has ended. */
  end(call: EventCall, sent: TryResult): void {
    this.calls = this.calls.filter((one) => one !== call);
    call.work = "over";
    if (!call.isHeard) return;
    call.isHeard = false;
    this.#rules.hears(call, sent);
    call.answer(sent);
  }

  /** Nobody answers the call. */
  hang(call: EventCall): void {
    call.hangs = true;
    setTimeout(() => this.end(call, BROKEN), ANSWER_MS);
  }

  /** The object is gone: calls that have left it may still arrive, and nobody hears their answers. */
  crash(): void {
    this.calls = this.calls.filter(({ work, hangs }) => work === "on the wire" && !hangs);
    for (const call of this.calls) call.isHeard = false;
  }
}
