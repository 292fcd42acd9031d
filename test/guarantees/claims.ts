// G12 a claim is a lease: at any time one attempt is granted per key, only its id ends it, a later one has a higher number, and a
// group's position is never past what is open. Each answer was decided between its request and its arrival; of two things in the same
// millisecond either may have been first.

import type {
  ClaimCall,
  ClaimEntry,
  ClaimWords,
  ClaimsEnd,
  ConsumerEffect,
  EventTry,
  GroupPolicy,
  HistoryEvent,
  PositionLook,
} from "./history.ts";
import type { Violation } from "./records.ts";

const RULE = "G12 a claim is a lease";
const G11 = "G11 no result without its events";

/** What was asked about one key, and what came back; `null`: nothing. */
interface Asked {
  readonly verb: ClaimCall["verb"];
  readonly entry: ClaimEntry;
  readonly reported: ClaimWords | null;
  readonly sentAt: number;
  readonly endAt: number;
}

/** An attempt that was granted. */
interface Lease {
  readonly attemptId: string;
  readonly number: number;
  /** The first answer that said so. */
  readonly granted: Asked;
  /** When it certainly had the lock. */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
  readonly own: readonly Asked[];
}

export function checkClaims(events: readonly HistoryEvent[]): readonly Violation[] {
  const calls = events.filter((event) => event.type === "claim-call");
  const looks = events.filter((event) => event.type === "position");
  const groups = events.find((event) => event.type === "meta")?.groups ?? {};
  const tries = events.filter((event) => event.type === "event-try");
  const effects = events.filter((event) => event.type === "consumer-effect");
  const ends = events.filter((event) => event.type === "claims-end");
  return [...Map.groupBy(calls, ({ group }) => group)].flatMap(([group, all]) =>
    checkGroup(
      { name: group, ...policyOf(groups, group) },
      all,
      looks.filter((look) => look.group === group),
      { tries, effects, ends: ends.filter((end) => end.group === group) },
    ),
  );
}

/** What others saw of the attempts of consumers. */
interface Seen {
  readonly tries: readonly EventTry[];
  readonly effects: readonly ConsumerEffect[];
  readonly ends: readonly ClaimsEnd[];
}

interface Group extends GroupPolicy {
  readonly name: string;
}

function policyOf(groups: Readonly<Record<string, GroupPolicy>>, name: string): GroupPolicy {
  const policy = groups[name];
  if (policy === undefined) throw new Error(`the history has claims of an unknown group: ${name}`);
  return policy;
}

function checkGroup(
  group: Group,
  calls: readonly ClaimCall[],
  looks: readonly PositionLook[],
  seen: Seen,
): readonly Violation[] {
  const asked = calls.flatMap(askedIn).toSorted((one, other) => one.sentAt - other.sentAt);
  const byKey = Map.groupBy(asked, ({ entry }) => entry.key);
  const found = (rule: string, of: string, list: readonly string[]): readonly Violation[] =>
    list.map((what) => ({ rule, what, evidence: [of] }));
  return [
    ...[...byKey].flatMap(([key, about]) => {
      const of = `${key} of ${group.name}`;
      const broken = checkKey(group, about).concat(wrongEffects(group, key, about, seen.effects));
      return found(RULE, of, broken).concat(found(G11, of, wrongEvents(group, key, about, seen.tries)));
    }),
    ...found(RULE, group.name, checkPosition(group, [...byKey.values()], looks)),
    ...found(
      RULE,
      group.name,
      seen.ends.flatMap((end) => unsettled(group, byKey, end, seen)),
    ),
  ];
}

function askedIn({ verb, entries, answers, sentAt, endAt }: ClaimCall): readonly Asked[] {
  return entries.map((entry, at) => ({ verb, entry, reported: answers?.[at] ?? null, sentAt, endAt }));
}

/** All of this within the retention, counted from the first question: what has expired begins anew. */
function checkKey(group: Group, all: readonly Asked[]): readonly string[] {
  const [first] = all;
  if (first === undefined) return [];
  const asked = all.filter(({ endAt }) => endAt < first.sentAt + group.retentionMs);
  const leases = leasesIn(asked);
  const pairs = leases.flatMap((one) => leases.filter((other) => other !== one).map((other) => [one, other] as const));
  return [
    ...pairs.flatMap(([one, other]) => wrongPair(group, one, other)),
    ...leases.flatMap(wrongEnds),
    ...wrongResults(asked),
  ];
}

function leasesIn(asked: readonly Asked[]): readonly Lease[] {
  return [...Map.groupBy(asked, ({ entry }) => entry.attemptId)].flatMap(([attemptId, own]) => {
    const grants = own.filter(({ reported }) => reported?.state === "granted");
    const [granted] = grants;
    if (granted === undefined) return [];
    const endsAt = Math.min(Infinity, ...own.filter(isEnding).map(({ sentAt }) => sentAt));
    const spans = spansOf(grants).map(({ from, to }) => ({ from, to: Math.min(to, endsAt) }));
    return [{ attemptId, number: granted.reported?.attempt ?? 0, granted, spans, own }];
  });
}

