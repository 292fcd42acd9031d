// What the shard does for consumers that run elsewhere: they claim a record, make the attempt themselves, and say how it ended. The
// life cycle is that of every record. Only nothing runs here: no attempt is in flight in this object's memory, so a lock ends when
// its time has come, unless its holder extends it.

import { claimWord, type ClaimWord, isCompletedBy, isReleasedBy, mayExtend } from "../../../kernel/record/claim.ts";
import type { LifeCycleEvent } from "../../../kernel/record/events.ts";
import { step } from "../../../kernel/record/life-cycle.ts";
import type { PartitionPosition } from "../../../kernel/record/position.ts";
import { isClosed, type Policy, type Started } from "../../../kernel/record/record.ts";
import { epochMs, type EpochMs, type RecordId, keyHashOf } from "../../../kernel/record/units.ts";
import {
  type ClaimAnswer,
  type ClaimEntry,
  type ClaimMessage,
  type ClaimReply,
  MAX_RESULTS_BYTES,
} from "../claim-message.ts";
import { readStoredBody } from "../../../kernel/object/answers.ts";
import { START } from "../../../kernel/resume/event-offsets.ts";
import type { KernelParts } from "../../../kernel/object/exchange-ports.ts";
import { PartitionPositions } from "./partition-positions.ts";
import type { RecordSteps, TakenStep } from "../../../kernel/object/record-steps.ts";
import type { Entry, Ledger } from "../../../kernel/store/ledger.ts";
import { claimedPosition, type GroupPartition, type PositionRows } from "./position-rows.ts";
import { isEncrypted, type KeptResponse, sizeOf, type StoredResponse } from "../../../kernel/store/response-rows.ts";
import type { ObjectTimers } from "../../../kernel/object/timers.ts";

/** Where an operator has a group go on. `ifKnown`: only where something is stored of the partition. */
export interface PositionChange extends GroupPartition {
  readonly next: number;
  readonly ifKnown: boolean;
}

export interface ClaimPorts {
  readonly ledger: Ledger;
  readonly positions: PositionRows;
  readonly steps: RecordSteps;
  readonly elsewhere: KernelParts["elsewhere"];
  readonly timers: ObjectTimers;
}

/** How long a stored result may take to be read. */
const IDLE_MS = 30_000;

/** An answer without the result that belongs to it, which may have to be read first. */
interface Decided {
  readonly answer: ClaimAnswer;
  readonly response?: KeptResponse | null;
}

export class ClaimActions {
  readonly #ports: ClaimPorts;
  readonly #positions: PartitionPositions;

  constructor(ports: ClaimPorts) {
    this.#ports = ports;
    this.#positions = new PartitionPositions(ports, (id) => this.#isOpen(id));
  }

