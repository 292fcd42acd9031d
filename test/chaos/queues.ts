// The queues of a run, one for each rule for unknown outcomes: their settings, and what the origin does with their messages. A message
// carries no plan in a header, so its plan follows from its key.

import type { VariableValue } from "../../src/serve/workerd-config.ts";
import type { RoutePolicy } from "../guarantees/history.ts";
import type { VerificationMode } from "../guarantees/recorders/verifications.ts";
import { createRandom, type Random } from "./random.ts";
import { makePlan, makeQuestions, VERIFICATION_PATH, type Step, TENANT_HEADER } from "./steps.ts";

export const QUEUE_RULES = ["retry", "hold", "verify"] as const;
export type QueueRule = (typeof QUEUE_RULES)[number];

export interface ChaosQueue {
  readonly queue: string;
  readonly path: string;
  /** Whose keys they are, as the history says it. */
  readonly scope: string;
}

export function queueOf(rule: QueueRule): ChaosQueue {
  return { queue: `chaos-${rule}`, path: `/messages-${rule}`, scope: `queue ${rule}` };
}

/** The producer binding that takes the dead letters of all queues. */
export const LETTER_BINDING = "CHAOS_DEAD";
/** What the outbox calls it. */
export const LETTER_DESTINATION = `dead-letters:${LETTER_BINDING}`;

/** The secret that the origin gets with each message. Used in chaos runs only. */
export const QUEUE_SECRETS = { QUEUE_AUTH: "Bearer queues" };

const DAY_MS = 86_400_000;
/** The shortest that the gateway allows. */
const RETENTION_MS = 4 * DAY_MS;
/** So short that some messages are given up, and that one comes again every second. */
const GIVE_UP_AFTER_MS = 5_000;

/** `ambiguous`: as for routes. */
export function queueSettings(ambiguous: readonly number[]): readonly { readonly [setting: string]: VariableValue }[] {
  return QUEUE_RULES.map((unknown) => {
    const { queue, path, scope } = queueOf(unknown);
    return {
      queue,
      to: path,
      key: ["json:/key"],
      unknown,
      ...(unknown === "verify" ? { verify: `${VERIFICATION_PATH}{key}` } : {}),
      headers: { authorization: "secret:QUEUE_AUTH", [TENANT_HEADER.toLowerCase()]: scope },
      ambiguous: [...ambiguous],
      retention: `${RETENTION_MS}ms`,
      unknown_retention: `${RETENTION_MS}ms`,
      give_up: { after: `${GIVE_UP_AFTER_MS}ms` },
      dead_letter: { binding: LETTER_BINDING },
    };
  });
}

type Times = Pick<RoutePolicy, "timeoutMs" | "idleTimeoutMs" | "lockMs" | "waitMs">;

/** By path, as those of routes. */
export function queuePolicies(
  times: Times,
  maxResponseBodyBytes: number,
  hasBucket: boolean,
): Readonly<Record<string, RoutePolicy>> {
  return Object.fromEntries(
    QUEUE_RULES.map((unknown) => [
      queueOf(unknown).path,
      {
        unknown,
        duplicate: "wait",
        ...times,
        retentionMs: RETENTION_MS,
        unknownRetentionMs: RETENTION_MS,
        maxResponseBodyBytes,
        hasBucket,
        comparesNone: false,
        giveUpAfterMs: GIVE_UP_AFTER_MS,
      },
    ]),
  );
}

/** What the origin does with the arrivals of a message. */
export function planOfMessage(key: string, timeoutMs: number): readonly Step[] {
  return makePlan(createRandom(key, "plan"), timeoutMs, { isHuge: false, largeRefusals: false, undoes: false });
}

export function verificationsOfMessage(key: string): readonly VerificationMode[] {
  return makeQuestions(createRandom(key, "questions"), false, false);
}

/** A message of a producer. */
export interface Produced {
  readonly rule: QueueRule;
  /** Empty: it has none that can be read. */
  readonly key: string;
  readonly poison: "key-missing" | "message-invalid" | null;
  readonly fingerprint: "first" | "other";
  readonly body: { readonly [member: string]: VariableValue };
}

/** Above this, a parked message is stored apart from its record. */
const LARGE_BYTES = 60_000;

/** New messages that belong together: one; the same one twice; or one, and another one that has its key by mistake. */
export function produce(random: Random): readonly Produced[] {
  const rule = random.pick(QUEUE_RULES);
  const key = `${rule}-${random.hex(16)}`;
  const text = "x".repeat(random.chance(0.1) ? random.int(5_000, LARGE_BYTES) : random.int(0, 500));
  const sound = (fingerprint: Produced["fingerprint"]): Produced => {
    const body = { key, amount: fingerprint === "first" ? 100 : 101, text };
    return { rule, key, poison: null, fingerprint, body };
  };
  const poisoned = { rule, key: "", fingerprint: "first" } as const;
  return random.weighted<() => readonly Produced[]>([
    [14, () => [sound("first")]],
    [3, () => [sound("first"), sound("first")]],
    [2, () => [sound("first"), sound("other")]],
    [0.5, () => [{ ...poisoned, poison: "key-missing", body: { text } }]],
    [0.5, () => [{ ...poisoned, poison: "message-invalid", body: { key: { of: text } } }]],
  ])();
}
