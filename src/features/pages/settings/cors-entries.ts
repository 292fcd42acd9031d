// Settings for pages of other origins: which may read a route's answers. Checks single members; `feature.ts` checks that
// `"*"` comes without credentials.

import * as v from "valibot";

import { type PageOrigin, parsePageOrigin, parsePageOrigins } from "../../../kernel/config/page-origin.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  headerNames,
  parsedSetting,
  sameName,
  settingOf,
  type TextsOf,
  yesOrNo,
} from "../../../kernel/config/setting-kinds.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import { PREFLIGHT_RULES } from "../../../kernel/config/words.ts";

/** Members of `cors`. One that is left out has its built-in default, not that of `IDEMPOTENCY.cors`. */
export const corsEntries = {
  origins: settingOf(
    v.pipe(
      v.array(
        v.pipe(
          v.string('must be text: write "https://shop.example.com"'),
          v.metadata({ examples: ["https://shop.example.com", "https://*.example.com"] }),
          parsedSetting(parsePageOrigin),
        ),
        'must be a list of origins: write ["https://shop.example.com"]',
      ),
      v.metadata({ minItems: 1 }),
      parsedSetting<(PageOrigin | null)[], readonly PageOrigin[] | null>(parsePageOrigins),
    ),
  ),
  credentials: settingOf(yesOrNo(), false),
  allow_headers: settingOf(headerNames(sameName), []),
  expose_headers: settingOf(headerNames(sameName), []),
  preflight: settingOf(choiceSetting(PREFLIGHT_RULES), "answer"),
  max_age: settingOf(durationSetting(DAY_MS), "10m"),
};

export const corsMemberTexts: TextsOf<typeof corsEntries> = {
  origins: {
    description:
      "The origins whose pages may read answers, letter by letter as browsers send them. `https://*.example.com` means " +
      'every page one name below that domain, `"*"` every page, without credentials.',
    takes: '`["https://shop.example.com"]`, for example, or `["*"]`',
    otherwise: "none: the gateway leaves these headers to the origin",
    onChange: "applies at once",
  },
  credentials: {
    description: "Whether these pages may send cookies and read the answers to such requests.",
    onChange: "applies at once",
  },
  allow_headers: {
    description:
      "Request headers that these pages may send, besides `Authorization`, `Content-Type`, `Idempotency-Key`, `Last-Event-ID` and those that " +
      "the route reads (its key, its scope, its fingerprint; with `async`, `Prefer`).",
    onChange: "applies at once",
  },
  expose_headers: {
    description: "Response headers of the origin that these pages may read. They may always read the gateway's own.",
    onChange: "applies at once",
  },
  preflight: {
    description:
      'Who answers the `OPTIONS` request that a browser sends first: `"answer"` the gateway, for the methods of the route, ' +
      '`"pass"` the origin, which then has to allow the header of the key.',
    onChange: "applies at once",
  },
  max_age: {
    description:
      "How long a browser may remember the gateway's answer to such a request. Chromium remembers it for two hours at most.",
    onChange: "applies at once",
  },
};

/** What applies to a member of `cors` that is left out; `origins` has no default. */
export const CORS_DEFAULTS = v.parse(
  v.required(v.omit(v.strictObject(corsEntries), ["origins"])),
  defaultsOf(corsEntries),
);

export const corsSettings = {
  cors: settingOf(v.strictObject(corsEntries, 'must be a table: write { origins = ["https://shop.example.com"] }'), {}),
};

export const corsTexts: TextsOf<typeof corsSettings> = {
  cors: {
    description:
      "Which pages of other origins may read the answers to requests with a key, replays and problems included. The gateway " +
      "then sets all `Access-Control-…` headers of these answers itself, for the page that asks, and drops the origin's. A " +
      "route's table replaces that of `IDEMPOTENCY` as a whole, and `{}` means none.",
    takes: "a table of the members below",
    onChange: "applies at once, to replays too",
  },
};

/** What applies to a route, parsed. */
export type CorsSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof corsSettings, undefined>>>;
