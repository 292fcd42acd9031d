// A `fetch` that retries safely through the gateway: one key and the same bytes for every try. It ends with the operation's
// answer or with an IdempotencyError, never with a guess.

import { IdempotencyError, type GiveUpReason } from "./idempotency-error.ts";
import { combineOutcomes, judgeAnswer, LOST, type Outcome } from "./judge.ts";
import { pauseFor, retryPauseMs, retryAfterMs } from "./pause.ts";
import { discardBody, sendOnce, snapshotRequest } from "./send.ts";
import { resolveOptions, type ClientOptions, type Fetch } from "./client-settings.ts";

/**
 * Makes a function with the signature of `fetch`. It sends the request's `Idempotency-Key`, or makes one, retries while that
 * helps, and resolves with the operation's own answer, whatever its status. A request that was accepted to be answered later
 * resolves with its 202, which names its monitor: {@link monitorOf}.
 *
 * Use it only for routes that the gateway protects: elsewhere a retry may act twice.
 *
 * @example
 * ```ts
 * const send = createFetch({ tries: 6, totalMs: 120_000 });
 * const response = await send("https://api.example.com/v1/payments", { method: "POST", body: JSON.stringify(payment) });
 * ```
 *
 * @throws {RangeError} if an option is out of its bounds.
 * @returns a function that rejects with
 * - an {@link IdempotencyError} if the operation's answer could not be had; its `outcome` says what is known;
 * - the signal's reason if the caller aborts;
 * - a TypeError if the request itself is invalid, or its body is a stream, which cannot be sent twice.
 */
export function createFetch(options: ClientOptions = {}): Fetch {
  const settings = resolveOptions(options);
  const { clock, tries: maxTries } = settings;

  return async function idempotentFetch(...given) {
    const request = await snapshotRequest(...given);
    request.signal.throwIfAborted();
    const deadline = clock.now() + settings.totalMs;
    let known: Outcome = "no-effect";
    for (let tries = 1; ; tries += 1) {
      const limitMs = Math.min(settings.tryMs, deadline - clock.now());
      const sent = await sendOnce(request, limitMs, settings);
      let unanswered = LOST;
      if (sent.kind === "answer") {
        const judgement = judgeAnswer(sent.answer, settings.refused);
        if (judgement.kind === "answered") return sent.response;
        unanswered = judgement;
      }
      known = combineOutcomes(known, unanswered.outcome);
      const giveUp = (reason: GiveUpReason): IdempotencyError =>
        new IdempotencyError({ outcome: known, reason, key: request.key, tries, last: sent });
      if (!unanswered.again) throw giveUp("final");
      if (tries >= maxTries) throw giveUp("tries");

      const now = clock.now();
      const ms = retryPauseMs(settings, tries, retryAfterMs(sent, now), clock.random());
      if (now + ms >= deadline) throw giveUp("time");
      if (sent.kind === "answer") discardBody(sent.response);
      await pauseFor(ms, request.signal, clock);
    }
  };
}
