// Settings for requests that are accepted before their result is there, and whose attempts the gateway makes by itself. Checks
// single members; `feature.ts` checks the relations to other settings.

import * as v from "valibot";

import { scheduleWithin } from "../../../kernel/record/schedule.ts";
import type { Schedule } from "../../../kernel/record/record.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  settingOf,
  type TextsOf,
  wholeSetting,
} from "../../../kernel/config/setting-kinds.ts";
import { DAY_MS, formatDuration, MINUTE_MS } from "../../../kernel/config/units.ts";
import { ASYNC_RULES } from "../../../kernel/config/words.ts";

const MAX_ATTEMPTS = 100;
const MIN_GIVE_UP_MS = MINUTE_MS;
/** The stored request has its caller's credential for as long. */
const MAX_GIVE_UP_MS = 30 * DAY_MS;

/** Members of a route's `give_up`. */
export const scheduleEntries = {
  attempts: settingOf(wholeSetting(1, MAX_ATTEMPTS, 20), 20),
  after: settingOf(
    v.pipe(
      durationSetting(MAX_GIVE_UP_MS),
      v.minValue(MIN_GIVE_UP_MS, 'must be at least a minute: write "60s" or more'),
      v.metadata({
        takes: `a duration, \`"${formatDuration(MIN_GIVE_UP_MS)}"\` to \`"${formatDuration(MAX_GIVE_UP_MS)}"\``,
      }),
    ),
    "24h",
  ),
};

export const scheduleTexts: TextsOf<typeof scheduleEntries> = {
  attempts: {
    description: "How many attempts the gateway makes at most.",
    onChange: "applies to new attempts",
  },
  after: {
    description:
      "How long after a request was accepted another attempt may begin. The pauses between attempts double from a second on, " +
      "up to 1/32 of this, and never more than 15 minutes. Must exceed `lock`.",
    onChange: "applies to new attempts",
  },
};

/** What applies to a member of `give_up` that is left out. */
export const SCHEDULE_DEFAULTS = v.parse(v.required(v.strictObject(scheduleEntries)), defaultsOf(scheduleEntries));

export const asyncSettings = {
  async: settingOf(choiceSetting(ASYNC_RULES), "never"),
  give_up: settingOf(v.strictObject(scheduleEntries, 'must be a table: write { attempts = 20, after = "24h" }'), {}),
};

export const asyncTexts: TextsOf<typeof asyncSettings> = {
  async: {
    description:
      'Whether requests are answered with 202 before their result is there, and the gateway makes their attempts by itself: `"prefer"` ' +
      'those that ask for it (`Prefer: respond-async`), `"always"` all. **Until its result, the request is stored as it came**, with ' +
      "its credential.",
    onChange:
      'applies to new requests; **with `"never"`, requests that were accepted are still tried, and nobody can read their monitors**',
  },
  give_up: {
    description:
      "When the gateway gives up an accepted request that has no result. A route's table replaces that of `IDEMPOTENCY` as a whole.",
    takes: "a table of the members below",
    onChange: "applies to new attempts",
  },
};

/** What applies to a route, parsed. */
export type AsyncSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof asyncSettings, undefined>>>;

/** When accepted requests are tried, by what was written. */
export function scheduleOf(written: Partial<typeof SCHEDULE_DEFAULTS>): Schedule {
  const { attempts, after } = { ...SCHEDULE_DEFAULTS, ...written };
  return scheduleWithin(attempts, after);
}
