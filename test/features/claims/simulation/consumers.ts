// Consumers that run elsewhere: each makes tries, claims keys for them, extends, completes and releases them, in any order and as often
// as it likes, also long after its lock has ended, as a process that was stopped does. Answers leave the object when the writes before
// them are durable; whether a consumer hears them changes nothing of what it may send next.

import { attemptId, durationMs, fingerprint as fingerprintOf, recordId } from "../../../../src/kernel/record/units.ts";
import type { Position } from "../../../../src/kernel/record/events.ts";
import type { OperatorChange } from "../../../../src/kernel/record/timeline.ts";
import {
  type ClaimAct,
  type ClaimEntry,
  type ClaimReply,
  CLAIMS_CALL,
  POSITION_CALL,
} from "../../../../src/features/claims/claim-message.ts";
import { checkClaims } from "../../../guarantees/claims.ts";
import type { ClaimCall, ClaimWords } from "../../../guarantees/history.ts";
import { metaOf } from "../../../guarantees/policy.ts";
import { headFor } from "../../../simulation/clients.ts";
import type { Host } from "../../../simulation/host.ts";
import { changed, eventOf } from "../../../simulation/operators.ts";
import type { Plan } from "../../../simulation/plan.ts";
import { LEAST_RETENTION_MS } from "../../../simulation/times.ts";
import type { World } from "../../../simulation/world.ts";
import { type ClaimRules, ROUTE } from "./rules.ts";

/** One try of a consumer: it names its attempt itself. */
export interface Try {
  readonly id: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly lockMs: number;
  readonly position: Position | null;
}

/** The offset of a key's message is the key's number. All are in one partition. */
const STREAM = { stream: "orders", partition: 0 };

export class Consumers {
  tries: Try[] = [];
  /** The calls whose answers have left the object, or are lost. */
  readonly #history: ClaimCall[] = [];
  #hasGoneBack = false;
  readonly #operated = new Set<string>();
  /** Whether their messages have offsets. */
  readonly hasPositions: boolean;
  readonly #world: World;
  readonly #host: Host;
  readonly #rules: ClaimRules;

  constructor(world: World, rules: ClaimRules, hasPositions: boolean) {
    this.hasPositions = hasPositions;
    this.#world = world;
    this.#host = world.host;
    this.#rules = rules;
  }

  /** A consumer has a message, and will claim its key. */
  begin(key: string, fingerprint: string, lockMs: number): Try {
    const offset = Number(key.slice(1));
    const position = this.hasPositions ? { ...STREAM, offset, previous: offset === 0 ? null : offset - 1 } : null;
    const one = { id: `c${this.tries.length + 1}`, key, fingerprint, lockMs, position };
    this.tries.push(one);
    return one;
  }

  /** Sends one message about these. */
  send(tries: readonly Try[], actOf: (one: Try) => ClaimAct): void {
    const { life } = this.#host;
    const { clock, disk } = this.#world;
    const entries = tries.map((one): ClaimEntry => {
      const record = { id: recordId(one.key), key: one.key, route: ROUTE };
      return { record, attemptId: attemptId(one.id), act: actOf(one), position: one.position };
    });
    const policy = policyOf(this.#world.plan);
    const nextBefore = this.#rules.nextNow(this.#world.disk);
    const answer = Promise.resolve(this.#host.shard.ask(CLAIMS_CALL, { policy, entries }));
    const sentAt = clock.nowMs;
    this.#hasGoneBack ||= sentAt < clock.latestMs;
    const tell = (one: Try, act: ClaimAct, reported: ClaimWords | null): void =>
      void this.#history.push(callOf(one, act, reported, sentAt, clock.latestMs));
    const lose = (): void => {
      for (const [at, one] of tries.entries()) {
        const act = entries[at]?.act;
        if (act !== undefined) tell(one, act, null);
      }
    };
    const decided = (replies: readonly ClaimReply[]): void => {
      if (life !== this.#host.life) return lose();
      for (const [at, reply] of replies.entries()) {
        const [one, entry] = [tries[at], entries[at]];
        if (one === undefined || entry === undefined || "elsewhere" in reply) continue;
        this.#world.trace(`        ${entry.act.verb} of ${one.id} for ${one.key}: ${reply.state}`);
        this.#rules.decides(one, entry.act, reply, nextBefore, disk);
        const done = (): void => tell(one, entry.act, reply);
        const undo = (): void => tell(one, entry.act, null);
        this.#world.facts.change({ object: "", gate: disk.written, done, undo });
      }
    };
    answer.then(decided, (error: unknown) => {
      // An object that is lost before it answers.
      this.#world.trace(`        no answer: ${String(error)}`);
      lose();
    });
  }

  /** Where the group goes on. */
  readPosition(): number | null {
    const { next } = this.#host.shard.askNow(POSITION_CALL, { route: ROUTE, ...STREAM });
    this.#rules.reads(next, this.#world.disk);
    return next;
  }

  /** An operator's decision. Returns a short description of the result. */
  decide(key: string, action: OperatorChange): string {
    const body = { kind: "inline", bytes: new TextEncoder().encode('"by an operator"') } as const;
    const response = action === "resolve" ? { status: 200, statusText: "", headers: [], body } : null;
    const why = changed(this.#host.shard, recordId(key), eventOf(action), response);
    if (why === null) {
      this.#rules.operates(key, action, this.#world.disk);
      this.#operated.add(key);
    }
    return why ?? "done";
  }

  /**
   * What the consumers have heard keeps the guarantees, by the checker of all histories. Keys that operators have decided about are left
   * out, because the history has no such decisions, and so is everything if the clock has gone back: a history has one clock.
   */
  judge(): void {
    if (this.#hasGoneBack) return;
    const { unknown } = policyOf(this.#world.plan);
    const groups = {
      [ROUTE]: { unknown: unknown === "retry" ? unknown : "hold", retentionMs: LEAST_RETENTION_MS },
    } as const;
    const reported = this.#history.filter(({ entries }) => entries.every(({ key }) => !this.#operated.has(key)));
    for (const { rule, what, evidence } of checkClaims([metaOf("simulation", { policies: {}, groups }), ...reported]))
      this.#world.rules.broken(rule, `${what} (${evidence.join(", ")})`);
  }
}

/** One message may hold several entries: each is a call of its own here. */
function callOf(
  { id, key, position }: Try,
  act: ClaimAct,
  answer: ClaimWords | null,
  sentAt: number,
  endAt: number,
): ClaimCall {
  const end = act.verb === "release" ? { effect: act.effect } : act.verb === "complete" ? { result: id } : {};
  const entries = [{ key, attemptId: id, offset: position?.offset ?? 0, ...end }];
  return {
    type: "claim-call",
    group: ROUTE,
    verb: act.verb,
    sentAt,
    endAt,
    entries,
    answers: answer === null ? null : [answer],
  };
}

export function claimOf({ fingerprint, lockMs }: Try): ClaimAct {
  return {
    verb: "claim",
    fingerprint: fingerprintOf(fingerprint),
    lockMs: durationMs(lockMs),
    holder: null,
  };
}

function policyOf(plan: Plan): ReturnType<typeof headFor>["rules"]["policy"] {
  const { policy } = headFor(plan, "", "", "", "reject", "").rules;
  return policy.unknown === "verify" ? { ...policy, unknown: "hold" } : policy;
}
