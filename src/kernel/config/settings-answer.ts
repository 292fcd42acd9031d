// Settings for what clients get, mainly duplicates, and for what is logged about an exchange.

import * as v from "valibot";

import { LOG_RULES } from "../record/outcome.ts";
import {
  choiceSetting,
  durationSetting,
  headerNames,
  lowerCase,
  settingOf,
  type TextsOf,
  sizeSetting,
  yesOrNo,
} from "./setting-kinds.ts";
import { MEGABYTE, MINUTE_MS } from "./units.ts";
import { DUPLICATE_RULES } from "./words.ts";

/** No proxy between the client and the gateway keeps a silent connection open for longer. */
export const MAX_WAIT_MS = 5 * MINUTE_MS;
/** The largest request body that the platform accepts (Business plan; other plans accept less). */
const MAX_REQUEST_BODY_BYTES = 200 * MEGABYTE;
/** A tenth of what one object can store, so that one record cannot fill its shard. */
const MAX_RESPONSE_BODY_BYTES = 1_000 * MEGABYTE;

export const answerSettings = {
  duplicate: settingOf(choiceSetting(DUPLICATE_RULES), "reject"),
  wait: settingOf(durationSetting(MAX_WAIT_MS), "10s"),
  max_request_body: settingOf(sizeSetting(MAX_REQUEST_BODY_BYTES), "10MB"),
  max_response_body: settingOf(sizeSetting(MAX_RESPONSE_BODY_BYTES), "10MB"),
  encrypt_responses: settingOf(
    v.pipe(
      v.union([v.boolean(), v.literal("past")], 'must be true, false or "past": write true'),
      v.metadata({ takes: '`true`, `false` or `"past"`' }),
    ),
    false,
  ),
  omit_headers: settingOf(headerNames(lowerCase), ["set-cookie"]),
  log: settingOf(choiceSetting(LOG_RULES), "errors"),
  server_timing: settingOf(yesOrNo(), false),
};

export const answerTexts: TextsOf<typeof answerSettings> = {
  duplicate: {
    description:
      'What a duplicate gets while the first attempt runs: `"reject"` answers 409 at once, `"wait"` waits for the first ' +
      'answer, `"attach"` follows the first answer live, from its first byte.',
    onChange: "applies at once",
  },
  wait: {
    description:
      'How long a duplicate waits for the first answer, or with `"attach"` for its first byte. Must be below `lock`. At ' +
      "most 100 duplicates wait for one key, and 1,000 in one shard. With `async` it also bounds what clients ask for (`Prefer: wait`).",
    onChange: "applies at once",
  },
  max_request_body: {
    description:
      "The largest body of a protected request. A larger one gets 413, and nothing is sent to the origin. With " +
      '`fingerprint.body = "none"` bodies are passed on as they come, and there is no limit, unless the request is accepted (`async`).',
    onChange: "applies at once",
  },
  max_response_body: {
    description:
      "The largest response body that a shard keeps for replays. A larger one goes to the R2 bucket that is bound as " +
      "`BODIES`. Without such a bucket the first client gets all of it, and duplicates get `response-not-kept`.",
    onChange: "applies to new attempts",
  },
  encrypt_responses: {
    description:
      "Whether responses are encrypted with the caller's own scope values and key, so that nobody else can read them, " +
      'operators included. Needs the secret `ENCRYPTION_SECRET`. `"past"`: new ones are not, and earlier ones still open.',
    onChange:
      'applies to new attempts; **from `true` write `"past"` for a retention, or encrypted responses do not open**',
  },
  omit_headers: {
    description: "The response headers that a replay leaves out.",
    onChange: "applies at once",
  },
  log: {
    description:
      'Which exchanges are logged, one line each: `"all"`, `"errors"` (outcome unknown, lost or failed), or `"none"`.',
    onChange: "applies at once",
  },
  server_timing: {
    description:
      "Whether responses say in `Server-Timing` where their time went, how long the way to the object was, and where that runs.",
    onChange: "applies at once",
  },
};
