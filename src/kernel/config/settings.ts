// All settings of `[vars.IDEMPOTENCY]` and of each `[[vars.ROUTES]]`. Each setting is declared once, in the file of its
// theme, with its schema, its default and its documentation. Types, validation, the JSON Schema for editors and the table of
// README.md come from that. Checks single members; `cross-checks.ts` checks the relations between them. Must never import the
// JSON Schema tool: this file is part of the Worker.

import * as v from "valibot";

import { parsePathPattern } from "./path-pattern.ts";
import { defaultsOf, parsed, repeated, setting, type SettingEntries } from "./setting-kinds.ts";
import { answerSettings } from "./settings-answer.ts";
import { attemptSettings } from "./settings-attempt.ts";
import { FEATURE_SETTINGS } from "../../features/settings.ts";
import type { RouteSettings } from "../feature-settings.ts";
import { gatewayEntries } from "./settings-gateway.ts";
import { keySettings } from "./settings-key.ts";
import { noteSettings } from "../notes/settings-note.ts";
import { originSettings } from "./settings-origin.ts";
import { firstRepeated, parseMethod } from "./values.ts";

/** What the features add to the settings of routes. */
export const ROUTE_SETTINGS: readonly RouteSettings[] = FEATURE_SETTINGS.flatMap(({ routes }) => routes ?? []);

/** The kernel's own, before those of notes. */
const firstEntries = {
  ...originSettings,
  methods: setting(
    v.pipe(
      v.array(
        v.pipe(
          v.string('must be text: write "POST"'),
          v.metadata({ examples: ["POST", "PATCH", "PUT", "DELETE"] }),
          parsed(parseMethod),
        ),
        'must be a list of methods: write ["POST", "PATCH"]',
      ),
      v.metadata({ minItems: 1, takes: "a list of methods, in upper case" }),
      v.minLength(1, 'must name at least one method: write ["POST", "PATCH"]'),
      v.check((list) => firstRepeated(list) === null, repeated),
    ),
    {
      description: "The methods that are protected.",
      default: ["POST", "PATCH"],
      onChange: "applies at once; **requests of a method that is taken out are not protected, and retries act again**",
    },
  ),
  ...keySettings,
  ...attemptSettings,
  ...answerSettings,
};

const ownEntries = { ...firstEntries, ...noteSettings };

/** Every setting that is allowed both in `[vars.IDEMPOTENCY]` and in a route, in the order in which they are listed. */
export const settingsEntries: SettingEntries = {
  ...firstEntries,
  ...addedAfter("answers"),
  ...noteSettings,
  ...addedAfter("notes"),
};

function addedAfter(group: RouteSettings["after"]): SettingEntries {
  return Object.fromEntries(
    ROUTE_SETTINGS.filter(({ after }) => after === group).flatMap(({ entries }) => Object.entries(entries)),
  );
}

const ownSchema = v.strictObject(ownEntries);

/** The settings that were written, parsed. What a feature adds is there too: its own type says what. */
export type Settings = v.InferOutput<typeof ownSchema>;

export const settingsSchema: v.GenericSchema<unknown, Settings> = v.strictObject(settingsEntries);

/** Settings without a default: leaving one out has its own meaning. */
const UNDEFAULTED = ["origin", "location_hint", "jurisdiction", "verify", "label", "excerpt"] as const;

/** What applies where neither the route nor `IDEMPOTENCY` says anything. */
export const BUILT_IN = {
  ...v.parse(settingsSchema, defaultsOf(settingsEntries)),
  ...v.parse(v.required(v.omit(ownSchema, UNDEFAULTED)), defaultsOf(ownEntries)),
};

/** Settings with all defaults filled in. */
export type FullSettings = typeof BUILT_IN & Pick<Settings, (typeof UNDEFAULTED)[number]>;

/** Every setting that applies to a route: its own come first, then those of `IDEMPOTENCY`, then the built-in defaults. */
export function mergeSettings(defaults: Settings, own: Settings): FullSettings {
  return { ...BUILT_IN, ...defaults, ...own };
}

/** The settings that name steps for which keys are made of a route's keys. */
export const STEP_SETTINGS: readonly string[] = [
  "forward_key",
  ...ROUTE_SETTINGS.flatMap((one) => (one.steps === undefined ? [] : Object.keys(one.entries))),
];

/** These steps: that of the origin first. */
export function stepsOf(settings: FullSettings): readonly string[] {
  const { forward_key: forwardKey } = settings;
  const added = ROUTE_SETTINGS.flatMap((one) => one.steps?.(settings) ?? []);
  return forwardKey.kind === "step" ? [forwardKey.step, ...added] : added;
}

/** The path of a route; checked against the patterns that both of Hono's routers agree on. */
export const pathSchema = v.pipe(
  v.string('must be text: write path = "/v1/payments/*"'),
  v.metadata({
    pattern: "^/",
    examples: ["/v1/payments/*", "/v1/orders/:id"],
    description:
      "The paths that a route protects, in Hono's syntax (https://hono.dev/docs/api/routing): `/v1/payments`, `/v1/:id`, " +
      "`/v1/:id{[0-9]+}`, `/v1/:id?`, `/v1/*/items`, or `/v1/*`, which matches `/v1` too.",
    takes: "a path pattern",
    otherwise: "none: every route needs one",
    onChange: "applies at once; **requests that no route matches any more are not protected, and retries act again**",
  }),
  parsed((path: string) => {
    const patterns = parsePathPattern(path);
    return patterns.ok ? { ok: true, value: { path, patterns: patterns.value } } : patterns;
  }),
);

/** One `[[vars.ROUTES]]`. */
export const routeSchema = v.strictObject({ path: pathSchema, ...settingsEntries });

/** All of `[vars.IDEMPOTENCY]`. */
export const defaultsSchema = v.strictObject({ ...settingsEntries, ...gatewayEntries });
