// One step of one record: load, step, save. Every change goes through here, from a request, an attempt, the alarm or an operator.

import type { LifeCycleEvent, OperatorEvent, Step, Unchangeable } from "../core/events.ts";
import { deadlineOf, renewed, step } from "../core/life-cycle.ts";
import type { IdempotencyRecord, Policy, Started } from "../core/record.ts";
import { updateHistory, verdictOf } from "../core/timeline.ts";
import { epochMs, type EpochMs, type RecordId } from "../core/units.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import type { Traffic } from "../traffic/traffic.ts";
import type { Alarm } from "./alarm.ts";
import type { Attachments, Entry, Ledger } from "./store/ledger.ts";
import type { AttemptsInFlight } from "./attempts-in-flight.ts";
import type { StoredResponse } from "./store/response-rows.ts";

/** A step, and the entry as it was before. */
export type Stepped = Step & { readonly entry: Entry | null };

export interface StepPorts {
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly attempts: AttemptsInFlight;
  readonly traffic: Traffic;
}

export class RecordSteps {
  readonly #ports: StepPorts;

  constructor(ports: StepPorts) {
    this.#ports = ports;
  }

  /** The record as it stands now, without changing it; `null` when it has expired. */
  see(id: RecordId, record: IdempotencyRecord, now: EpochMs): IdempotencyRecord | null {
    return this.#outlives(id, record, now)
      ? renewed(record, now)
      : step(record, { type: "tick" }, record.policy, now).record;
  }

  /** Makes an operator's change; `response` is for `resolve`. Returns why it was refused; `null` when it was made. */
  change(id: RecordId, event: OperatorEvent, response: StoredResponse | null): Unchangeable | null {
    const entry = this.#ports.ledger.find(id);
    if (entry === null) return "none";
    // Also true for an attempt that has its verdict but is still receiving its body.
    if (this.#ports.attempts.get(id) !== undefined) return "in-flight";
    const { policy } = entry.record;
    const now = epochMs(Date.now());
    // Ends the lock of a lost attempt that the alarm has not reached yet. Also discards its partial body.
    if (entry.record.state === "started") this.take(id, { type: "tick" }, policy, now);
    const { reply } = this.take(id, event, policy, now, { response });
    return reply.type === "unchangeable" ? reply.why : null;
  }

  /** Applies to a record what time has changed, and writes it. */
  applyTime(id: RecordId, now: EpochMs): void {
    const { ledger } = this.#ports;
    const policy = ledger.find(id)?.record.policy;
    const left = policy === undefined ? null : this.take(id, { type: "tick" }, policy, now).record;
    // Corrects the remembered end of its lock.
    ledger.lockEnds.note(id, left);
  }

  /** One step of one record, without an `await`: all reads, decisions and writes here are one commit. */
  take(id: RecordId, event: LifeCycleEvent, policy: Policy, now: EpochMs, attachments: Attachments = {}): Stepped {
    this.#ports.attempts.cutOff(id, now);
    const entry = this.#current(id, now);
    const before = entry?.record ?? null;
    const result = step(before, event, policy, now);
    if (result.record !== before) {
      const verdict = before === null ? null : verdictOf(before, event, now);
      let route = "";
      if (verdict !== null) bookkeep("finding a route", () => (route = this.#route(id, entry, attachments)));
      const history = updateHistory(entry?.history ?? [], before, event, result.record, now);
      this.#ports.ledger.save(id, entry, result.record, { ...attachments, history });
      if (result.deadline !== null) this.#ports.alarm.moveTo(result.deadline);
      if (verdict !== null) bookkeep("counting a verdict", () => this.#ports.traffic.verdict(route, verdict));
    }
    return { ...result, entry };
  }

  /** Whether a step would start an attempt. Changes nothing. */
  wouldStart(id: RecordId, event: LifeCycleEvent, policy: Policy, now: EpochMs): boolean {
    const found = this.#ports.ledger.find(id)?.record ?? null;
    const record = found !== null && this.#outlives(id, found, now) ? renewed(found, now) : found;
    return step(record, event, policy, now).reply.type === "start";
  }

  #route(id: RecordId, entry: Entry | null, { label }: Attachments): string {
    return label?.route ?? this.#ports.ledger.label(id, entry).route;
  }

  /** The record as it stands. A lock never ends while its attempt runs, however late its renewal comes. */
  #current(id: RecordId, now: EpochMs): Entry | null {
    const entry = this.#ports.ledger.find(id);
    if (entry === null || !this.#outlives(id, entry.record, now)) return entry;
    this.#ports.ledger.save(id, entry, renewed(entry.record, now));
    return this.#ports.ledger.find(id);
  }

  /** Whether the lock has ended while its attempt still runs here. */
  #outlives(id: RecordId, record: IdempotencyRecord, now: EpochMs): record is Started {
    if (record.state !== "started" || deadlineOf(record) > now) return false;
    return this.#ports.attempts.get(id)?.attempt.id === record.attempt.id;
  }
}
