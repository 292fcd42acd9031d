// One step of one record: load, step, save. Every change goes through here, from a request, an attempt, the alarm or an operator.

import type {
  LifeCycleEvent,
  LifeCycleStep,
  NoteEvent,
  OperatorEvent,
  RecordEvent,
  RefusedChange,
} from "../record/events.ts";
import { type CandidateRecord, chooseCandidate, mayStart } from "../record/candidate.ts";
import { renewedAttempt } from "../record/verdict.ts";
import { step } from "../record/life-cycle.ts";
import { deadlineOf } from "../record/step.ts";
import type { Attempt, IdempotencyRecord, Policy, Started } from "../record/record.ts";
import { historyWithFinding, historyWithNote, type OpenFinding, updateHistory } from "../record/timeline.ts";
import { type AttemptId, durationMs, epochMs, type EpochMs, timeAfter, type RecordId } from "../record/units.ts";
import type { ExchangeHead } from "../request/message.ts";
import type { RecordChange, StepParticipation, StepChange, StepHook } from "../step-hook.ts";
import type { ObjectAlarm } from "./alarm.ts";
import type { RecordAttachments } from "../store/attachments.ts";
import type { Entry, Ledger } from "../store/ledger.ts";
import type { AttemptsInFlight } from "./attempts-in-flight.ts";
import type { StoredResponse } from "../store/response-rows.ts";
import { UnreadableError } from "../store/unreadable.ts";

/**
 * When the alarm looks after accepted requests that wait for their turn. The attempts before them begin them, unless the instance is lost
 * that makes these attempts.
 */
export const TURN_CHECK_MS = durationMs(60_000);

/** A step, and the entry as it was before. */
export type TakenStep = LifeCycleStep & { readonly entry: Entry | null };

export interface StepPorts {
  readonly ledger: Ledger;
  readonly alarm: ObjectAlarm;
  readonly attempts: AttemptsInFlight;
  /** What takes part in each step, in this order. */
  readonly hooks: () => readonly StepHook[];
  /** Whether the origin is being asked what became of a record's last attempt. */
  readonly isVerifying: (id: RecordId) => boolean;
}

export class RecordSteps {
  readonly #ports: StepPorts;

  constructor(ports: StepPorts) {
    this.#ports = ports;
  }

  /** The record as it stands now, without changing it; `null` when it has expired. */
  see(id: RecordId, record: IdempotencyRecord, now: EpochMs): IdempotencyRecord | null {
    return this.#outlives(id, record, now)
      ? renewedAttempt(record, now)
      : step(record, { type: "tick" }, record.policy, now).record;
  }

  /** Makes an operator's change; `response` is for `resolve`. Returns why it was refused; `null` when it was made. */
  change(id: RecordId, event: OperatorEvent, response: StoredResponse | null): RefusedChange | null {
    const entry = this.#find(id, event);
    if (entry === "unreadable") {
      this.#ports.ledger.eraseUnreadable(id);
      return null;
    }
    if (entry === null) return "none";
    if (this.#isAnswerComing(id)) return "in-flight";
    const { policy } = entry.record;
    const now = epochMs(Date.now());
    // Ends the lock of a lost attempt that the alarm has not reached yet. Also discards its partial body.
    if (entry.record.state === "started") this.take(id, { type: "tick" }, policy, now);
    const { reply } = this.take(id, event, policy, now, { response });
    return reply.type === "unchangeable" ? reply.why : null;
  }

  /** Writes something down in a record's history, whatever its state. Returns why not; `null` when it is written. */
  note(id: RecordId, note: NoteEvent): RefusedChange | null {
    const { ledger } = this.#ports;
    const now = epochMs(Date.now());
    const policy = ledger.find(id)?.record.policy;
    // What time has ended comes before the note.
    if (policy !== undefined) this.take(id, { type: "tick" }, policy, now);
    const entry = ledger.find(id);
    if (entry === null) return "none";
    // Its history is erased with its response.
    if (entry.record.state === "remembered") return "remembered";
    ledger.saveHistory(id, entry, historyWithNote(entry.history, note, now));
    return null;
  }

  /** Writes down what came of asking the origin about an attempt, if its outcome is still unknown. */
  noteFinding(id: RecordId, attempt: AttemptId, finding: OpenFinding): void {
    const { ledger } = this.#ports;
    const entry = ledger.find(id);
    if (entry?.record.state !== "unknown" || entry.record.attempt.id !== attempt) return;
    const history = historyWithFinding(entry.history, entry.record.attempt.number, finding, epochMs(Date.now()));
    if (history !== entry.history) ledger.saveHistory(id, entry, history);
  }

  /**
   * Whether an answer of the origin may be on its way that decides what an operator would decide: one that the attempt still receives,
   * also after its verdict, or one to a verification. Released beside it, an accepted request would act twice.
   */
  #isAnswerComing(id: RecordId): boolean {
    return this.#ports.attempts.get(id) !== undefined || this.#ports.isVerifying(id);
  }

