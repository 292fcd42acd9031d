// G11 no result without its events, no event without its result: what the receiver was sent is compared with what the origin and
// operators have made, and with what clients know.

import type { Arrival, Decision, EventTry, Verification } from "./history.ts";
import {
  answersFrom,
  isOutgrown,
  isResult,
  livesUntil,
  mayHaveChanged,
  naming,
  neighbours,
  answeredAt,
} from "./facts.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const RULE = "G11 no result without its events";
const REVERSE = "G11 no event without its result";

type Result = Arrival | Verification | Decision;

/** The receiver has written it down. */
function isTaken({ answer }: EventTry): boolean {
  return answer === "taken" || answer === "late" || answer === "lost";
}

/** A result that somebody certainly knows has an event at each destination that its route publishes it to. */
export function resultsHaveEvents(world: World, record: RecordHistory): readonly Violation[] {
  if (record.policy.publishes === undefined || world.outbox === null) return [];
  const taken = world.eventsOf(record.key).filter(isTaken);
  return knownResults(world, record).flatMap((result) =>
    destinationsOf(record, result)
      .filter((destination) => !taken.some((one) => one.destination === destination && tells(one, result)))
      .map((destination) => ({
        rule: RULE,
        what: `the result is known, and ${destination} has no event of it`,
        evidence: naming(result),
      })),
  );
}

/** What clients have got as a result, and what operators have made one. */
function knownResults(world: World, record: RecordHistory): readonly Result[] {
  const isReported = ({ seq }: Verification | Decision): boolean =>
    answersFrom(record, seq).some(({ answer }) => answer.complete);
  return [
    ...record.arrivals.filter((arrival) => answeredAt(world, record, arrival) < Infinity),
    ...record.verifications.filter(isReported),
    ...record.decisions.filter((one) => one.action === "resolve" && (one.outcome === "changed" || isReported(one))),
  ];
}

/** What the origin makes itself it says in its own answer to an attempt. */
function destinationsOf({ policy }: RecordHistory, { type, status }: Result): readonly string[] {
  const isMade = type === "arrival" && status !== null && status >= 200 && status < 300;
  return (policy.publishes ?? []).flatMap(({ to, isOrigins = false }) => (isMade || !isOrigins ? [to] : []));
}

/** An event without the response, because that is large or not kept, is known by its key, attempt and status. */
function tells(event: EventTry, result: Result): boolean {
  if (event.arrival !== null) return event.arrival === result.seq;
  const isSame = event.key === result.key && event.status === result.status;
  return isSame && (result.type !== "arrival" || result.attempt === event.attempt);
}

/** Each event tells a result of its record, and is genuine. */
export function eventsHaveResults(world: World, record: RecordHistory): readonly Violation[] {
  const results = [
    ...record.arrivals.filter((arrival) => mayBeResult(world, record, arrival)),
    ...record.verifications.filter(({ status }) => status === 200),
    ...record.decisions.filter((one) => one.action === "resolve" && mayHaveChanged(one)),
  ];
  const isOfOther = (event: EventTry): boolean => {
    const source = event.arrival === null ? undefined : (world.arrival(event.arrival) ?? world.given(event.arrival));
    return source !== undefined && source.key === record.key && source.scope !== record.scope;
  };
  return world.eventsOf(record.key).flatMap((event) => {
    const what = (): string | null => {
      if (event.webhookId !== event.id) return `the event says that it is ${event.id}`;
      if (!event.isSigned) return "the event's signature is not right";
      if (record.policy.publishes === undefined) return "the route publishes nothing";
      // Records of several callers may have the same key.
      if (event.arrival === null && world.scopesOf(record.key) > 1) return null;
      const result = results.find((one) => tells(event, one));
      if (result === undefined) return isOfOther(event) ? null : "there is no such result";
      if (event.status !== null && event.status !== result.status)
        return `the event has status ${event.status}, and the result ${result.status}`;
      const isItsAttempt = result.type !== "arrival" || result.attempt === event.attempt;
      return isItsAttempt ? null : `the event is of attempt ${event.attempt}`;
    };
    const broken = what();
    return broken === null ? [] : [{ rule: REVERSE, what: broken, evidence: [`event ${event.webhookId}`] }];
  });
}

/** The gateway may have taken it for the record's result: a body that is too large to be kept is settled before its end. */
function mayBeResult(world: World, record: RecordHistory, arrival: Arrival): boolean {
  const { headAt, status } = arrival;
  if (isResult(world, arrival)) return true;
  const { refused, ambiguous } = world.meta;
  const isDecided = status !== null && !refused.includes(status) && !ambiguous.includes(status);
  return isDecided && headAt !== null && isOutgrown(record, arrival);
}

/** However often an event is sent, it is the same one, to the same destination; and each result has one for each destination. */
export function eventsStayTheSame(world: World, record: RecordHistory): readonly Violation[] {
  const events = world.eventsOf(record.key);
  const byId = [...Map.groupBy(events, ({ webhookId }) => webhookId)].flatMap(([id, tries]) => {
    const forms = new Set(tries.map(({ destination, sha256 }) => `${destination} ${sha256}`));
    const what = `the event was sent in ${forms.size} forms`;
    return forms.size === 1 ? [] : [{ rule: REVERSE, what, evidence: [`event ${id}`] }];
  });
  const reported = events.filter(({ arrival }) => arrival !== null);
  const byResult = [...Map.groupBy(reported, ({ destination, arrival }) => `${destination} ${arrival}`)].flatMap(
    ([result, tries]) => {
      const ids = new Set(tries.map(({ webhookId }) => webhookId));
      const what = `a result has ${ids.size} events for one destination: ${result}`;
      return ids.size === 1 ? [] : [{ rule: REVERSE, what, evidence: [...ids].map((id) => `event ${id}`) }];
    },
  );
  return [...byId, ...byResult];
}

/** As long as a record lives it has one result, so events tell of no other. */
export function oneResultIsReported(world: World, record: RecordHistory): readonly Violation[] {
  const reported = new Set(world.eventsOf(record.key).map(({ arrival }) => arrival));
  const results = record.arrivals.filter(({ seq }) => reported.has(seq));
  return neighbours(results)
    .filter(([first, second]) => second.at < livesUntil(world, record, first))
    .map(([first, second]) => ({
      rule: REVERSE,
      what: "events tell of two results, and the record of the first one still lived",
      evidence: naming(first, second),
    }));
}

/** In the end every event has been taken. */
export function eventsArrive({ outbox }: World): readonly Violation[] {
  const left = outbox?.left ?? [];
  if (left.length === 0) return [];
  const what = `${left.length} events are not taken, although every destination takes what it is sent`;
  return [{ rule: RULE, what, evidence: left.map((id) => `event ${id}`) }];
}