/** When each grant certainly has the lock: a later one may end before it, if it asked for less. */
function spansOf(grants: readonly Asked[]): readonly { readonly from: number; readonly to: number }[] {
  const spans = grants.map(({ reported, sentAt, endAt }) => ({
    from: endAt,
    to: sentAt + (reported?.lockedForMs ?? 0),
  }));
  return spans.map(({ from, to }, at) => {
    const later = spans.slice(at + 1).map((span) => Math.max(span.from, span.to));
    return { from, to: Math.min(to, ...later) };
  });
}

function isEnding({ verb }: Asked): boolean {
  return verb === "complete" || verb === "release";
}

/** `later` was perhaps granted after `earlier`. */
function wrongPair({ unknown }: Group, earlier: Lease, later: Lease): readonly string[] {
  const names = `${earlier.attemptId} (${earlier.number}) and ${later.attemptId} (${later.number})`;
  const overlap = earlier.spans.some((one) =>
    later.spans.some((other) => Math.max(one.from, other.from) < Math.min(one.to, other.to)),
  );
  const isLater = later.granted.sentAt > earlier.granted.endAt;
  if (!isLater) return overlap && earlier.number <= later.number ? [`two attempts have the lock: ${names}`] : [];
  const before = earlier.own.filter(({ sentAt }) => sentAt <= later.granted.endAt);
  const isFree = before.some(({ verb, entry }) => verb === "release" && entry.effect === "none");
  const isSettled = earlier.own.some(({ reported }) => reported?.state === "settled");
  const isStale = isSettled && !before.some(isCompletion) && !mayBegin(earlier.own, later);
  return [
    ...(overlap ? [`two attempts have the lock: ${names}`] : []),
    ...(later.number <= earlier.number ? [`the later attempt has no higher number: ${names}`] : []),
    ...(unknown === "hold" && !isFree
      ? [`an attempt is granted while the outcome of another is unknown: ${names}`]
      : []),
    ...(isStale ? [`an attempt is settled after another was granted: ${names}`] : []),
  ];
}

/** Whether another attempt may have begun with this id after `other`: only the id of the last attempt is refused. */
function mayBegin(own: readonly Asked[], other: Lease): boolean {
  return own.some(
    ({ verb, reported, endAt }) =>
      verb === "claim" &&
      endAt >= other.granted.sentAt &&
      (reported === null || (reported.state === "granted" && (reported.attempt ?? 0) > other.number)),
  );
}

function isCompletion({ verb }: Asked): boolean {
  return verb === "complete";
}

/** As long as its lock lasts, an attempt is the record's own, and its claim is granted again. */
function wrongEnds({ attemptId, number, own, granted }: Lease): readonly string[] {
  const spans = spansOf(own.filter(({ reported }) => reported?.state === "granted"));
  return own.flatMap((asked) => {
    const { verb, reported, sentAt, endAt } = asked;
    if (reported === null || reported.state === "unavailable" || asked === granted) return [];
    const isLive = spans.some(({ from, to }) => from < sentAt && endAt < to);
    const isEnded = own.some((other) => other !== asked && isEnding(other) && other.sentAt <= endAt);
    if (!isLive || isEnded) return [];
    const expected = { claim: "granted", extend: "granted", complete: "settled", release: "released" }[verb];
    if (reported.state !== expected)
      return [`${attemptId} has the lock, and its ${verb} gets ${reported.state}, not ${expected}`];
    const isOther = reported.state === "granted" && reported.attempt !== number;
    return isOther ? [`${attemptId} is granted again with number ${reported.attempt}, not ${number}`] : [];
  });
}

function textOf(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}

/** One attempt completes the record; from then on every claim gets its result. */
function wrongResults(asked: readonly Asked[]): readonly string[] {
  const settled = asked.filter(({ reported }) => reported?.state === "settled");
  const replays = asked.filter(({ reported }) => reported?.state === "completed");
  const results = new Set([
    ...settled.map(({ entry }) => entry.attemptId),
    // A result may be left out of an answer.
    ...replays.flatMap(({ reported }) => (reported?.result === undefined ? [] : [textOf(reported.result)])),
  ]);
  const known = Math.min(Infinity, ...[...settled, ...replays].map(({ endAt }) => endAt));
  const started = asked.find(
    ({ verb, reported, sentAt }) => verb === "claim" && reported?.state === "granted" && sentAt > known,
  );
  const sent = new Set(asked.filter(isCompletion).map(({ entry }) => entry.attemptId));
  const invented = [...results].filter((result) => !sent.has(result));
  return [
    ...(results.size > 1 ? [`the key has ${results.size} results: ${[...results].join(", ")}`] : []),
    ...(started === undefined ? [] : [`${started.entry.attemptId} is granted after the key was completed`]),
    ...invented.map((result) => `nobody has sent the result ${result}`),
  ];
}

