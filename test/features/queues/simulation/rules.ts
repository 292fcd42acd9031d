// What a broker may forget (docs/guarantees.md, G9): a message whose record is durably completed or keeps it, or whose dead letter
// has been accepted. How often its operation takes effect, the rules of every record say.

import { isDone } from "../../../support/settling-status.ts";
import type { Clock } from "../../../simulation/clock.ts";
import type { DurableRow } from "../../../simulation/durable.ts";
import type { AttemptFacts, Facts } from "../../../simulation/facts.ts";
import { LEAST_RETENTION_MS, LEAST_UNKNOWN_RETENTION_MS } from "../../../simulation/times.ts";
import type { Rules } from "../../../simulation/rules.ts";
import { bodyOf, type Letter, type Message } from "./broker.ts";

export class DeliveryRules {
  readonly #clock: Clock;
  readonly #facts: Facts;
  readonly #rules: Rules;
  /** Contents whose record has been completed, with the statuses; contents that a record keeps. */
  readonly #settled = new Map<string, number>();
  readonly #parked = new Set<string>();
  /** The messages whose letters were accepted. */
  readonly #letters = new Set<string>();

  constructor(clock: Clock, facts: Facts, rules: Rules) {
    this.#clock = clock;
    this.#facts = facts;
    this.#rules = rules;
  }

  /** These rows are durable now. */
  commits(rows: Iterable<DurableRow>): void {
    for (const { attemptId, state, status, accepted, request } of rows) {
      const content = this.#facts.attempts.get(attemptId)?.content;
      if (content === undefined) continue;
      if (state === "completed") this.#settled.set(content, status);
      if (accepted?.isParked === true && request?.includes(content) === true) this.#parked.add(content);
    }
  }

  /** The consumer acknowledges a message. */
  acknowledges(message: Message): void {
    const content = bodyOf(message);
    if (this.#letters.has(message.id) || this.#parked.has(content) || this.#isErased(message)) return;
    const status = this.#settled.get(content);
    const { id, key } = message;
    if (status === undefined || !isDone(status)) {
      this.#rules.broken("G9", `${id} of ${key} is acknowledged, and neither settled, kept nor a dead letter`);
      return;
    }
    const isResolved = this.#facts.of(key).some((attempt) => attempt.isResolved && attempt.content === content);
    // The origin is asked by the key alone: it may tell of an operation whose record an operator has forgotten.
    const isOther = ({ record, isForgotten }: AttemptFacts): boolean => record === key && isForgotten;
    const hasActed = this.#rules.effects.some(({ attempt }) => attempt.content === content || isOther(attempt));
    // A status that settles a message is told only of an operation that took effect.
    if (!isResolved && !hasActed) this.#rules.broken("G9", `${id} of ${key} is acknowledged, and never took effect`);
  }

  /** Whether its record may have had its end and have been erased again between two commits, by an operator or by time. */
  #isErased(message: Message): boolean {
    const content = bodyOf(message);
    const isOver = ({ resultAtMs, lockedUntilMs }: AttemptFacts): boolean =>
      this.#clock.latestMs >=
      (resultAtMs === null ? lockedUntilMs + LEAST_UNKNOWN_RETENTION_MS : resultAtMs + LEAST_RETENTION_MS);
    return this.#facts
      .of(message.key)
      .some((attempt) => attempt.content === content && (attempt.isForgotten || isOver(attempt)));
  }

  /** A dead letter is accepted. */
  takes({ messageId, reason }: Letter, messages: readonly Message[]): void {
    this.#letters.add(messageId);
    const message = messages.find(({ id }) => id === messageId);
    if (message === undefined || this.#isErased(message)) return;
    const content = bodyOf(message);
    const status = this.#settled.get(content);
    const isRight = {
      rejected: status !== undefined && !isDone(status),
      "key-reused": messages.some((other) => other.key === message.key && other.content !== message.content),
    };
    if ((reason === "rejected" && !isRight.rejected) || (reason === "key-reused" && !isRight["key-reused"])) {
      this.#rules.broken("G9", `${messageId} is a dead letter, "${reason}", and that is not so`);
    }
  }

  /** After everything has been delivered. */
  ends(messages: readonly Message[]): void {
    for (const { id, isOver, deliveries } of messages) {
      if (!isOver) this.#rules.broken("G9", `${id} is never settled, after ${deliveries} deliveries`);
    }
  }
}