  /** Whether a record is claimed and not completed. */
  #isOpen(id: RecordId): boolean {
    const { ledger, steps } = this.#ports;
    const found = ledger.find(id);
    const record = found === null ? null : steps.see(id, found.record, epochMs(Date.now()));
    return record !== null && !isClosed(record.state);
  }

  /** One reply for each entry. What needs no waiting is decided and written in one turn, so that it is one commit. */
  async answer({ policy, entries }: ClaimMessage): Promise<readonly ClaimReply[]> {
    const room = { bytes: MAX_RESULTS_BYTES };
    const replies = this.#positions.inOneTurn(() => entries.map((entry) => this.#answer(entry, policy, room)));
    return Promise.all(replies);
  }

  /** Never rejects: what goes wrong with one entry is no reason to refuse the others. */
  async #answer(entry: ClaimEntry, policy: Policy, room: { bytes: number }): Promise<ClaimReply> {
    try {
      const elsewhere = this.#ports.elsewhere(entry, epochMs(Date.now()));
      if (elsewhere !== null) return { elsewhere };
      return await this.#withResult(this.#decide(entry, policy), room);
    } catch (error) {
      console.error({ message: "a claim failed", keyHash: keyHashOf(entry.record.id), reason: String(error) });
      return { state: "unavailable" };
    }
  }

  /** One turn, without an `await`. */
  #decide(entry: ClaimEntry, policy: Policy): Decided {
    const { ledger } = this.#ports;
    const { record: name, attemptId, act, position, previous } = entry;
    const now = epochMs(Date.now());
    if (act.verb === "claim") {
      const { fingerprint, lockMs, holder } = act;
      const event = { type: "claim", fingerprint, attemptId, note: { holder, position } } as const;
      const taken = this.#ports.steps.take(name.id, event, { ...policy, lockMs }, now, {
        label: name,
        ...(previous === undefined ? null : { placed: entry }),
      });
      const word = claimWord(taken.reply, now);
      if (position !== null) {
        const claimed = { id: name.id, route: name.route, ...position };
        if (taken.reply.type === "start") this.#positions.claimed(claimed);
        else this.#positions.answered(claimed, word.state === "completed");
      }
      return answerOf(word, taken.entry, now);
    }
    const found = ledger.find(name.id);
    const record = found?.record ?? null;
    const history = found?.history ?? [];
    switch (act.verb) {
      case "extend": {
        if (!mayExtend(record, history, attemptId)) return SUPERSEDED;
        const { reply, record: extended } = this.#take(entry, { type: "renew", attemptId }, policy, now);
        // What a record that has expired was before says nothing.
        const isExtended = reply.type === "settled" && extended?.state === "started";
        return isExtended ? { answer: granted(extended, now) } : SUPERSEDED;
      }
      case "complete": {
        if (isCompletedBy(record, history, attemptId)) return { answer: { state: "settled" } };
        const event = { type: "result", attemptId, status: statusOf(act.result), kept: true, verified: false } as const;
        if (step(record, event, policy, now).reply.type !== "settled") return SUPERSEDED;
        const claimed = claimedPosition(history);
        const settle = (): void => void this.#take(entry, event, policy, now, responseOf(act.result));
        if (claimed === null) settle();
        else this.#positions.complete({ id: name.id, route: name.route, ...claimed }, settle);
        return { answer: { state: "settled" } };
      }
      case "release": {
        if (act.effect === "none" && isReleasedBy(record, history, attemptId)) return { answer: { state: "released" } };
        const type = act.effect === "none" ? "refused" : "ambiguous";
        const event = { type, attemptId, reason: { kind: "said", text: act.reason } } as const;
        const { reply } = this.#take(entry, event, policy, now);
        return { answer: { state: reply.type === "settled" ? "released" : "superseded" } };
      }
    }
  }

  /** An operator sets where a group goes on. Returns whether it is set here. */
  setPosition({ next, ifKnown, ...partition }: PositionChange): boolean {
    return this.#positions.set(partition, next, ifKnown);
  }

  /** What this object knows of a partition. */
  position(partition: GroupPartition): PartitionPosition {
    return this.#positions.get(partition);
  }

  #take(
    { record }: ClaimEntry,
    event: LifeCycleEvent,
    policy: Policy,
    now: EpochMs,
    response: StoredResponse | null = null,
  ): TakenStep {
    // The label saves a look for the route that counts the verdict.
    return this.#ports.steps.take(record.id, event, policy, now, { response, label: record });
  }

  /** The answer with its result, as far as there is room for it. */
  async #withResult({ answer, response = null }: Decided, room: { bytes: number }): Promise<ClaimAnswer> {
    if (answer.state !== "completed" || response === null || isEncrypted(response)) return answer;
    const size = sizeOf(response.body);
    if (size === 0) return answer;
    if (size > room.bytes) return { ...answer, resultBytes: size };
    room.bytes -= size;
    const { ledger, timers } = this.#ports;
    const bytes = await readStoredBody(response.body, { stores: ledger, cipher: null }, START, {
      timers,
      idleMs: IDLE_MS,
    });
    return bytes === null ? answer : { ...answer, result: jsonOf(await new Response(bytes).text()), resultBytes: size };
  }
}

const SUPERSEDED: Decided = { answer: { state: "superseded" } };

function answerOf(word: ClaimWord, entry: Entry | null, now: EpochMs): Decided {
  switch (word.state) {
    case "granted":
      return { answer: granted(word.record, now) };
    case "completed": {
      const { attempt, completedAt } = word;
      const at = completedAt === null ? null : new Date(completedAt).toISOString();
      return { answer: { state: "completed", attempt, completedAt: at }, response: entry?.response ?? null };
    }
    case "in-flight":
    case "unknown":
    case "mismatch":
    case "unavailable":
    case "settled":
    case "released":
    case "superseded":
      return { answer: word };
  }
}

function granted({ attempt: { number, id, lockedUntil } }: Started, now: EpochMs): ClaimAnswer {
  return { state: "granted", attempt: number, attemptId: id, lockedForMs: Math.max(0, lockedUntil - now) };
}

/** The status under which operators see a result. */
function statusOf(result: string | null): number {
  return result === null ? 204 : 200;
}

const encoder = new TextEncoder();

function responseOf(result: string | null): StoredResponse {
  const headers = result === null ? [] : [["content-type", "application/json"] as const];
  const bytes = encoder.encode(result ?? "");
  return { status: statusOf(result), statusText: "", headers, body: { kind: "inline", bytes } };
}

/** What an operator has supplied instead of a result need not be JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
