// The query of the audit log, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { parsedSetting } from "../../../kernel/config/setting-kinds.ts";
import { parseDuration } from "../../../kernel/config/units.ts";
import { AUDIT_WORD } from "../../../kernel/record/audit.ts";
import { PAGE_QUERY, shortText, textLike } from "../../../operator/query.ts";

const SINCE = 'since must be a duration: write "30m", "24h" or "7d".';
const CURSOR = "cursor must come from a page: start again.";

export const AUDIT_QUERY = {
  by: shortText(254, "by must be an operator's name, or e-mail address."),
  action: textLike(AUDIT_WORD, 'action must be a word as entries have it: write "release", "release-all" or "resend".'),
  /** In milliseconds. */
  since: v.exactOptional(
    v.pipe(
      v.string(),
      v.check((text) => parseDuration(text).ok, SINCE),
      parsedSetting<string, number>(parseDuration),
    ),
  ),
  limit: PAGE_QUERY.limit,
  cursor: v.exactOptional(v.pipe(v.string(), v.regex(/^\d{1,15}$/, CURSOR), v.transform(Number))),
};
