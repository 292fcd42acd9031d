// A route that is only observed: what arrives at the origin and what comes back is what a Worker has that only forwards, and the report counts the
// effects that the origin's journal has, less those whose sightings may have been lost.

import type { HistoryEvent, ObservedArrival, ObservedCall, ObservedReport } from "./history.ts";
import { wasBroken } from "./records.ts";
import type { Violation, World } from "./records.ts";

const FORWARDED = "observed: forwarded as it is";
const REPORTED = "observed: the report is so";

/** A sighting is told at most so long after its answer, if nothing is disturbed, and if the machine is only slow. */
const TOLD_MS = 2_500;
const TOLD_LATE_MS = 8_000;
/** Longer, and the gateway may give up telling it. */
const SLOW_MS = 2_000;

export function checkObserved(world: World, events: readonly HistoryEvent[]): readonly Violation[] {
  const calls = events.filter((event) => event.type === "observed-call");
  const arrivals = events.filter((event) => event.type === "observed-arrival");
  const report = events.findLast((event) => event.type === "observed-report");
  if (calls.length === 0 && arrivals.length === 0) return [];
  return [
    ...arrivedAsSent(calls, arrivals),
    ...answeredAsSent(world, calls, arrivals),
    ...(report === undefined
      ? [{ rule: REPORTED, what: "the history has no report", evidence: [] }]
      : countedRight(world, calls, arrivals, report)),
  ];
}

/** Each request arrives once at most, with the headers and the bytes that its client sent. */
function arrivedAsSent(calls: readonly ObservedCall[], arrivals: readonly ObservedArrival[]): readonly Violation[] {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const violations: Violation[] = [];
  for (const [request, all] of Map.groupBy(arrivals, (arrival) => arrival.request)) {
    const evidence = [request, ...all.map(({ seq }) => `arrival ${seq}`)];
    const found = (what: string): void => void violations.push({ rule: FORWARDED, what, evidence });
    const call = byId.get(request);
    if (call === undefined) {
      found("the origin got a request that nobody sent");
      continue;
    }
    if (all.length > 1) found(`a request arrived ${all.length} times`);
    for (const { headers, bodySha256 } of all) {
      if (headers !== call.headers) found("the origin got other headers");
      if (call.partial && bodySha256 !== null) found("a request that was sent in part arrived as whole");
      if (!call.partial && bodySha256 !== null && bodySha256 !== call.bodySha256) found("the origin got another body");
    }
  }
  return violations;
}

/** The client gets the origin's answer, and nothing of the gateway's. */
function answeredAsSent(
  world: World,
  calls: readonly ObservedCall[],
  arrivals: readonly ObservedArrival[],
): readonly Violation[] {
  const bySeq = new Map(arrivals.map((arrival) => [arrival.seq, arrival]));
  const byRequest = new Map(arrivals.map((arrival) => [arrival.request, arrival]));
  return calls.flatMap((call) => {
    const { id, ending, sentAt, endAt } = call;
    const whole = byRequest.get(id);
    const isDisturbed = call.partial || wasBroken(world, sentAt, endAt);
    const evidence = [id];
    if (ending.kind === "none") {
      const isMissed = ending.why !== "left" && !isDisturbed && (whole?.lastAt ?? null) !== null;
      return isMissed ? [{ rule: FORWARDED, what: "the origin's whole answer did not come", evidence }] : [];
    }
    const what = wrongAnswer(call, bySeq, whole, isDisturbed);
    return what === null ? [] : [{ rule: FORWARDED, what, evidence }];
  });
}

function wrongAnswer(
  { id, ending }: ObservedCall,
  bySeq: ReadonlyMap<number, ObservedArrival>,
  own: ObservedArrival | undefined,
  isDisturbed: boolean,
): string | null {
  if (ending.kind === "none") return null;
  const { origin } = ending;
  if (origin === null) {
    // What a Worker says that has no answer of its origin.
    if (ending.code !== "origin-dropped") return `an answer that is not the origin's: ${ending.status} ${ending.code}`;
    return !isDisturbed && (own?.lastAt ?? null) !== null ? "origin-dropped, although the origin answered" : null;
  }
  const arrival = bySeq.get(origin.arrival);
  if (arrival?.request !== id) return `the answer of arrival ${origin.arrival}, which is another request's`;
  if (ending.status !== arrival.status) return `expected status ${arrival.status}, got ${ending.status}`;
  if (ending.headers !== arrival.answerHeaders) return "expected the origin's headers, got different ones";
  if (ending.gatewayHeaders.length > 0) return `headers of the gateway: ${ending.gatewayHeaders.join(", ")}`;
  if (ending.complete && arrival.lastAt === null) return "the origin's body was cut, and the client got it as whole";
  if (ending.complete && ending.sha256 !== arrival.sha256) return "expected the origin's body, got different bytes";
  const isCut = !ending.complete && !ending.left && !isDisturbed && arrival.lastAt !== null;
  return isCut ? "the origin's whole answer broke off" : null;
}

/** The numbers of the report lie between what was certainly told and what may have been. */
function countedRight(
  world: World,
  calls: readonly ObservedCall[],
  arrivals: readonly ObservedArrival[],
  { at, seen, doubled, deduplicated }: ObservedReport,
): readonly Violation[] {
  const whole = arrivals.filter(({ status, lastAt }) => status !== null && status < 300 && lastAt !== null);
  const told = new Set(calls.filter((call) => isTold(world, call, at)).map(({ id }) => id));
  const [least, most] = [whole.filter(({ request }) => told.has(request)), whole].map(countEffects);
  const within = (what: string, count: number, from: number, to: number): readonly Violation[] =>
    count >= from && count <= to
      ? []
      : [{ rule: REPORTED, what: `${what}: ${count}, expected ${from} to ${to}`, evidence: [] }];
  return [
    ...within("requests seen", seen, told.size, calls.length),
    ...within("doubled effects", doubled, least?.doubled ?? 0, most?.doubled ?? 0),
    ...within("deduplicated effects", deduplicated, least?.deduplicated ?? 0, most?.deduplicated ?? 0),
  ];
}

/** Its sighting was certainly told: its client had the whole answer, and nothing was disturbed until after that. */
function isTold(world: World, { ending, sentAt, endAt }: ObservedCall, at: number): boolean {
  if (ending.kind === "none" || !ending.complete || ending.origin === null) return false;
  if (endAt + TOLD_MS <= at && !wasBroken(world, sentAt, endAt + TOLD_MS)) return true;
  const isLost = world.outages.some(
    ({ kind, from, to }) =>
      from <= endAt + TOLD_LATE_MS && to >= sentAt && (kind === "killed" || kind === "stopped" || to - from > SLOW_MS),
  );
  return endAt + TOLD_LATE_MS <= at && !isLost;
}

interface EffectCounts {
  /** Effects of a key beyond its first. */
  readonly doubled: number;
  /** Answers with an effect of before. */
  readonly deduplicated: number;
}

function countEffects(arrivals: readonly ObservedArrival[]): EffectCounts {
  let [doubled, deduplicated] = [0, 0];
  for (const all of Map.groupBy(arrivals, ({ key }) => key).values()) {
    const effects = all.flatMap(({ effect }) => effect ?? []);
    const distinct = new Set(effects).size;
    doubled += Math.max(0, distinct - 1);
    deduplicated += effects.length - distinct;
  }
  return { doubled, deduplicated };
}
