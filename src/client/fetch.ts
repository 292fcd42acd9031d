// `fetch` that is safe to retry through the gateway: one key, the same bytes, as often as it helps. Ends with the
// operation's answer or with an IdempotencyError; never with a guess.

import { IdempotencyError, type GiveUpReason } from "./idempotency-error.ts";
import { combine, judge, LOST, type Outcome } from "./judge.ts";
import { parseRetryAfter, pauseMs } from "./pause.ts";
import { discard, sendOnce, takeDown, type Try } from "./send.ts";
import { resolveOptions, type ClientOptions, type Fetch, type Surroundings } from "./settings.ts";

/**
 * Makes a function that is called as `fetch` is. It sends the `Idempotency-Key` that it is given, or makes one, and
 * resolves with the operation's own answer, whatever its status. Rejects with an IdempotencyError where there is none,
 * with the signal's reason where the caller aborts, with a TypeError where the request itself is at fault.
 *
 * For routes that the gateway protects, and only those: elsewhere a retry may act twice.
 */
export function createFetch(options: ClientOptions = {}): Fetch {
  const settings = resolveOptions(options);
  const { surroundings, tries: maxTries } = settings;

  return async function idempotentFetch(...given) {
    const request = await takeDown(...given);
    request.signal.throwIfAborted();
    const deadline = surroundings.now() + settings.totalMs;
    let known: Outcome = "did-not-happen";
    for (let tries = 1; ; tries += 1) {
      const limitMs = Math.min(settings.tryMs, deadline - surroundings.now());
      const sent = await sendOnce(request, limitMs, settings);
      let unanswered = LOST;
      if (sent.kind === "answer") {
        const judgement = judge(sent.answer, settings.refused);
        if (judgement.kind === "answered") return sent.response;
        unanswered = judgement;
      }
      known = combine(known, unanswered.outcome);
      const giveUp = (reason: GiveUpReason): IdempotencyError =>
        new IdempotencyError({ outcome: known, reason, key: request.key, tries, last: sent });
      if (!unanswered.again) throw giveUp("final");
      if (tries >= maxTries) throw giveUp("tries");

      const now = surroundings.now();
      const ms = pauseMs(settings, tries, retryAfterMs(sent, now), surroundings.random());
      if (now + ms >= deadline) throw giveUp("time");
      if (sent.kind === "answer") discard(sent.response);
      await pause(ms, request.signal, surroundings);
    }
  };
}

function retryAfterMs(sent: Try, nowMs: number): number | null {
  return sent.kind === "answer" ? parseRetryAfter(sent.response.headers.get("Retry-After"), nowMs) : null;
}

/** Rejects with the signal's reason as soon as the caller aborts. */
function pause(ms: number, signal: AbortSignal, { after }: Surroundings): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = (): void => {
      callOff();
      reject(signal.reason);
    };
    const callOff = after(ms, () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    signal.addEventListener("abort", abort, { once: true });
  });
}