/** A completion that somebody knows has one event for each destination, and what nobody has completed has none. */
function wrongEvents(
  { publishes = [] }: Group,
  key: string,
  asked: readonly Asked[],
  tries: readonly EventTry[],
): readonly string[] {
  const own = tries.filter((event) => event.key === key);
  const isKnown = asked.some(({ reported }) => reported?.state === "settled" || reported?.state === "completed");
  const missing = publishes.filter(
    (to) => !own.some(({ destination, answer }) => destination === to && answer === "taken"),
  );
  const ids = Map.groupBy(own, ({ destination }) => destination);
  const doubled = [...ids].filter(([, events]) => new Set(events.map(({ webhookId }) => webhookId)).size > 1);
  return [
    ...(isKnown ? missing.map((to) => `the key is completed, and ${to} has no event of it`) : []),
    ...(own.length > 0 && !asked.some(isCompletion) ? ["the key has an event, and nobody has completed it"] : []),
    ...doubled.map(([to]) => `the completion has several events for ${to}`),
    ...(own.some(({ isSigned, id, webhookId }) => !isSigned || id !== webhookId) ? ["an event is not genuine"] : []),
  ];
}

/** Who acts has been granted the attempt, acts once in it, and where an unknown outcome is held nobody acts after somebody who may have acted. */
function wrongEffects(
  { name, unknown }: Group,
  key: string,
  asked: readonly Asked[],
  effects: readonly ConsumerEffect[],
): readonly string[] {
  const own = effects.filter((effect) => effect.group === name && effect.key === key);
  const numbers = own.map(({ attempt }) => attempt);
  const granted = new Set(
    asked.flatMap(({ reported }) => (reported?.state === "granted" ? [reported.attempt ?? null] : [])),
  );
  const isFree = asked.some(({ verb, entry }) => verb === "release" && entry.effect === "none");
  return [
    ...numbers.filter((number) => !granted.has(number)).map((number) => `attempt ${number} acted, and was not granted`),
    ...(new Set(numbers).size < numbers.length ? [`an attempt acted twice: ${numbers.join(", ")}`] : []),
    ...(unknown === "hold" && own.length > 1 && !isFree ? [`the key took effect ${own.length} times`] : []),
  ];
}

/** In the end each message is completed, after somebody has acted for it, or unknown. */
function unsettled(
  { name, unknown }: Group,
  byKey: ReadonlyMap<string, readonly Asked[]>,
  end: ClaimsEnd,
  { effects }: Seen,
): readonly string[] {
  return end.keys.flatMap((key) => {
    const asked = byKey.get(key) ?? [];
    const isDone = asked.some(({ reported }) => reported?.state === "settled" || reported?.state === "completed");
    const mayBeUnknown = unknown === "hold" && asked.some(({ reported }) => reported?.state === "unknown");
    if (!isDone) return mayBeUnknown ? [] : [`${key} is neither completed nor unknown`];
    const hasActed = effects.some((effect) => effect.group === name && effect.key === key);
    return hasActed ? [] : [`${key} is completed, and nobody has acted for it`];
  });
}

/** The position is not past what is open, and never goes back. */
function checkPosition(
  { retentionMs }: Group,
  keys: readonly (readonly Asked[])[],
  looks: readonly PositionLook[],
): readonly string[] {
  const completions = keys
    .flat()
    .filter(isCompletion)
    .map(({ entry, sentAt }) => ({ offset: entry.offset, sentAt }));
  const open = keys.flatMap((asked) => {
    const granted = asked.find(({ verb, reported }) => verb === "claim" && reported?.state === "granted");
    if (granted === undefined) return [];
    const { offset } = granted.entry;
    // One that is claimed when those after it are completed already does not hold the position.
    const isPassed = completions.some((one) => one.offset > offset && one.sentAt <= granted.endAt);
    const to = Math.min(granted.sentAt + retentionMs, ...asked.filter(isCompletion).map(({ sentAt }) => sentAt));
    return isPassed ? [] : [{ offset, from: granted.endAt, to }];
  });
  const past = looks.flatMap(({ next, sentAt, endAt }) =>
    open
      .filter(({ offset, from, to }) => from < sentAt && endAt < to && next !== null && next > offset)
      .map(({ offset }) => `the position is ${next}, and ${offset} is claimed and not completed`),
  );
  const back = looks.flatMap((look) =>
    looks
      .filter((other) => other.endAt < look.sentAt && (other.next ?? 0) > (look.next ?? 0))
      .map((other) => `the position goes back, from ${other.next} to ${look.next}`),
  );
  return [...past, ...back];
}
