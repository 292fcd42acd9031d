// What became of an accepted request, for its client while it waits a little, for its duplicates, and for whoever reads its
// monitor. All three look at the record in the same way, and change nothing; where the origin can be asked about a lost attempt, it is
// asked.

import { isToMonitor, type MonitorReply } from "../../../kernel/record/events.ts";
import type { MonitorProblem } from "../../../kernel/record/monitor-problem.ts";
import { outcomeOf } from "../../../kernel/record/outcome.ts";
import type { ClientProblem } from "../../../kernel/record/problem.ts";
import type { Failed, Policy, Started, Unknown, Waiting } from "../../../kernel/record/record.ts";
import { epochMs, type EpochMs, type RecordId } from "../../../kernel/record/units.ts";
import { ECHO_HEADER, STATUS_HEADER } from "../../../kernel/request/headers.ts";
import type { ReplayHead } from "../../../kernel/request/message.ts";
import { replayAnswer } from "../../../kernel/object/answers.ts";
import { asLooked, elsewhereResponse } from "../../../kernel/elsewhere.ts";
import { answerFromResponse, type ExchangeAnswer, problemAnswerAs } from "../../../kernel/object/exchange-answer.ts";
import { VERIFY_AGAIN_MS, notKept, outcomeAction } from "../../../kernel/object/decide.ts";
import type { RequestSignal, KernelParts } from "../../../kernel/object/exchange-ports.ts";
import type { Entry } from "../../../kernel/store/ledger.ts";
import { type ExchangeWait, AttemptWaiters, type WokenWaiter } from "../../../kernel/object/waiters.ts";
import { type MonitorQuestion, NO_MONITOR_STATUS } from "../monitor-question.ts";

/** Who asks about which record. */
export interface MonitorFollower {
  readonly id: RecordId;
  /** The beginning of the request's fingerprint. */
  readonly fingerprintPrefix: string;
  readonly policy: Policy;
  /** The path and the query of the monitor. */
  readonly monitor: string;
  readonly waitMs: number;
  /** Whether the client asked not to wait (RFC 7240, section 4.1). */
  readonly isPreferred: boolean;
  readonly head: ReplayHead;
}

export type MonitorShared = Pick<
  KernelParts,
  "steps" | "attempts" | "ledger" | "timers" | "room" | "offsets" | "verifications" | "elsewhere"
>;

/** A record whose attempt does not run here is looked at again after this time: it is lost, and its lock ends. */
const LOOK_AGAIN_MS = 1000;

export class MonitorAnswers {
  readonly #shared: MonitorShared;
  /** Those who wait for a request that waits for its turn. */
  readonly #waiters = new Map<RecordId, AttemptWaiters>();

  constructor(shared: MonitorShared) {
    this.#shared = shared;
  }

  /** The turn of a request has come, or it is cancelled: those who wait for it look again. */
  lookAgain(id: RecordId): void {
    this.#waiters.get(id)?.wake(null);
  }

