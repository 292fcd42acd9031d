// Follows the monitor of an accepted request until its end: the stored result, or an IdempotencyError that says why there is none.
// It only looks, so it may be stopped and begun again at any time, also in another process.

import { IdempotencyError, type GiveUpReason } from "./idempotency-error.ts";
import { judgeAnswer, LOST, type Outcome } from "./judge.ts";
import { pauseFor, retryPauseMs, retryAfterMs } from "./pause.ts";
import { discardBody, sendOnce, type RequestSnapshot, type TryResponse } from "./send.ts";
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
  const { clock, tries: maxFailures } = settings;

  return async function followMonitor(monitor, init = {}) {
    const request = snapshotOf(monitor, init);
    request.signal.throwIfAborted();
    const deadline = clock.now() + settings.totalMs;
    let failures = 0;
    for (let looks = 1; ; looks += 1) {
      const limitMs = Math.min(settings.tryMs, deadline - clock.now());
      const sent = await sendOnce(request, limitMs, settings);
      const seen = look(sent);
      if (seen.kind === "answered") return seen.response;
      const giveUp = (reason: GiveUpReason): IdempotencyError =>
        new IdempotencyError({ outcome: seen.outcome, reason, key: request.key, tries: looks, last: sent });
      if (seen.kind === "ended") throw giveUp("final");
      failures = seen.kind === "waiting" ? 0 : failures + 1;
      if (failures >= maxFailures) throw giveUp("tries");

      const now = clock.now();
      const ms = retryPauseMs(settings, Math.max(1, failures), retryAfterMs(sent, now), clock.random());
      if (now + ms >= deadline) throw giveUp("time");
      if (sent.kind === "answer") discardBody(sent.response);
      await pauseFor(ms, request.signal, clock);
    }
  };
}

type Seen =
  | { readonly kind: "answered"; readonly response: Response }
  /** `waiting`: it has no end yet. `failed`: this look found nothing out. `ended`: further looks cannot help. */
  | { readonly kind: "waiting" | "failed" | "ended"; readonly outcome: Outcome };

/** A look that is refused says nothing about the operation. */
function look(sent: TryResponse): Seen {
  if (sent.kind === "lost") return { kind: "failed", outcome: LOST.outcome };
  const { answer, response } = sent;
  if (isAccepted(response)) return { kind: "waiting", outcome: "unknown" };
  const judgement = judgeAnswer(answer);
  if (judgement.kind === "answered") return { kind: "answered", response };
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
