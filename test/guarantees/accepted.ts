// G10 accepted is kept: after a 202 the request is tried until a result, an unknown outcome or the published limit, and its monitor tells
// its own caller which, and nobody else anything.

import type { Answer, Exchange, Look } from "./history.ts";
import { busyUntil, forgottenFrom, givenUpFrom, isRefused, isResult, mayHaveChanged, naming } from "./facts.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const RULE = "G10 accepted is kept";

/** Requests that their clients know to be accepted, and where they may read what became of them. */
function acceptedIn({
  exchanges,
}: RecordHistory): readonly { readonly accepted: Exchange; readonly monitor: string }[] {
  return exchanges.flatMap((accepted) =>
    accepted.ending.kind === "answer" && accepted.ending.monitor !== null
      ? [{ accepted, monitor: accepted.ending.monitor }]
      : [],
  );
}

/** A whole answer of the monitor to its own caller. One to HEAD says too little. */
function answersOf({ looks }: RecordHistory): readonly { readonly look: Look; readonly answer: Answer }[] {
  return looks.flatMap((look) =>
    look.ending.kind === "answer" && look.ending.complete && !look.isStranger && look.method !== "HEAD"
      ? [{ look, answer: look.ending }]
      : [],
  );
}

/**
 * A 202 survives everything: its monitor knows the request until the retention ends, unless somebody erased it. A request whose
 * 202 was told later than the record's end has a record that is younger than its own start. A monitor that an earlier record of the
 * same key has left, for other content, knows nothing of this one.
 */
export function promisesAreKept(_world: World, record: RecordHistory): readonly Violation[] {
  const unknown = answersOf(record).filter(({ answer }) => answer.code === "monitor-not-found");
  return acceptedIn(record).flatMap(({ accepted, monitor }) => {
    const erasedFrom = Math.min(forgottenFrom(record, accepted.sentAt), givenUpFrom(record));
    const livesTo = Math.min(accepted.sentAt + record.policy.retentionMs, erasedFrom);
    return unknown
      .filter(({ look }) => look.monitor === monitor && look.sentAt > accepted.endAt && look.endAt < livesTo)
      .map(({ look }) => ({
        rule: RULE,
        what: "the request was accepted, and its monitor does not know it",
        evidence: naming(accepted, look),
      }));
  });
}

/** What a monitor says to its own caller is true. */
export function trueMonitors(world: World, record: RecordHistory): readonly Violation[] {
  return answersOf(record).flatMap(({ look, answer }) => {
    const what = answer.origin === null ? untold(world, record, look, answer) : untrueResult(world, record, answer);
    return what === null ? [] : [{ rule: RULE, what, evidence: naming(look) }];
  });
}

function untrueResult(world: World, record: RecordHistory, answer: Answer): string | null {
  const seq = answer.origin?.arrival ?? 0;
  const arrival = record.arrivals.find((one) => one.seq === seq);
  const source = arrival ?? world.given(seq);
  if (source === undefined || source.key !== record.key || source.scope !== record.scope)
    return `the monitor gives answer ${seq}, which is not of this record`;
  if (arrival !== undefined && !isResult(world, arrival)) return `the monitor gives arrival ${seq}, which is no result`;
  if (answer.status !== source.status) return `the monitor gives status ${answer.status}, expected ${source.status}`;
  if (answer.sha256 !== source.sha256) return `the monitor gives other bytes than answer ${seq} has`;
  return answer.replayed ? null : "the monitor gives a result that is not marked as a replay";
}

function untold(world: World, record: RecordHistory, look: Look, answer: Answer): string | null {
  if (look.method === "DELETE" && answer.status === 204) return null;
  if (answer.monitor !== null)
    return hasResultBefore(record, look) ? "the monitor says that it is in flight, after a result" : null;
  switch (answer.code ?? "") {
    case "cancel-refused":
      return look.method === "DELETE" ? null : "cancel-refused to a question";
    // Whether that is true is the other rule's matter (promisesAreKept).
    case "monitor-not-found":
    case "response-not-kept":
      return null;
    case "outcome-unknown":
      return record.policy.unknown === "retry" ? 'outcome-unknown on a route with unknown = "retry"' : null;
    case "attempts-exhausted":
      return hasResultBefore(record, look) ? "the monitor says that it was given up, after a result" : null;
    case "store-unavailable":
      return wasBroken(world, look.sentAt, look.endAt) || bucketFailed(world, record, look.sentAt, look.endAt)
        ? null
        : "store-unavailable, although no fault was active";
    default:
      return `the monitor gives ${answer.status} ${answer.code ?? "without a code"}`;
  }
}

