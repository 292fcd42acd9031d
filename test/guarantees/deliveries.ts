// G9 acknowledged means settled: a message is acknowledged only when its record is completed or keeps it, or its queue has taken its
// dead letter. In the end each has one of these, and the operation of each has taken effect as often as its rule promises (attempts.ts).
//
//   delivery ─► attempt ─► result ─► done? ──yes──► acknowledged
//                  │                   └───no───► dead letter, acknowledged
//                  └► unknown ─► parked, acknowledged ─► an operator, the origin's report, or time ─► done, or dead letter
//
// What a record keeps cannot be seen while the gateway runs, but a record keeps a message only if an attempt may be unknown.

import { isDone } from "../support/settling-status.ts";
import type { Arrival, Decision, Message } from "./history.ts";
import {
  claimedFrom,
  forgottenFrom,
  isClean,
  isOutgrown,
  isRefused,
  livesUntil,
  mayHaveChanged,
  naming,
} from "./facts.ts";
import {
  type Delivered,
  type PoisonHistory,
  type RecordHistory,
  type Violation,
  wasBroken,
  type World,
} from "./records.ts";

const G9 = "G9 acknowledged means settled";

/** The origin may notice so much later that the gateway has closed a connection. */
const CROSSING_MS = 250;

/** The result settles its message. */
function settles({ status }: { readonly status: number | null }): boolean {
  return status !== null && isDone(status);
}

function isAcknowledged({ outcome }: Pick<Delivered, "outcome">): boolean {
  return outcome === "acked" || outcome === "ack-lost";
}

/** Each acknowledgement has a reason that was there before it. */
export function acknowledgedIsSettled(world: World, record: RecordHistory): readonly Violation[] {
  return record.deliveries.filter(isAcknowledged).flatMap((delivery) => {
    const { message, endAt, id } = delivery;
    const isSettled =
      hasLetter(record, message, endAt) ||
      resultsOf(world, record, message).some((arrival) => settles(arrival) && isOverBy(record, arrival, endAt)) ||
      givenBy(record, endAt).some(settles) ||
      mayBeForgotten(record, endAt) ||
      mayBeParked(world, record, delivery);
    if (isSettled) return [];
    const what = "a message was acknowledged, and neither settled, kept nor a dead letter";
    return [{ rule: G9, what, evidence: [id] }];
  });
}

function hasLetter({ letters }: RecordHistory, message: Message, by: number): boolean {
  return letters.some((letter) => letter.message === message.id && letter.at <= by);
}

/** What the gateway may have taken for the result of this content. */
function resultsOf(
  world: World,
  record: RecordHistory,
  { fingerprint }: Pick<Message, "fingerprint">,
): readonly Arrival[] {
  const { refused, ambiguous } = world.meta;
  return record.arrivals.filter((arrival) => {
    const { status, lastAt, request } = arrival;
    const isDecided = status !== null && !refused.includes(status) && !ambiguous.includes(status);
    return (
      isDecided && (lastAt !== null || isOutgrown(record, arrival)) && world.cause(request)?.fingerprint === fingerprint
    );
  });
}

/** The origin has sent all of it, or more than is kept. */
function isOverBy(record: RecordHistory, arrival: Arrival, by: number): boolean {
  return ((isOutgrown(record, arrival) ? arrival.headAt : arrival.lastAt) ?? Infinity) <= by;
}

/** Results that the record may have got from the origin's report or an operator. */
function givenBy(
  { verifications, decisions }: RecordHistory,
  by: number,
): readonly { readonly status: number | null }[] {
  return [
    ...verifications.filter(({ status, at }) => status === 200 && at <= by),
    ...decisions.filter((one) => one.action === "resolve" && mayHaveChanged(one) && one.sentAt <= by),
  ];
}

/** With its record an operator may have erased the reason. */
function mayBeForgotten({ decisions }: RecordHistory, by: number): boolean {
  return decisions.some((one) => one.action === "forget" && mayHaveChanged(one) && one.sentAt <= by);
}

/** With `hold` a message with an unknown outcome is kept at once; with `verify` when it is so old that it is given up. */
function mayBeParked(world: World, record: RecordHistory, { message, endAt }: Delivered): boolean {
  const { unknown, giveUpAfterMs = 0 } = record.policy;
  if (unknown === "retry" || (unknown === "verify" && endAt - message.sentAt < giveUpAfterMs)) return false;
  return mayBeUnknown(world, record, endAt);
}

/** An attempt may have been lost by then, or have left open whether it acted. */
function mayBeUnknown(world: World, record: RecordHistory, by: number): boolean {
  const [first] = record.deliveries;
  if (first === undefined) return false;
  const leavesOpen = (arrival: Arrival): boolean => {
    const { headAt, lastAt, closedAt, status } = arrival;
    if (isRefused(world, arrival)) return false;
    const isAmbiguous = status !== null && world.meta.ambiguous.includes(status) && (headAt ?? Infinity) <= by;
    return isAmbiguous || (lastAt === null && closedAt <= by + CROSSING_MS);
  };
  return wasBroken(world, first.sentAt, by) || record.arrivals.some(leavesOpen);
}

