// The query of the report, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { parsedSetting } from "../../../kernel/config/setting-kinds.ts";
import { DAY_MS, parseDuration } from "../../../kernel/config/units.ts";

const SINCE = 'since must be a duration, at most 7d: write "24h" or "7d".';

export const DEFAULT_SINCE_MS = 7 * DAY_MS;

export const REPORT_QUERY = {
  /** In milliseconds. */
  since: v.exactOptional(
    v.pipe(
      v.string(),
      v.check((text) => parseDuration(text).ok, SINCE),
      parsedSetting<string, number>(parseDuration),
      v.maxValue(DEFAULT_SINCE_MS, SINCE),
    ),
  ),
};
