// G7 nobody else's answer, and the problems that the gateway makes: each is only told where it is true.

import type { Answer, Exchange } from "../history.ts";
import { isClean, mayBeUnkept, naming } from "./facts.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/** G7: an answer names whose it is and for which key; no problem holds anything of one. */
export function nobodyElsesAnswer(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G7 nobody else's answer";
  return record.exchanges.flatMap((exchange) => {
    const { ending, path } = exchange;
    const evidence = naming(exchange);
    if (ending.kind === "none") return [];
    if (ending.leaks) return [{ rule, what: "a problem reveals a part of an answer", evidence }];
    const { origin } = ending;
    if (origin === null) return [];
    if (origin.scope !== record.scope) return [{ rule, what: `the answer belongs to ${origin.scope}`, evidence }];
    if (origin.key !== record.key) return [{ rule, what: `the answer belongs to the key ${origin.key}`, evidence }];
    const arrival = world.arrival(origin.arrival);
    const source = arrival ?? world.given(origin.arrival);
    const isOfRecord = source?.key === record.key && source.scope === record.scope;
    const exists = isOfRecord && (arrival === undefined || arrival.path === path);
    return exists ? [] : [{ rule, what: "the origin never gave this answer for this key", evidence }];
  });
}

/** Every answer is the origin's or a problem of the gateway, and every problem is true. */
export function honestProblems(world: World, record: RecordHistory): readonly Violation[] {
  return record.exchanges.flatMap((exchange) => {
    const { ending } = exchange;
    if (ending.kind === "none" || !ending.complete) return [];
    const what = untruth(world, record, exchange, ending);
    return what === null ? [] : [{ rule: "honest problems", what, evidence: naming(exchange) }];
  });
}

function untruth(world: World, record: RecordHistory, exchange: Exchange, answer: Answer): string | null {
  if (answer.echo !== record.key && (answer.origin !== null || answer.code !== null)) return "the key is not repeated";
  if (answer.origin !== null) return null;
  const own = record.arrivals.find(({ request }) => request === exchange.id);
  switch (answer.code ?? "") {
    case "in-flight": {
      const longestMs = Math.ceil(record.policy.lockMs / 1_000) * 1_000;
      const told = answer.retryAfterMs;
      return told === null || told > longestMs ? `Retry-After of ${told} ms, the lock has ${longestMs} ms` : null;
    }
    case "key-reused":
      return null;
    case "outcome-unknown":
      if (record.policy.unknown === "retry") return "outcome-unknown on a route that tries again";
      return record.policy.unknown === "verify" && answer.retryAfterMs === null
        ? "outcome-unknown without Retry-After, and the origin will be asked again"
        : null;
    case "response-not-kept":
      return record.arrivals.some((arrival) => mayBeUnkept(world, record, arrival))
        ? null
        : "a response was not kept for no reason";
    case "origin-unreachable":
      return own === undefined ? null : `nothing was sent, and yet arrival ${own.seq} is there`;
    case "origin-dropped":
    case "origin-timeout":
      return own !== undefined && isClean(world, own)
        ? `${answer.code}, and yet arrival ${own.seq} was answered`
        : null;
    case "store-unavailable":
      return wasBroken(world, exchange.sentAt, exchange.endAt) ||
        bucketFailed(world, record, exchange.sentAt, exchange.endAt)
        ? null
        : "the store was unavailable without any fault";
    default:
      return `an answer that nobody expects: ${answer.status} ${answer.code ?? ""}`;
  }
}