/** With `retry` nothing is parked: what is acknowledged has its result, and no later attempt. */
export function settledIsOver(world: World, record: RecordHistory): readonly Violation[] {
  if (record.policy.unknown !== "retry") return [];
  return record.deliveries.filter(isAcknowledged).flatMap((delivery) => {
    const { message, endAt, id } = delivery;
    if (hasLetter(record, message, endAt)) return [];
    const results = resultsOf(world, record, message).filter((arrival) => isOverBy(record, arrival, endAt));
    const livesTo = Math.min(
      forgottenFrom(record, message.sentAt),
      ...results.map((arrival) => livesUntil(world, record, arrival)),
    );
    const later = record.arrivals.find(({ at }) => at > endAt && at < livesTo);
    if (later === undefined) return [];
    const what = "a message was acknowledged as settled, and its origin was called again";
    return [{ rule: G9, what, evidence: [id, ...naming(later)] }];
  });
}

/** In the end every message is acknowledged, and its record has a result that settles it or keeps it, or it has a dead letter. */
export function nothingIsLost(world: World, record: RecordHistory): readonly Violation[] {
  const { deliveries } = record;
  return [...Map.groupBy(deliveries, ({ message }) => message)].flatMap(([message, own]) => {
    const evidence = [`message ${message.id}`];
    if (!own.some(({ outcome }) => outcome === "acked"))
      return [{ rule: G9, what: `a message was never settled, in ${own.length} deliveries`, evidence }];
    const { parked } = world;
    const isKept = parked?.keys.includes(record.key) === true;
    if (isKept && !parked.isReleased) return [];
    if (isKept) return [{ rule: G9, what: "a message is still parked, although operators have released it", evidence }];
    const isSettled =
      lettersFor(record, message).length > 0 ||
      resultsOf(world, record, message).some(settles) ||
      givenBy(record, Infinity).some(settles) ||
      mayBeForgotten(record, Infinity);
    return isSettled
      ? []
      : [{ rule: G9, what: "a message is lost: it has neither a result nor a dead letter", evidence }];
  });
}

/** Of messages with the same key and content one is kept, and stands for all. */
function lettersFor({ letters, deliveries }: RecordHistory, { fingerprint }: Message) {
  const same = new Set(deliveries.filter((one) => one.fingerprint === fingerprint).map(({ message }) => message.id));
  return letters.filter(({ message }) => same.has(message));
}

/** A result that certainly came, and does not settle a message, has a dead letter. */
export function unsettledResultsHaveLetters(world: World, record: RecordHistory): readonly Violation[] {
  const results: readonly (Arrival | Decision)[] = [
    ...record.arrivals.filter((arrival) => isClean(world, arrival)),
    ...record.decisions.filter((one) => one.action === "resolve" && one.outcome === "changed"),
  ];
  const since = (result: Arrival | Decision): number =>
    result.type === "arrival" ? (result.lastAt ?? 0) : result.sentAt;
  const deaths = record.letters.filter(({ reason }) => reason !== "key-reused");
  return results
    .filter((result) => record.deliveries.length > 0 && !settles(result))
    .filter((result) => !record.decisions.some((one) => isForgetAfter(one, since(result))))
    .filter(({ status }) => !deaths.some((letter) => letter.status === status || letter.reason !== "rejected"))
    .map((result) => ({
      rule: G9,
      what: `a result with status ${result.status} does not settle its message, which has no dead letter`,
      evidence: naming(result),
    }));
}

function isForgetAfter(decision: Decision, since: number): boolean {
  return decision.action === "forget" && mayHaveChanged(decision) && decision.endAt >= since;
}

/** A dead letter says what is true, of its own message. */
export function lettersAreTrue(world: World, record: RecordHistory): readonly Violation[] {
  const messages = new Map(record.deliveries.map(({ message }) => [message.id, message]));
  return record.letters.flatMap((letter) => {
    const message = messages.get(letter.message);
    if (message === undefined)
      return [{ rule: G9, what: "a dead letter of a message that was never delivered", evidence: naming(letter) }];
    const what = untruthOf(message, letter) ?? untrueReason(world, record, message, letter);
    return what === null ? [] : [{ rule: G9, what, evidence: naming(letter) }];
  });
}

type Letter = RecordHistory["letters"][number];

function untruthOf({ queue, id, sentAt, bodySha256 }: Message, letter: Letter): string | null {
  if (letter.letter !== `${queue}/${id}`) return `a dead letter has the id ${letter.letter}`;
  if (letter.messageSentAt !== sentAt) return "a dead letter says that its message was sent at another time";
  return letter.bodySha256 === bodySha256 ? null : "a dead letter has another body than its message";
}

