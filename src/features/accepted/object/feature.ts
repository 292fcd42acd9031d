// Accepted requests within an object: how a new one begins, what its client and its duplicates get, and what the alarm begins.

import { respondToCall } from "../../../kernel/call.ts";
import type { ObjectFeature, ObjectKernel, PerformedExchange } from "../../../kernel/object-feature.ts";
import { runAttempt } from "../../../kernel/object/attempt-run.ts";
import { type ExchangeAnswer, problemAnswer } from "../../../kernel/object/exchange-answer.ts";
import type { RequestSignal } from "../../../kernel/object/exchange-ports.ts";
import { timeWait } from "../../../kernel/traffic/exchange-reporter.ts";
import type { Started } from "../../../kernel/record/record.ts";
import { MONITOR_CALL, type MonitorQuestion, FINGERPRINT_PREFIX_DIGITS } from "../monitor-question.ts";
import { AcceptedAttempts, leaveUnread } from "./accepted-attempts.ts";
import { MonitorAnswers } from "./monitor.ts";

export interface AcceptedFeature extends ObjectFeature {
  /** Tells a client what became of a request. */
  readonly answerMonitor: (question: MonitorQuestion, caller: RequestSignal) => Promise<Response>;
}

export function acceptedObject(kernel: ObjectKernel): AcceptedFeature {
  const monitors = new MonitorAnswers(kernel);
  const acceptedAttempts = new AcceptedAttempts({ ...kernel, begun: (id) => monitors.lookAgain(id) });

  /** What became of it. */
  const follow = async ({ id, head, caller, span }: PerformedExchange, waitMs?: number): Promise<ExchangeAnswer> => {
    const { async, request, rules } = head;
    if (async === undefined) throw new TypeError("a request without a monitor was accepted");
    const fingerprintPrefix = request.fingerprint.slice(0, FINGERPRINT_PREFIX_DIGITS);
    const follower = {
      id,
      fingerprintPrefix,
      policy: rules.policy,
      monitor: `${async.monitor}&print=${fingerprintPrefix}`,
      waitMs: waitMs ?? async.waitMs,
      isPreferred: async.isPreferred,
      head,
    };
    const answer = await timeWait(span, monitors.follow(follower, caller));
    return answer ?? problemAnswer(head, { code: "store-unavailable" });
  };

  /** The result if it comes while the client waits; otherwise what there is to tell. */
  const start = async (exchange: PerformedExchange, record: Started): Promise<ExchangeAnswer> => {
    const { id, head } = exchange;
    const { attempt } = runAttempt(id, record, exchange, kernel, () => acceptedAttempts.enter(head.record.lane));
    const waitMs = head.async?.waitMs ?? 0;
    const begunAt = performance.now();
    const given = waitMs > 0 ? await kernel.timers.firstOf(attempt.answer, waitMs) : null;
    if (given !== null && (given.outcome === "first" || given.outcome === "not-kept")) return given;
    leaveUnread(attempt.answer);
    return follow(exchange, Math.max(0, waitMs - (performance.now() - begunAt)));
  };

  const answerMonitor = async (question: MonitorQuestion, caller: RequestSignal): Promise<Response> => {
    const response = await monitors.answer(question, caller);
    kernel.restoreAlarm();
    return response;
  };

  return {
    name: "accepted",
    actions: { accept: () => (acceptedAttempts.mayBegin() ? "begin" : "wait"), startAccepted: start, follow },
    dues: [
      {
        name: "accepted requests",
        nextAt: (now) => acceptedAttempts.nextAt(now),
        run: (now) => acceptedAttempts.startDue(now),
      },
    ],
    bringBack: () => {
      acceptedAttempts.endPauses();
      return 0;
    },
    calls: [
      respondToCall(MONITOR_CALL, async (request) => answerMonitor(await request.json<MonitorQuestion>(), request)),
    ],
    answerMonitor,
  };
}
