// Requests that may be accepted: what a Worker sends to the shard for them, and for their monitors.

import type { Schedule } from "../../../../src/kernel/record/record.ts";
import { durationMs, recordId } from "../../../../src/kernel/record/units.ts";
import { type MonitorQuestion, FINGERPRINT_PREFIX_DIGITS } from "../../../../src/features/accepted/monitor-question.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";

export const SCHEDULE: Schedule = {
  attempts: 3,
  firstPauseMs: durationMs(10),
  longestPauseMs: durationMs(40),
  giveUpAfterMs: durationMs(150),
};

/** How the client of a request wants its answer. */
export interface Acceptance {
  /** Whether it may be accepted. Otherwise its client waits for the result. */
  readonly accepts: boolean;
  /** How long its client waits before it takes a 202. */
  readonly waitMs: number;
}

export const ACCEPTANCES: readonly Acceptance[] = [
  { accepts: true, waitMs: 0 },
  { accepts: true, waitMs: 0 },
  { accepts: true, waitMs: 15 },
  { accepts: false, waitMs: 0 },
];

/** The same request on a route that accepts requests. */
export function accepting(head: ExchangeHead, { accepts, waitMs }: Acceptance): ExchangeHead {
  return {
    ...head,
    rules: withSchedule(head.rules),
    call: { ...head.call, hasBody: true },
    async: {
      accepts,
      monitor: `/monitor?key=${head.record.key}`,
      waitMs: durationMs(waitMs),
      isPreferred: accepts,
    },
  };
}

export function withSchedule(rules: ExchangeHead["rules"]): ExchangeHead["rules"] {
  return { ...rules, policy: { ...rules.policy, schedule: SCHEDULE } };
}

/** What the monitor of the request asks. */
export function questionFor(head: ExchangeHead, { cancel, waitMs }: Pick<Look, "cancel" | "waitMs">): MonitorQuestion {
  const { key, route } = head.record;
  const { echo, fingerprint } = head.request;
  const fingerprintPrefix = fingerprint.slice(0, FINGERPRINT_PREFIX_DIGITS);
  return {
    record: { id: recordId(key), key, route },
    rules: withSchedule(head.rules),
    echo,
    fingerprintPrefix,
    monitor: `/monitor?key=${key}&print=${fingerprintPrefix}`,
    waitMs: durationMs(waitMs),
    cancel,
  };
}

/** A request to a monitor instead of to the route. */
export interface Look {
  readonly cancel: boolean;
  readonly waitMs: number;
  /** Until when the record of an accepted request was certainly kept, as far as could be known when it was sent; `null`: none. */
  readonly promisedUntilMs: number | null;
}