function untrueReason(world: World, record: RecordHistory, message: Message, letter: Letter): string | null {
  const { reason, status, at, writtenAt } = letter;
  const { giveUpAfterMs = 0, unknown } = record.policy;
  switch (reason) {
    case "rejected": {
      const results = [
        ...resultsOf(world, record, message).filter(({ headAt }) => (headAt ?? Infinity) <= at),
        ...givenBy(record, at),
      ];
      if (settles(letter)) return `a dead letter says that status ${status} does not settle its message`;
      return results.some((result) => result.status === status) ? null : `there is no result with status ${status}`;
    }
    case "exhausted": {
      const age = writtenAt - message.sentAt;
      if (age < giveUpAfterMs) return `a message of ${age} ms was given up, before ${giveUpAfterMs} ms`;
      const wasRefused =
        record.arrivals.some((arrival) => isRefused(world, arrival) && arrival.at <= at) ||
        record.verifications.some((verification) => verification.status === 404 && verification.at <= at) ||
        // A connection that a busy machine does not open in time carried nothing.
        wasBroken(world, message.sentAt, at, ["origin-refuses", "lag"]);
      return wasRefused ? null : "a message was given up, and no attempt was without effect";
    }
    case "outcome-unknown":
      if (!mayBeUnknown(world, record, at)) return "a message is unknown, and no attempt of it can be";
      // With "retry" and "verify" a message that is too old is not tried, and the origin not asked, for ever.
      if (unknown !== "hold" && writtenAt - message.sentAt >= giveUpAfterMs) return null;
      if (unknown === "retry") return 'a message is unknown in a queue with unknown = "retry"';
      return untrueExpiry(world, record, writtenAt);
    case "key-reused": {
      const others = record.deliveries.some(
        ({ fingerprint, sentAt }) => fingerprint !== message.fingerprint && sentAt <= at,
      );
      return others ? null : "a message is said to have the key of another one, and there is none";
    }
    default:
      return `a message with a key has a dead letter for ${reason}`;
  }
}

/** A record with an unknown outcome has expired when the letter is written, so no attempt has begun in its last time. */
function untrueExpiry(world: World, record: RecordHistory, writtenAt: number): string | null {
  const from = writtenAt - record.policy.unknownRetentionMs;
  const [first] = record.deliveries;
  const began = record.arrivals.find((arrival) => claimedFrom(world, arrival) > from && arrival.at < writtenAt);
  if (first !== undefined && first.sentAt <= from && began === undefined) return null;
  return "a parked message has a dead letter before its record can have expired";
}

/** A delivery decides about its message. */
export function deliveriesDecide(
  _world: World,
  { deliveries }: Pick<RecordHistory, "deliveries">,
): readonly Violation[] {
  return deliveries
    .filter(({ outcome }) => outcome === "undecided")
    .map(({ id }) => ({ rule: G9, what: "a delivery neither acknowledged nor retried its message", evidence: [id] }));
}

/** Every message was delivered, and the disk was read in the end. Poison is a dead letter with its reason. */
export function messagesArrive(world: World): readonly Violation[] {
  const delivered = new Set(
    [...world.records, ...world.poisoned].flatMap(({ deliveries }) => deliveries.map(({ message }) => message.id)),
  );
  const never = world.messages.filter(({ id }) => !delivered.has(id)).map(({ id }) => `message ${id}`);
  const isUnread = world.messages.length > 0 && (world.parked?.keys.includes("unread") ?? true);
  return [
    ...(never.length === 0
      ? []
      : [{ rule: G9, what: `${never.length} messages were never delivered`, evidence: never }]),
    ...(isUnread ? [{ rule: G9, what: "nobody knows what is still parked", evidence: [] }] : []),
    ...world.poisoned.flatMap((one) => [...deliveriesDecide(world, one), ...unreportedPoison(one)]),
  ];
}

function unreportedPoison({ message, deliveries, letters }: PoisonHistory): readonly Violation[] {
  const evidence = [`message ${message.id}`];
  const wrong = letters.find((letter) => letter.reason !== message.poison || untruthOf(message, letter) !== null);
  const early = deliveries.some((one) => isAcknowledged(one) && !letters.some(({ at }) => at <= one.endAt));
  const isOver = deliveries.some(({ outcome }) => outcome === "acked");
  return [
    ...(wrong === undefined ? [] : [`poison (${message.poison}) has a dead letter for ${wrong.reason}`]),
    ...(early ? ["poison was acknowledged before its dead letter was taken"] : []),
    ...(isOver ? [] : [`poison was never settled, in ${deliveries.length} deliveries`]),
  ].map((what) => ({ rule: G9, what, evidence }));
}
