// A run in numbers: the faults that took effect, the requests and answers, and the violations.

import type { Violation } from "./check-history.ts";
import { sortHistory } from "./records.ts";
import { countWaits } from "./turns.ts";
import type { Arrival, Exchange, HistoryEvent, KeyQuestion, Look } from "./history.ts";
import { recordName } from "./recorders/arrivals.ts";

/** How many violations are printed; the checker finds them all again from the history. */
const SHOWN = 20;

export function summarize(events: readonly HistoryEvent[], violations: readonly Violation[]): string {
  const numbers = countRun(events);
  const meta = events.find((event) => event.type === "meta");
  const table = (counts: ReadonlyMap<string, number>): string =>
    [...counts]
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `    ${String(count).padStart(7)}  ${name}`)
      .join("\n");
  const shown = violations
    .slice(0, SHOWN)
    .map(({ rule, what, evidence }) => `    ${rule}: ${what} (${evidence.join(", ")})`);
  const rules = countBy(violations, ({ rule }) => rule);
  return [
    `seed ${meta?.seed}, ${meta?.seconds} seconds of faults`,
    `  faults that struck`,
    table(numbers.faults),
    `  answers`,
    table(numbers.answers),
    `  ${numbers.requests} requests, ${numbers.keys} keys, ${numbers.records} records, ${numbers.arrivals} attempts at the origin, ` +
      `${numbers.effects} effects, ${numbers.doubled} keys with more than one, ${numbers.erased} records seen erased, ` +
      `${numbers.parked} messages parked, ${numbers.events} events in ${numbers.eventTries} tries, ${numbers.messages} messages in ${numbers.deliveries} deliveries, ` +
      `${numbers.waits} undisturbed waits for a turn`,
    `  ${violations.length} violations`,
    ...(violations.length > 0 ? [table(rules), ...shown] : []),
  ].join("\n");
}

export interface RunNumbers {
  readonly faults: ReadonlyMap<string, number>;
  readonly answers: ReadonlyMap<string, number>;
  readonly requests: number;
  readonly keys: number;
  readonly records: number;
  readonly arrivals: number;
  readonly effects: number;
  /** Keys for which the origin has acted more than once. */
  readonly doubled: number;
  /** Messages that records keep at the end. */
  readonly parked: number;
  readonly erased: number;
  /** The events that the receiver has got, and how often they were sent. */
  readonly events: number;
  readonly eventTries: number;
  readonly messages: number;
  readonly deliveries: number;
  /** How often it was looked at whether callers take turns. */
  readonly waits: number;
}

