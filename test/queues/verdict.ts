// What became of every message, from the journals of the broker and of the origin alone.

import type { JournalLine } from "../support/broker.ts";
import type { EffectLine } from "../support/effects.ts";

export interface Verdict {
  readonly messages: number;
  /** How often the origin acted, in all. */
  readonly effects: number;
  /** Messages for which the origin acted more than once. */
  readonly doubled: number;
  /** Messages that are over, without an effect, without a dead letter, and not with their record; and those that are not over. */
  readonly lost: number;
  /** Messages that are stored with a record whose outcome is unknown. */
  readonly parked: number;
  /** Dead letters by their reasons; a message counts once for each. */
  readonly letters: Readonly<Record<string, number>>;
  /** Messages with an effect and a dead letter whose reason says that there may be one. */
  readonly inDoubt: number;
  /** Deliveries that neither acknowledged nor retried their message. */
  readonly undecided: number;
  /** Doubled effects whose attempts do not have rising numbers: nobody could tell them apart. */
  readonly unfenced: number;
  readonly deliveries: number;
}

export function judge(
  broker: readonly JournalLine[],
  origin: readonly EffectLine[],
  parked: ReadonlySet<string>,
): Verdict {
  const idsOf = (kind: JournalLine["kind"]): ReadonlySet<string> =>
    new Set(broker.filter((line) => line.kind === kind).map(({ id }) => id));
  const sent = idsOf("sent");
  const acked = idsOf("acked");
  const dead = idsOf("letter");
  const attempts = new Map<string, number[]>();
  for (const { id, attempt } of origin) attempts.set(id, [...(attempts.get(id) ?? []), Number(attempt)]);
  const letters = new Map<string, ReadonlySet<string>>();
  for (const line of broker) {
    if (line.kind === "letter") letters.set(line.reason, new Set([...(letters.get(line.reason) ?? []), line.id]));
  }
  const ids = [...sent];
  const doubled = [...attempts.values()].filter((list) => list.length > 1);
  return {
    messages: ids.length,
    effects: origin.length,
    doubled: doubled.length,
    lost: ids.filter((id) => !acked.has(id) || !(attempts.has(id) || dead.has(id) || parked.has(id))).length,
    parked: parked.size,
    letters: Object.fromEntries([...letters].map(([reason, of]) => [reason, of.size])),
    inDoubt: ids.filter((id) => attempts.has(id) && dead.has(id)).length,
    undecided: broker.filter(({ kind }) => kind === "undecided").length,
    unfenced: doubled.filter((list) => list.some((number, at) => at > 0 && number <= (list[at - 1] ?? 0))).length,
    deliveries: broker.filter(({ kind }) => kind === "delivered").length,
  };
}
