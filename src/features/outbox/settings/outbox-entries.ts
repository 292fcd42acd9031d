// The settings of each `[[vars.DESTINATIONS]]`, and the list `publish` of routes and queues. Checks single members;
// `outbox-checks.ts` checks the relations between them.

import * as v from "valibot";

import { ALERTS } from "../../../kernel/record/alerts.ts";
import { EVENT_DATA } from "../../../kernel/record/outbox.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  parsedSetting,
  repeatedEntry,
  secretNames,
  settingOf,
  type TextsOf,
  isStatusRule,
} from "../../../kernel/config/setting-kinds.ts";
import type { StatusRule } from "../../../kernel/record/verdict.ts";
import { DAY_MS, type ParsedSetting, refuseValue } from "../../../kernel/config/units.ts";
import { BINDING_PATTERN, firstRepeated, isLoopback, parseBindingName, TOKEN } from "../../../kernel/config/values.ts";

const MAX_GIVE_UP_MS = 30 * DAY_MS;
const MAX_KEEP_MS = 365 * DAY_MS;

const NAME_PATTERN = "^[A-Za-z0-9_-]{1,64}$";
const NAME = new RegExp(NAME_PATTERN);
const NAME_ADVICE = 'must have 1 to 64 letters, digits, hyphens and underscores: write name = "billing"';

const SECRET_ADVICE = 'write secret = "HOOK_SECRET", or a list with the newest first while it changes';
/** Each of them makes a signature of every event. */
const MAX_SECRETS = 3;

export const destinationGiveUpEntries = {
  after: settingOf(durationSetting(MAX_GIVE_UP_MS), "72h"),
};

export const destinationGiveUpTexts: TextsOf<typeof destinationGiveUpEntries> = {
  after: {
    description:
      "How long an event is tried. The pauses between tries grow from 5 seconds to 10 hours. After that it is dead: kept, counted, " +
      "and sent again by operators only.",
    onChange: "applies at once",
  },
};

/** Alerts for operators. */
const alertEntries = {
  alerts: settingOf(
    v.pipe(
      v.array(choiceSetting(ALERTS), 'must be a list: write alerts = ["outcome-unknown", "outcome-still-unknown"]'),
      v.check((list) => firstRepeated(list) === null, repeatedEntry),
    ),
    [],
  ),
  console: settingOf(
    v.pipe(
      v.string('must be text: write console = "https://ops.example.com/_onceway"'),
      v.metadata({ examples: ["https://ops.example.com/_onceway"] }),
      parsedSetting(parseConsoleUrl),
    ),
  ),
};

/** What a destination has, besides its name. */
export const destinationEntries = {
  queue: settingOf(v.pipe(v.string(), v.metadata({ pattern: BINDING_PATTERN }), parsedSetting(parseBindingName))),
  url: settingOf(
    v.pipe(
      v.string('must be text: write url = "https://billing.example.com/hooks"'),
      v.metadata({ examples: ["https://billing.example.com/hooks"] }),
      parsedSetting(parseHookUrl),
    ),
  ),
  secret: settingOf(secretNames(MAX_SECRETS, SECRET_ADVICE)),
  give_up: settingOf(v.strictObject(destinationGiveUpEntries, 'must be a table: write { after = "72h" }'), {}),
  retention: settingOf(durationSetting(MAX_KEEP_MS), "30d"),
  ...alertEntries,
};

/** One `[[vars.DESTINATIONS]]`. */
export const destinationSchema = v.strictObject({
  name: v.pipe(
    v.string(NAME_ADVICE),
    v.metadata({ pattern: NAME_PATTERN, examples: ["billing"] }),
    v.check((name) => NAME.test(name), NAME_ADVICE),
  ),
  ...destinationEntries,
});

export const destinationTexts: TextsOf<typeof destinationSchema.entries> = {
  name: {
    description: "What `publish` calls the destination.",
    takes: "1 to 64 letters, digits, hyphens and underscores",
    otherwise: "none: every destination needs one",
    onChange:
      "**leaves the events of the former name without a destination**: they are kept and tried until they are dead",
  },
  queue: {
    description: "The queue that gets the events, as a producer binding of this Worker.",
    takes: "the name of a binding",
    otherwise: "none: a destination has this or `url`",
    onChange: "applies at once, also to older events",
  },
  url: {
    description: "The webhook that gets the events, each with a `POST`. Redirects are not followed.",
    takes: "an https URL, or http on the same machine",
    otherwise: "none: a destination has this or `queue`",
    onChange: "applies at once, also to older events",
  },
  secret: {
    description:
      "The name of the secret with which a webhook's events are signed (Standard Webhooks): `whsec_` and 24 to 64 bytes in Base64. " +
      "While it changes, a list of names: every event then has a signature with each.",
    otherwise: "none: every webhook needs one",
    onChange: "applies at once, also to older events",
  },
  give_up: {
    description: "When an event that the destination does not take is dead.",
    takes: "a table of the member below",
    onChange: "applies at once",
  },
  retention: {
    description: "How long a dead event is kept. Then it is erased, which is logged and counted.",
    onChange: "applies at once",
  },
  alerts: {
    description:
      'The alerts about the gateway itself that the destination gets, as events. `"outcome-unknown"`: an operation may or may not have taken effect; ' +
      '`"outcome-still-unknown"`: one has been undecided for a day; `"dead-letter"`: a message of a queue is given up; `"dead-event"`: an event for ' +
      'another destination is given up; `"silent-shard"`: an object does not answer (with a cron trigger only).',
    takes: "a list of these words",
    onChange: "applies at once",
  },
  console: {
    description: "The address of the console, as operators reach it: alerts have a link to what they tell.",
    takes: "an https URL, or http on the same machine",
    otherwise: "none: no links",
    onChange: "applies to new alerts",
  },
};

