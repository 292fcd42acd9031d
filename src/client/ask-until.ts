// Asks the gateway again and again until there is an end: of a request that was accepted, or of a key that its client gives up. It only asks, so it may be
// stopped and begun again at any time, also in another process.

import type { ClientSettings } from "./client-settings.ts";
import { type GiveUpReason, IdempotencyError } from "./idempotency-error.ts";
import type { Outcome } from "./judge.ts";
import { pauseFor, retryAfterMs, retryPauseMs } from "./pause.ts";
import { discardBody, type RequestSnapshot, sendOnce, type TryResponse } from "./send.ts";

export type AskResult<T> =
  | { readonly kind: "answered"; readonly value: T }
  /** `waiting`: there is no end yet. `failed`: this question found nothing out. `ended`: further ones cannot help. */
  | { readonly kind: "waiting" | "failed" | "ended"; readonly outcome: Outcome };

/**
 * `tries` of the settings bounds the questions in a row that fail, `totalMs` the whole.
 *
 * @throws {IdempotencyError} if there is no end to be had, or none in time.
 */
export async function askUntil<T>(
  request: RequestSnapshot,
  settings: ClientSettings,
  judge: (sent: TryResponse) => AskResult<T> | Promise<AskResult<T>>,
): Promise<T> {
  const { clock, tries: maxFailures } = settings;
  const deadline = clock.now() + settings.totalMs;
  let failures = 0;
  for (let asked = 1; ; asked += 1) {
    request.signal.throwIfAborted();
    const sent = await sendOnce(request, Math.min(settings.tryMs, deadline - clock.now()), settings);
    const heard = await judge(sent);
    if (heard.kind === "answered") return heard.value;
    const giveUp = (reason: GiveUpReason): IdempotencyError =>
      new IdempotencyError({ outcome: heard.outcome, reason, key: request.key, tries: asked, last: sent });
    if (heard.kind === "ended") throw giveUp("final");
    failures = heard.kind === "waiting" ? 0 : failures + 1;
    if (failures >= maxFailures) throw giveUp("tries");

    const now = clock.now();
    const ms = retryPauseMs(settings, Math.max(1, failures), retryAfterMs(sent, now), clock.random());
    if (now + ms >= deadline) throw giveUp("time");
    if (sent.kind === "answer") discardBody(sent.response);
    await pauseFor(ms, request.signal, clock);
  }
}
