// Settings for an attempt at the origin: how long it may take, how long it is remembered, what its answer means, and what
// follows if its outcome is unknown. `cross-checks.ts` checks the relations between them.

import { AFTER_REFUSAL_RULES, UNKNOWN_RULES } from "../record/record.ts";
import {
  choiceSetting,
  durationSetting,
  durationOrNone,
  settingOf,
  type TextsOf,
  statusesSetting,
} from "./setting-kinds.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./units.ts";
import { verifySchema } from "../verify/settings-verify.ts";
import { STORE_FAILURE_RULES } from "./words.ts";

/** The platform ends every operation of a Durable Object after 15 minutes. */
const MAX_TIMEOUT_MS = 15 * MINUTE_MS;
/** A lock that is not released blocks its key for this long; it must exceed every possible timeout. */
export const MAX_LOCK_MS = HOUR_MS;
/** How much longer than a call may take its lock lasts: time for the object to note how the call ended. */
const LOCK_MARGIN_MS = 10 * SECOND_MS;
/** Records cost storage; a client that retries after a year is not retrying. */
export const MAX_RETENTION_MS = 365 * DAY_MS;
/** Ten years. */
export const MAX_UNKNOWN_RETENTION_MS = 3650 * DAY_MS;
export const MAX_REMEMBER_MS = 3650 * DAY_MS;

/** What `lock` is where it is not written. */
export function lockFor(timeoutMs: number): number {
  return Math.min(timeoutMs + LOCK_MARGIN_MS, MAX_LOCK_MS);
}

/** The defaults of `refused` and `ambiguous`. */
export const DEFAULT_REFUSED: readonly number[] = [425, 429, 503, 521, 523, 525, 526, 530];
export const DEFAULT_AMBIGUOUS: readonly number[] = [408, 502, 504, 520, 522, 524];

export const attemptSettings = {
  timeout: settingOf(durationSetting(MAX_TIMEOUT_MS), "30s"),
  idle_timeout: settingOf(durationSetting(MAX_TIMEOUT_MS), "30s"),
  lock: settingOf(durationSetting(MAX_LOCK_MS)),
  retention: settingOf(durationSetting(MAX_RETENTION_MS), "24h"),
  remember: settingOf(durationOrNone(MAX_REMEMBER_MS), "none"),
  unknown: settingOf(choiceSetting(UNKNOWN_RULES), "hold"),
  unknown_retention: settingOf(durationSetting(MAX_UNKNOWN_RETENTION_MS), "365d"),
  verify: settingOf(verifySchema()),
  refused: settingOf(statusesSetting(), DEFAULT_REFUSED),
  ambiguous: settingOf(statusesSetting(), DEFAULT_AMBIGUOUS),
  after_refusal: settingOf(choiceSetting(AFTER_REFUSAL_RULES), "same"),
  on_store_failure: settingOf(choiceSetting(STORE_FAILURE_RULES), "closed"),
};

export const attemptTexts: TextsOf<typeof attemptSettings> = {
  timeout: {
    description: "How long the gateway waits for the headers of the origin's response.",
    onChange: "applies to new attempts",
  },
  idle_timeout: {
    description:
      "How long the origin may pause between two pieces of the response's body, how long a client may take to read 64 KiB " +
      "that are ready for it, and how long it may take to send 16 KiB of its request, or the rest of it. " +
      "A request without a key is passed through, and only the origin limits how slowly it may come.",
    onChange: "applies to new attempts and replays",
  },
  lock: {
    description: "How long an attempt that was lost blocks its key. Must exceed `timeout`.",
    otherwise: "10 seconds more than `timeout`",
    onChange: "applies to new attempts",
  },
  retention: {
    description: "How long a finished record is kept and replayed. Must exceed `lock`.",
    onChange: "applies to new attempts",
  },
  remember: {
    description:
      "How long a key is remembered after its operation took effect, or may have. After `retention` its response is erased, and " +
      "a late duplicate gets 409 `key-expired` instead of a second effect. Counts from the same moment as `retention`, and must " +
      'exceed it. `"none"`: not longer than its record.',
    onChange: "applies to new attempts",
  },
  unknown: {
    description:
      'What follows an attempt whose outcome is unknown: `"hold"` allows no other until an operator decides, ' +
      '`"verify"` asks the origin whether it took effect, `"retry"` allows another when its lock has ended, ' +
      '**which may take effect a second time** unless the origin itself knows keys. Where `verify` is written, it is `"verify"` by default.',
    onChange: "applies to new attempts",
  },
  unknown_retention: {
    description:
      'How long a record whose outcome is unknown waits for a decision (`unknown = "hold"` or `"verify"`). Until then no ' +
      "retry starts another attempt. Must not be shorter than `retention`.",
    onChange: "applies to new attempts",
  },
  verify: {
    description:
      "What the gateway asks, with `GET`, to learn whether an operation took effect. It makes `unknown` " +
      '`"verify"`. An address with the key: 2xx says that it did, and this is its answer; 404 that it did not. `{key}` stands in the ' +
      "path, because a search in the query has no 404. The origin gets the headers of the request, another host those of them " +
      "that are listed. A table with `path`: the state of a resource, or a list, says it " +
      "([members, dangers and recipes](../verify/README.md)). **A wrong “did not happen” is a second effect:** the API must not say it " +
      "later than `settle` after it has acted, nor of a state that the effect can lead back to.",
    takes:
      'a path at the origin, or a URL there, with `{key}` for the key; `{ url = "https://…/{key}", headers = ["authorization"] }`; or ' +
      '`{ path = "/orders/{path:id}", happened = { "/status" = ["paid"] }, not_happened = { "/status" = ["open"] }, once = true, ' +
      'answer = "resource" }`',
    otherwise: "none",
    onChange: "applies to new attempts",
  },
  refused: {
    description:
      "Statuses that say that the origin did not act. A number counts before a class that another list has. A list replaces the default as a whole.",
    onChange: "applies at once",
  },
  ambiguous: {
    description:
      "Statuses that leave open whether the origin acted. A number counts before a class that another list has. A list replaces the default as a whole.",
    onChange: "applies at once",
  },
  after_refusal: {
    description:
      'Which request may be the next attempt of a key whose attempts were all refused: `"same"` the same one, `"any"` also another, such as a ' +
      "payload that was corrected. Once an attempt may have acted, another request gets `key-reused`, until an operator releases the record.",
    onChange: "applies at once",
  },
  on_store_failure: {
    description:
      'What happens when the record cannot be reached: `"closed"` answers 503 and forwards nothing, `"open"` forwards the ' +
      "request **unprotected**.",
    onChange: "applies at once",
  },
};