/** What was written about a destination, parsed. */
export type DestinationSettings = v.InferOutput<typeof destinationSchema>;

export const DESTINATION_DEFAULTS = v.parse(
  v.required(
    v.strictObject({
      give_up: destinationEntries.give_up,
      retention: destinationEntries.retention,
      alerts: destinationEntries.alerts,
    }),
  ),
  defaultsOf(destinationEntries),
);

export const DESTINATION_GIVE_UP_DEFAULTS = v.parse(
  v.required(v.strictObject(destinationGiveUpEntries)),
  defaultsOf(destinationGiveUpEntries),
);

/** An event tells what an operation did, so nobody on the way may read or change it. */
function parseHookUrl(value: string): ParsedSetting<string> {
  const advice = 'write url = "https://billing.example.com/hooks"';
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return refuseValue(`must be an absolute URL: ${advice}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return refuseValue(`must be https, because events tell what your customers did: ${advice}`);
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return refuseValue(`must carry neither credentials nor a fragment, because variables are readable: ${advice}`);
  }
  return { ok: true, value: url.href };
}

function parseConsoleUrl(value: string): ParsedSetting<string> {
  const advice = 'write console = "https://ops.example.com/_onceway"';
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return refuseValue(`must be an absolute URL: ${advice}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return refuseValue(`must be https, because operators sign in there: ${advice}`);
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "" || url.search !== "") {
    return refuseValue(`must carry neither credentials nor a query nor a fragment: ${advice}`);
  }
  return { ok: true, value: url.href.replace(/\/+$/, "") };
}

const WHEN_PATTERN = "^[1-5]xx$";
const MAX_PUBLICATIONS = 10;

/** Members of an entry of `publish` that may be left out. */
export const publicationEntries = {
  when: settingOf(
    v.pipe(
      v.array(
        v.union([v.number(), v.pipe(v.string(), v.metadata({ pattern: WHEN_PATTERN }))]),
        'must be a list of statuses: write when = ["2xx", 404]',
      ),
      v.metadata({ minItems: 1 }),
      parsedSetting<(number | string)[], readonly StatusRule[]>(parseWhen),
    ),
    ["2xx"],
  ),
  data: settingOf(choiceSetting(EVENT_DATA), "response"),
  step: settingOf(v.pipe(v.string(), parsedSetting(parseStep))),
};

export const publicationTexts: TextsOf<typeof publicationEntries> = {
  when: {
    description: "The statuses of the results that have this event.",
    takes: 'a list of statuses, and of `"1xx"` to `"5xx"`',
    onChange: "applies to new attempts",
  },
  data: {
    description:
      'What the event carries: `"response"` the status, the content type and the body, if the whole event has at most 120,000 bytes, ' +
      '`"none"` the status alone, `"origin"` what the origin says in the response header `Onceway-Event`. Without that header there is no event.',
    onChange: "applies to new attempts",
  },
  step: {
    description:
      "The name of a saga's next step: the event then has the member `idempotencykey`, `<key>:<step>`, which its consumer uses as key.",
    takes: "1 to 64 letters, digits and hyphens",
    otherwise: "none",
    onChange: "applies to new attempts",
  },
};

const PUBLISH_ADVICE = 'write publish = [{ to = "billing", type = "order.created" }]';

export const publishSettings = {
  publish: settingOf(
    v.pipe(
      v.array(
        v.strictObject(
          {
            to: v.pipe(v.string(), v.metadata({ pattern: NAME_PATTERN })),
            type: v.pipe(
              v.string(`must be text: ${PUBLISH_ADVICE}`),
              v.check((type) => type !== "" && type.length <= 255, `must have 1 to 255 characters: ${PUBLISH_ADVICE}`),
            ),
            ...publicationEntries,
          },
          `must be a table: ${PUBLISH_ADVICE}`,
        ),
        `must be a list of tables: ${PUBLISH_ADVICE}`,
      ),
      v.maxLength(MAX_PUBLICATIONS, `must have at most ${MAX_PUBLICATIONS} entries: leave some out`),
    ),
    [],
  ),
};

export const publishTexts: TextsOf<typeof publishSettings> = {
  publish: {
    description:
      "The events that each result has: `to` is the name of a destination, `type` the event's type (CloudEvents). They are stored with " +
      "the result, in one commit, and sent until the destination has taken them.",
    takes: "a list of tables with `to`, `type` and the members below",
    onChange: "applies to new attempts",
  },
};

/** What applies to a route, parsed. */
export type PublishSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof publishSettings, undefined>>>;

export const PUBLICATION_DEFAULTS = v.parse(
  v.required(v.strictObject({ when: publicationEntries.when, data: publicationEntries.data })),
  defaultsOf(publicationEntries),
);

function parseWhen(list: readonly (number | string)[]): ParsedSetting<readonly StatusRule[]> {
  const rules = list.filter(isStatusRule);
  if (list.length > 0 && rules.length === list.length) return { ok: true, value: rules };
  return refuseValue('must list statuses from 100 to 599 and classes of them: write when = ["2xx", 404]');
}

function parseStep(value: string): ParsedSetting<string> {
  if (TOKEN.test(value) && value.length <= 64) return { ok: true, value };
  return refuseValue('must have 1 to 64 letters, digits and hyphens: write step = "payment"');
}