export function countRun(events: readonly HistoryEvent[]): RunNumbers {
  const exchanges = events.filter((event) => event.type === "exchange");
  const arrivals = events.filter((event) => event.type === "arrival");
  const effects = events.filter((event) => event.type === "effect");
  const outages = events.filter((event) => event.type === "outage");
  const verifications = events.filter((event) => event.type === "verification");
  const decisions = events.filter((event) => event.type === "decision");
  const looks = events.filter((event) => event.type === "look");
  const keys = events.filter((event) => event.type === "key-question");
  const afresh = events.flatMap((event) => (event.type === "new-key" ? [`new key: ${event.why}`] : []));
  const observed = events.flatMap((event) => (event.type === "observed-call" ? [`observed: ${answerOf(event)}`] : []));
  const tries = events.filter((event) => event.type === "event-try");
  const claims = events
    .filter((event) => event.type === "claim-call")
    .flatMap(({ verb, answers, entries }) => entries.map((_, at) => `${verb}: ${answers?.[at]?.state ?? "none"}`));
  const messages = events.filter((event) => event.type === "message");
  const deliveries = events.filter((event) => event.type === "delivery");
  const letters = events.filter((event) => event.type === "dead-letter");
  const queues = [
    ...deliveries.map(({ outcome }) => `delivery: ${outcome}`),
    ...letters.map(({ reason }) => `dead letter: ${reason}`),
  ];
  const erased = events.filter((event) => event.type === "erased");
  const struck = [
    ...outages.map(({ kind }) => OUTAGES[kind]),
    ...arrivals.flatMap((arrival) => faultAt(arrival) ?? []),
    ...exchanges.flatMap((exchange) => faultsOf(exchange)),
    ...verifications.map(({ mode, effect, state }) => {
      const said = mode === "truth" ? (state?.says ?? truthOf(effect)) : mode;
      return `verification${state === undefined ? "" : " by state"}: ${said}`;
    }),
    ...tries.flatMap(({ answer }) => (answer === "taken" ? [] : [`receiver: ${answer}`])),
    ...messages.flatMap(({ poison }) => (poison === null ? [] : [`poison: ${poison}`])),
    ...decisions.map(({ action, outcome }) => `operator: ${action}, ${outcome}`),
  ];
  return {
    faults: countBy(struck, (name) => name),
    answers: countBy(
      [
        ...claims,
        ...queues,
        ...exchanges.map(answerOf),
        ...looks.map(replyOf),
        ...keys.map(wordOn),
        ...afresh,
        ...observed,
      ],
      (name) => name,
    ),
    requests: exchanges.length,
    keys: new Set(exchanges.map(({ key }) => key)).size,
    records: new Set(exchanges.map(({ key, scope }) => `${scope} ${key}`)).size,
    arrivals: arrivals.length,
    effects: effects.length,
    doubled: [
      ...countBy(
        effects.filter(({ arrival }) => arrival > 0),
        recordName,
      ).values(),
    ].filter((count) => count > 1).length,
    parked: events.findLast((event) => event.type === "parked")?.keys.length ?? 0,
    events: new Set(tries.map(({ webhookId }) => webhookId)).size,
    eventTries: tries.length,
    messages: messages.length,
    deliveries: deliveries.length,
    waits: countWaits(sortHistory(events)),
    erased: erased.reduce((sum, { count }) => sum + count, 0),
  };
}

const OUTAGES = {
  killed: "gateway: killed and restarted",
  stopped: "gateway: stopped and continued",
  "origin-refuses": "origin: refused connections for a time",
  "bucket-fails": "bucket: failed",
  lag: "machine: something was late, or stood still",
  "slow-disk": "machine: the disk was slow",
} as const;

/** What the origin did to an arrival. A silence counts only if the gateway gave up. */
function faultAt({ step, lastAt, closedBy }: Arrival): string | null {
  const gaveUp = lastAt === null && closedBy === "peer";
  switch (step) {
    case "ok":
      return gaveUp ? "origin: lost the gateway within an answer" : null;
    case "stall":
    case "silent":
    case "late":
    case "act-late":
      return gaveUp ? `origin: ${step}` : null;
    default:
      return `origin: ${step}`;
  }
}

function faultsOf({ ending, partial, stalledMs }: Exchange): readonly string[] {
  const stalled = stalledMs > 0 ? ["client: read nothing for a time"] : [];
  if (partial) return ["client: reset within its request"];
  if (ending.kind === "answer") return ending.left ? ["client: reset within the answer", ...stalled] : stalled;
  return ending.why === "left" ? ["client: reset before an answer"] : [];
}

function truthOf(effect: string | null): string {
  return effect === null ? "absent" : "done";
}

function replyOf({ method, isStranger, ending }: Look): string {
  return `monitor: ${method} ${isStranger ? "of a stranger " : ""}${answerOf({ ending })}`;
}

function wordOn({ method, isStranger, report, ending }: KeyQuestion): string {
  const said = report === null ? answerOf({ ending }) : `${report.state}, ${report.next}`;
  return `key: ${method} ${isStranger ? "of a stranger " : ""}${said}`;
}

function answerOf({ ending }: Pick<Exchange, "ending">): string {
  if (ending.kind === "none") return `none (${ending.why})`;
  if (ending.code !== null) return ending.code;
  const whole = ending.complete ? "" : ending.left ? ", left" : ", broken off";
  return `${ending.status}${ending.replayed ? " replayed" : ""}${whole}`;
}

function countBy<T>(list: readonly T[], name: (one: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) counts.set(name(one), (counts.get(name(one)) ?? 0) + 1);
  return counts;
}