/** A client had the record's result before the look began, and nobody has erased it since; it has not expired. */
function hasResultBefore(record: RecordHistory, look: Look): boolean {
  return [...record.exchanges, ...record.looks].some(
    ({ ending, sentAt, endAt }) =>
      ending.kind === "answer" &&
      ending.complete &&
      ending.expiresAt !== null &&
      endAt < look.sentAt &&
      look.endAt < ending.expiresAt &&
      look.endAt < forgottenFrom(record, sentAt),
  );
}

/** Another caller, or one who names other content, gets what anybody gets for an unused key. */
export function strangersLearnNothing(world: World, { looks }: RecordHistory): readonly Violation[] {
  return looks
    .filter(({ isStranger }) => isStranger)
    .flatMap((look) => {
      const { ending, sentAt, endAt } = look;
      if (ending.kind === "none" || !ending.complete || ending.code === "monitor-not-found") return [];
      if (ending.code === "store-unavailable" && wasBroken(world, sentAt, endAt)) return [];
      const what = `a stranger's question to the monitor got ${ending.status} ${ending.code ?? ""}`;
      return [{ rule: RULE, what, evidence: naming(look) }];
    });
}

/** Nobody can tell one unknown monitor from another. */
export function strangersHearTheSame(_world: World, { looks }: RecordHistory): readonly Violation[] {
  const digests = looks.flatMap(({ ending, isStranger, method }) =>
    isStranger && method === "GET" && ending.kind === "answer" && ending.complete && ending.code === "monitor-not-found"
      ? [ending.sha256]
      : [],
  );
  const count = new Set(digests).size;
  return count <= 1
    ? []
    : [{ rule: RULE, what: `strangers got ${count} different answers of a monitor`, evidence: [] }];
}

/** With its result a request's credential is gone. */
export function credentialsAreGone({ ledger }: World): readonly Violation[] {
  return (ledger?.credentials ?? []).map((key) => ({
    rule: RULE,
    what: "the request has its result, and its credential is still stored",
    evidence: [key],
  }));
}

/**
 * Whatever a monitor answers to whomever, a browser makes nothing of it: it answers a GET with what the origin said to a POST, on a host where
 * operators may be signed in.
 */
export function inertMonitors(_world: World, { looks }: RecordHistory): readonly Violation[] {
  return looks.flatMap((look) => {
    const { ending } = look;
    if (ending.kind === "none") return [];
    const directives = (ending.contentPolicy ?? "").split(";").map((directive) => directive.trim());
    const lacks = [
      ...(directives.includes("sandbox") ? [] : ["a Content-Security-Policy with sandbox"]),
      ...(ending.typeOptions === "nosniff" ? [] : ["X-Content-Type-Options: nosniff"]),
    ];
    const evidence = naming(look);
    return lacks.map((what) => ({ rule: "inert monitors", what: `a monitor's answer lacks ${what}`, evidence }));
  });
}

/** No attempt begins twice, and no request gets more attempts than its route promises, and as many for each release. */
export function triedOnce(_world: World, record: RecordHistory): readonly Violation[] {
  const { acceptedAttempts } = record.policy;
  if (acceptedAttempts === undefined) return [];
  const releases = record.decisions.filter((one) => one.action === "release" && mayHaveChanged(one)).length;
  const most = acceptedAttempts * (1 + releases);
  const violations: Violation[] = [];
  for (const [request, arrivals] of Map.groupBy(record.arrivals, (arrival) => arrival.request)) {
    const evidence = naming(...arrivals);
    const numbers = new Set(arrivals.map(({ attempt }) => attempt));
    if (numbers.size < arrivals.length)
      violations.push({ rule: RULE, what: `an attempt of request ${request} began twice`, evidence });
    if (arrivals.length > most)
      violations.push({
        rule: RULE,
        what: `request ${request} got ${arrivals.length} attempts, not ${most}`,
        evidence,
      });
  }
  return violations;
}

/** What was cancelled is not tried, and what may be in flight is not cancelled. */
export function cancelledStays(world: World, record: RecordHistory): readonly Violation[] {
  const cancels = answersOf(record).filter(({ look, answer }) => look.method === "DELETE" && answer.status === 204);
  return cancels.flatMap(({ look }) => {
    // The request of a client that left may still be on its way when the other is cancelled.
    const answered = record.exchanges.filter(({ ending, endAt }) => ending.kind === "answer" && endAt < look.sentAt);
    const before = new Set(answered.map(({ id }) => id));
    return record.arrivals.flatMap((arrival) => {
      const isLater = arrival.at > look.endAt && before.has(arrival.request);
      const isInFlight =
        arrival.at < look.sentAt && !isRefused(world, arrival) && busyUntil(world, arrival) > look.endAt;
      if (!isLater && !isInFlight) return [];
      const what = isLater
        ? "a request was tried after it was cancelled"
        : "an attempt that was in flight was cancelled";
      return [{ rule: RULE, what, evidence: naming(look, arrival) }];
    });
  });
}