  /** The outcome if it comes within the follower's time, else 202; `null` when there is no such record. */
  async follow(follower: MonitorFollower, caller: RequestSignal | null): Promise<ExchangeAnswer | null> {
    // By a clock that nobody sets.
    const until = performance.now() + follower.waitMs;
    let hasVerified = false;
    for (;;) {
      const now = epochMs(Date.now());
      const { reply, entry } = this.#look("look", follower, now);
      if (reply.type === "changed") throw new TypeError("a look has changed a record");
      if (reply.type === "outcome-unknown" && reply.record.verifyAt !== null && !hasVerified) {
        hasVerified = true;
        if (await this.#asked(follower, reply.record, until - performance.now(), caller)) continue;
      }
      if (reply.type !== "accepted") return this.#outcome(reply, entry, follower, caller, now);
      const leftMs = until - performance.now();
      const isOver = leftMs <= 0 || !(await this.#changed(follower, reply.record, leftMs, caller));
      if (isOver) return accepted(reply.record, follower, now);
    }
  }

  #look(
    type: "look" | "cancel",
    { id, fingerprintPrefix, policy }: MonitorFollower,
    now: EpochMs,
  ): { readonly reply: MonitorReply; readonly entry: Entry | null } {
    const { reply, entry } = this.#shared.steps.take(id, { type, fingerprintPrefix }, policy, now);
    if (!isToMonitor(reply)) throw new TypeError(`a monitor was answered with ${reply.type}`);
    return { reply, entry };
  }

  /** Waits until the record may have changed, or the time is up. `false`: there is no place to wait, or nobody who waits. */
  async #changed(
    { id, head }: MonitorFollower,
    record: Waiting | Started,
    leftMs: number,
    caller: RequestSignal | null,
  ): Promise<boolean> {
    const { attempts, room } = this.#shared;
    const inFlight = attempts.get(id);
    const isElsewhere = inFlight === undefined && record.state === "started";
    const ms = isElsewhere ? Math.min(leftMs, LOOK_AGAIN_MS) : leftMs;
    const wait = waitFor(id, head, ms, caller);
    const woken = await (inFlight === undefined ? this.#waitForTurn(id, wait) : room.wait(inFlight.waiters, wait));
    return woken.kind === "recheck" || woken.kind === "time-up";
  }

  /**
   * Asks the origin what became of the attempt, and waits for that as long as the follower waits. `false`: the answer has not come, and the
   * next look will find it.
   */
  async #asked(
    { id, head }: MonitorFollower,
    { policy }: Unknown,
    leftMs: number,
    caller: RequestSignal | null,
  ): Promise<boolean> {
    const { verifications, room } = this.#shared;
    const ask = (): Promise<void> => verifications.verify(id, policy, null);
    if (leftMs <= 0) {
      // It logs its own failure.
      ask().catch(() => undefined);
      return false;
    }
    return (await room.until(ask, waitFor(id, head, leftMs, caller))).kind === "recheck";
  }

  async #waitForTurn(id: RecordId, wait: ExchangeWait): Promise<WokenWaiter> {
    const waiters = this.#waiters.get(id) ?? new AttemptWaiters();
    this.#waiters.set(id, waiters);
    const woken = await this.#shared.room.wait(waiters, wait);
    if (waiters.isEmpty && this.#waiters.get(id) === waiters) this.#waiters.delete(id);
    return woken;
  }

  async #outcome(
    reply: Exclude<MonitorReply, { readonly type: "accepted" | "changed" }>,
    entry: Entry | null,
    { head }: MonitorFollower,
    caller: RequestSignal | null,
    now: EpochMs,
  ): Promise<ExchangeAnswer | null> {
    const { echo } = head.request;
    switch (reply.type) {
      case "replay":
      case "not-kept":
      case "key-expired":
      case "outcome-unknown": {
        const action = outcomeAction(reply, entry?.response ?? null, now);
        if (action.kind === "refuse") return problem(action.problem, echo);
        const given = await replayAnswer(action, head, caller?.signal ?? null, this.#shared);
        return given ?? problem(notKept(action.record).problem, echo);
      }
      case "given-up":
        return ofMonitor(exhausted(reply.record, entry), echo);
      case "unseen":
        return null;
    }
  }

  /** Answers a question that a client asks of the monitor itself. */
  async answer(question: MonitorQuestion, caller: RequestSignal): Promise<Response> {
    const { record, rules, echo, fingerprintPrefix, monitor, waitMs, cancel } = question;
    const head: ReplayHead = { record, rules, request: { echo, upload: null, lastEventId: null, isCached: false } };
    for (const id of this.#names(question)) {
      const follower = { id, fingerprintPrefix, policy: rules.policy, monitor, waitMs, isPreferred: false, head };
      const answer = cancel ? this.#cancel(follower) : (await this.follow(follower, caller))?.response;
      if (answer !== undefined) return answer;
    }
    const elsewhere = this.#shared.elsewhere(asLooked(question), epochMs(Date.now()));
    if (elsewhere !== null) return elsewhereResponse(elsewhere);
    return new Response(null, { status: NO_MONITOR_STATUS, headers: { [STATUS_HEADER]: "monitor-not-found" } });
  }

  #names({ record: { id, olderIds = [] } }: MonitorQuestion): ReadonlySet<RecordId> {
    const { aliases } = this.#shared.ledger;
    return new Set([id, ...olderIds, ...(aliases.exist ? aliases.targets(id).ids : [])]);
  }

  #cancel(follower: MonitorFollower): Response | undefined {
    const { echo } = follower.head.request;
    const now = epochMs(Date.now());
    const { reply } = this.#look("cancel", follower, now);
    switch (reply.type) {
      case "unseen":
        return undefined;
      // One that is given up already is not in flight: it stays so.
      case "changed":
      case "given-up":
        this.lookAgain(follower.id);
        return new Response(null, { status: 204, headers: { [ECHO_HEADER]: echo, [STATUS_HEADER]: "cancelled" } });
      case "accepted": {
        const { lockedUntil } = reply.record.attempt;
        const retryAfterMs = Math.min(Math.max(0, lockedUntil - now), VERIFY_AGAIN_MS);
        return ofMonitor({ code: "cancel-refused", why: "in-flight", retryAfterMs }, echo).response;
      }
      case "replay":
      case "not-kept":
      case "key-expired":
      case "outcome-unknown":
        return ofMonitor({ code: "cancel-refused", why: "ended" }, echo).response;
    }
  }
}

