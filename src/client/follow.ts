// Follows the monitor of an accepted request until its end: the stored result, or an IdempotencyError that says why there is none.

import { type AskResult, askUntil } from "./ask-until.ts";
import { judgeAnswer, LOST } from "./judge.ts";
import type { RequestSnapshot, TryResponse } from "./send.ts";
import { resolveOptions, type ClientOptions } from "./client-settings.ts";

/** `init`: the headers that say who asks, as with the request, and a signal. `Prefer: wait=10` gets the result sooner. */
export type Follow = (monitor: string | URL, init?: Parameters<typeof fetch>[1]) => Promise<Response>;

const MONITORS = "/.well-known/idempotency/requests/";

/**
 * The monitor of an accepted request, to store or to follow; `null` if the answer is none of that kind. It is as secret as the key,
 * which is in it. An address at another origin than the answer's is not taken, because whoever follows it sends a credential there.
 *
 * @param requested the URL of the request, where the answer does not know it (a service binding, a `fetch` of your own).
 */
export function monitorOf(response: Response, requested: string | URL = response.url): URL | null {
  const location = response.headers.get("Location");
  if (!isAccepted(response) || location === null || !URL.canParse(location, String(requested))) return null;
  const monitor = new URL(location, requested);
  return monitor.origin === new URL(requested).origin && monitor.pathname.startsWith(MONITORS) ? monitor : null;
}

function isAccepted({ status, headers }: Response): boolean {
  return status === 202 && headers.get("Idempotency-Status") === "accepted";
}

/**
 * Makes a function that looks at a monitor until the request has its end, as often as `Retry-After` asks, and resolves with the
 * operation's own answer, whatever its status. `tries` bounds the looks in a row that fail; give `totalMs` as long as you want to wait.
 *
 * @example
 * ```ts
 * const follow = createFollow({ totalMs: 3_600_000 });
 * const monitor = monitorOf(accepted);
 * const result = monitor === null ? accepted : await follow(monitor, { headers: { Authorization } });
 * ```
 *
 * @throws {RangeError} if an option is out of its bounds.
 * @returns a function that rejects with
 * - an {@link IdempotencyError} if there is no answer to be had, or none in time; its `problem` says why;
 * - the signal's reason if the caller aborts;
 * - a TypeError if the monitor is no absolute URL.
 */
export function createFollow(options: ClientOptions = {}): Follow {
  const settings = resolveOptions(options);
  return async function followMonitor(monitor, init = {}) {
    return askUntil(snapshotOf(monitor, init), settings, look);
  };
}

/** A look that is refused says nothing about the operation. */
function look(sent: TryResponse): AskResult<Response> {
  if (sent.kind === "lost") return { kind: "failed", outcome: LOST.outcome };
  const { answer, response } = sent;
  if (isAccepted(response)) return { kind: "waiting", outcome: "unknown" };
  const judgement = judgeAnswer(answer);
  if (judgement.kind === "answered") return { kind: "answered", value: response };
  // What helps after `attempts-exhausted` is the request itself, not another look.
  const again = judgement.again && answer.problem?.code !== "attempts-exhausted";
  if (judgement.outcome === "happened") return { kind: again ? "failed" : "ended", outcome: "happened" };
  // Other problems say what became of this look, and not what became of the request.
  const isExhausted = answer.problem?.code === "attempts-exhausted";
  return { kind: again ? "failed" : "ended", outcome: isExhausted ? judgement.outcome : "unknown" };
}

function snapshotOf(monitor: string | URL, init: Parameters<Follow>[1]): RequestSnapshot {
  const template = new Request(monitor, init);
  const key = new URL(template.url).searchParams.get("key") ?? "";
  return { template, body: null, key, signal: template.signal, sources: [template] };
}