  /** A record that cannot be read can be forgotten by an operator, and nothing else. */
  #find(id: RecordId, { type }: RecordEvent): Entry | "unreadable" | null {
    try {
      return this.#ports.ledger.find(id);
    } catch (error) {
      if (error instanceof UnreadableError && type === "forget") return "unreadable";
      throw error;
    }
  }

  /** Why an operator's change would be refused now; `null`: it would be made. Changes nothing. */
  whyNot(id: RecordId, event: RecordEvent): RefusedChange | null {
    const entry = this.#find(id, event);
    if (entry === "unreadable") return null;
    const now = epochMs(Date.now());
    const record = entry === null ? null : this.see(id, entry.record, now);
    if (event.type === "note") return record === null ? "none" : record.state === "remembered" ? record.state : null;
    if (this.#isAnswerComing(id)) return "in-flight";
    if (record === null) return "none";
    const { reply } = step(record, event, record.policy, now);
    return reply.type === "unchangeable" ? reply.why : null;
  }

  /**
   * The name of the record that a request means. Outside a change of the scope it is its own name. Expired records under its other
   * names are erased, so that none of them is found again if the clock goes back, beside the one that starts now. `null`: more
   * records may be meant than one request looks at, and none of those that it has looked at decides.
   */
  nameOf({ record, request }: ExchangeHead, now: EpochMs): RecordId | null {
    const { aliases } = this.#ports.ledger;
    const { id, olderIds = [] } = record;
    if (olderIds.length === 0 && !aliases.exist) return id;
    const { fingerprint } = request;
    const same = aliases.targets(id, fingerprint);
    const candidates = this.#current([id, ...olderIds, ...same.ids], id, now);
    const chosen = chooseCandidate(candidates, fingerprint, now);
    if (chosen?.record.fingerprint === fingerprint) {
      return same.isCut && mayStart(chosen.record, now) ? null : chosen.id;
    }
    if (same.isCut) return null;
    if (chosen !== null) return chosen.id;
    // Of the other requests under this name, one that lives is enough: its key is in use.
    const others = aliases.targets(id);
    const [other] = this.#current(others.ids, id, now);
    return other?.id ?? (others.isCut ? null : id);
  }

  /** The records of these names that live. The others are erased, except that of the request's own name, which a claim replaces. */
  #current(names: readonly RecordId[], own: RecordId, now: EpochMs): readonly CandidateRecord[] {
    return [...new Set(names)].flatMap((name) => {
      const found = this.#ports.ledger.find(name)?.record ?? null;
      const record = found === null ? null : this.see(name, found, now);
      if (record !== null) return [{ id: name, record }];
      if (found !== null && name !== own) this.take(name, { type: "tick" }, found.policy, now);
      return [];
    });
  }

  /**
   * Whether there is a record under one of these names, its own first. Those that have expired are erased: see `holds`. Also `true`
   * if there are more than one request looks at: then this object decides about it, and `nameOf` erases some more.
   */
  holdsAny([id, ...olderIds]: readonly RecordId[], now: EpochMs): boolean {
    if (id === undefined) return false;
    const { ids, isCut } = this.#ports.ledger.aliases.targets(id);
    return [...new Set([id, ...olderIds, ...ids])].some((name) => this.holds(name, now)) || isCut;
  }

  /** Whether there is a record. One that has expired is erased in this turn, because another object may begin its key: a clock that goes back must not bring it back. */
  holds(id: RecordId, now: EpochMs): boolean {
    // Also when the record has gone already.
    this.#ports.attempts.cutOff(id, now);
    const found = this.#ports.ledger.find(id)?.record ?? null;
    if (found === null) return false;
    if (this.see(id, found, now) !== null) return true;
    this.take(id, { type: "tick" }, found.policy, now);
    return false;
  }

  /** Applies to a record what time has changed, and writes it. */
  applyTime(id: RecordId, now: EpochMs): void {
    const { ledger } = this.#ports;
    const policy = ledger.find(id)?.record.policy;
    const left = policy === undefined ? null : this.take(id, { type: "tick" }, policy, now).record;
    // Corrects the remembered end of its lock.
    ledger.lockEnds.note(id, left);
  }

  /** Erases some expired records, with the dead letters of those that were parked messages. */
  eraseExpired(now: EpochMs, limit: number): void {
    const { ledger, hooks } = this.#ports;
    const joined: StepParticipation[] = [];
    const onExpired = (change: RecordChange): void => {
      for (const hook of hooks()) {
        const one = hook.expire?.(change) ?? null;
        if (one === null) continue;
        one.write?.();
        joined.push(one);
      }
    };
    ledger.expired.erase(now, limit, onExpired, () => {
      for (const { written } of joined) written();
    });
  }

  /** One step of one record, without an `await`: all reads, decisions and writes here are one commit. */
  take(
    id: RecordId,
    event: LifeCycleEvent,
    policy: Policy,
    now: EpochMs,
    attachments: RecordAttachments = {},
  ): TakenStep {
    const { attempts, ledger, alarm } = this.#ports;
    attempts.cutOff(id, now);
    const entry = this.#entry(id, now);
    const before = entry?.record ?? null;
    const result = step(before, event, policy, now);
    const { record: after, deadline } = result;
    if (after !== before) {
      const history = updateHistory(entry?.history ?? [], before, event, after, now);
      const joined = this.#join({
        id,
        before,
        after,
        now,
        event,
        attachments,
        isForgotten: (event.type === "forget" || event.type === "cancel") && result.reply.type === "changed",
        label: () => attachments.label ?? ledger.label(id, entry),
        request: () => (entry === null ? null : ledger.request(id, entry)),
      });
      ledger.save(id, entry, after, { ...attachments, history }, joined);
      for (const { written } of joined) written();
      if (deadline !== null) alarm.moveTo(alarmFor(deadline, event, now));
    }
    return { ...result, entry };
  }

  #join(change: StepChange): readonly StepParticipation[] {
    const joined: StepParticipation[] = [];
    for (const { join } of this.#ports.hooks()) {
      const one = join?.(change) ?? null;
      if (one !== null) joined.push(one);
    }
    return joined;
  }

  /** The number of the attempt that a request would start, at once or when its turn comes; `null`: none. Changes nothing. */
  wouldStart(id: RecordId, event: LifeCycleEvent, policy: Policy, now: EpochMs): Pick<Attempt, "number"> | null {
    const found = this.#ports.ledger.find(id)?.record ?? null;
    const record = found !== null && this.#outlives(id, found, now) ? renewedAttempt(found, now) : found;
    const { reply } = step(record, event, policy, now);
    if (reply.type === "start") return reply.record.attempt;
    return reply.type === "accepted" && reply.isNew ? { number: reply.record.attempt.number + 1 } : null;
  }

  /** The entry as it stands. A lock never ends while its attempt runs, however late its renewal comes. */
  #entry(id: RecordId, now: EpochMs): Entry | null {
    const entry = this.#ports.ledger.find(id);
    if (entry === null || !this.#outlives(id, entry.record, now)) return entry;
    this.#ports.ledger.save(id, entry, renewedAttempt(entry.record, now));
    return this.#ports.ledger.find(id);
  }

  /** Whether the lock has ended while its attempt still runs here. */
  #outlives(id: RecordId, record: IdempotencyRecord, now: EpochMs): record is Started {
    if (record.state !== "started" || deadlineOf(record) > now) return false;
    return this.#ports.attempts.get(id)?.attempt.id === record.attempt.id;
  }
}

/** A request that waits for its turn is due at once, but an alarm would find all places taken. */
function alarmFor(deadline: EpochMs, event: LifeCycleEvent, now: EpochMs): EpochMs {
  const isForTurn = event.type === "request" && event.accept === "wait" && deadline <= now;
  return isForTurn ? timeAfter(now, TURN_CHECK_MS) : deadline;
}