function waitFor(
  recordId: RecordId,
  { record: { lane = 0 } }: ReplayHead,
  ms: number,
  caller: RequestSignal | null,
): ExchangeWait {
  return { recordId, lane, head: null, untilBegun: false, ms, caller: caller?.signal ?? null, isCounted: true };
}

function problem(of: ClientProblem, echo: string): ExchangeAnswer {
  return problemAnswerAs(outcomeOf(of.code), of, echo);
}

/** A client that has waited for its own request can get only the first of these problems. */
function ofMonitor(of: MonitorProblem, echo: string): ExchangeAnswer {
  return problemAnswerAs("attempts-exhausted", of, echo);
}

/** A client that asks again and again hears of longer pauses: a quarter of what has passed, within these bounds. */
const SHORTEST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

function accepted(
  record: Waiting | Started,
  { monitor, isPreferred, head }: MonitorFollower,
  now: EpochMs,
): ExchangeAnswer {
  const isWaiting = record.state === "waiting";
  const sinceMs = now - (record.accepted?.acceptedAt ?? record.attempt.startedAt);
  const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, sinceMs / 4));
  const leftMs = isWaiting ? Math.max(pauseMs, record.startAt - now) : pauseMs;
  const body = {
    status: isWaiting ? "waiting" : "running",
    attempt: record.attempt.number,
    ...(isWaiting ? { nextAttemptAt: new Date(record.startAt).toISOString() } : {}),
    monitor,
  };
  const response = Response.json(body, {
    status: 202,
    headers: {
      Location: monitor,
      "Retry-After": String(Math.ceil(leftMs / 1000)),
      "Cache-Control": "no-store",
      [ECHO_HEADER]: head.request.echo,
      [STATUS_HEADER]: "accepted",
      ...(isPreferred ? { "Preference-Applied": "respond-async" } : {}),
    },
  });
  return answerFromResponse(response, "accepted");
}

function exhausted({ attempt: { mayHaveActed } }: Failed, entry: Entry | null): MonitorProblem {
  return { code: "attempts-exhausted", lastStatus: lastStatusIn(entry), mayHaveActed };
}

/** What the origin answered to the last attempt; `null` if it did not. */
function lastStatusIn(entry: Entry | null): number | null {
  const last = entry?.history.findLast(({ type }) => type === "attempt");
  return last?.type === "attempt" && last.reason?.kind === "status" ? last.reason.status : null;
}
