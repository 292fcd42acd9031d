// All settings of `[vars.IDEMPOTENCY]` and of each `[[vars.ROUTES]]`. Each setting is declared once, in the file of its
// theme, with its schema, its default and its documentation. Types, validation, the JSON Schema for editors and the table of
// README.md come from that. Checks single members; `cross-checks.ts` checks the relations between them. Must never import the
// JSON Schema tool: this file is part of the Worker.

import * as v from "valibot";

import { parsePathPattern } from "./path-pattern.ts";
import {
  type DeclaredText,
  defaultsOf,
  parsedSetting,
  repeatedEntry,
  settingOf,
  type SettingEntries,
  type TextsOf,
} from "./setting-kinds.ts";
import { answerSettings } from "./settings-answer.ts";
import { attemptSettings, lockFor } from "./settings-attempt.ts";
import type { RouteSettings } from "../feature-settings.ts";
import { fingerprintEntries } from "./settings-fingerprint.ts";
import { keyFormatEntries, keySettings } from "./settings-key.ts";
import { noteEntries, noteSettings } from "../notes/settings-note.ts";
import { originSettings } from "./settings-origin.ts";
import type { UnknownRule } from "../record/record.ts";
import { firstRepeated, parseMethod } from "./values.ts";

export const methodSettings = {
  methods: settingOf(
    v.pipe(
      v.array(
        v.pipe(
          v.string('must be text: write "POST"'),
          v.metadata({ examples: ["POST", "PATCH", "PUT", "DELETE"] }),
          parsedSetting(parseMethod),
        ),
        'must be a list of methods: write ["POST", "PATCH"]',
      ),
      v.metadata({ minItems: 1, takes: "a list of methods, in upper case" }),
      v.minLength(1, 'must name at least one method: write ["POST", "PATCH"]'),
      v.check((list) => firstRepeated(list) === null, repeatedEntry),
    ),
    ["POST", "PATCH"],
  ),
};

export const methodTexts: TextsOf<typeof methodSettings> = {
  methods: {
    description: "The methods that are protected.",
    onChange: "applies at once; **requests of a method that is taken out are not protected, and retries act again**",
  },
};

/** The kernel's own. */
const ownEntries = {
  ...originSettings,
  ...methodSettings,
  ...keySettings,
  ...attemptSettings,
  ...answerSettings,
  ...noteSettings,
};

const ownSchema = v.strictObject(ownEntries);

/** The settings that were written, parsed. What a feature adds is there too: its own type says what. */
export type WrittenSettings = v.InferOutput<typeof ownSchema>;

/** Settings without a default: leaving one out has its own meaning. */
const UNDEFAULTED = ["origin", "location_hint", "jurisdiction", "verify"] as const;

const OWN_DEFAULTS = v.parse(v.required(v.omit(ownSchema, [...UNDEFAULTED, "lock"])), defaultsOf(ownEntries));

/** The defaults of the kernel's own settings. */
export const BUILT_IN = { ...OWN_DEFAULTS, lock: lockFor(OWN_DEFAULTS.timeout) };

/** Settings with all defaults filled in. */
export type FullSettings = typeof BUILT_IN & Pick<WrittenSettings, (typeof UNDEFAULTED)[number]>;

/** All settings of routes: the kernel's own, and those that features add. Each is allowed in `[vars.IDEMPOTENCY]` too. */
export interface DeclaredSettings {
  /** In the order in which they are listed. */
  readonly entries: SettingEntries;
  readonly schema: v.GenericSchema<unknown, WrittenSettings>;
  /** What applies where neither the route nor `IDEMPOTENCY` says anything. */
  readonly defaults: FullSettings;
  /** The settings that are tables, with the names of their members. `origin` is not among them: its own message covers it. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  /** Every setting that applies to a route: its own come first, then those `written` in `IDEMPOTENCY`, then the defaults. */
  readonly merge: (written: WrittenSettings, own: WrittenSettings) => FullSettings;
  /** The settings that name steps for which keys are made of a route's keys. */
  readonly stepSettings: readonly string[];
  /** Whether routes with such settings and the same path are tried in their order. */
  readonly areAlternatives: (settings: FullSettings) => boolean;
  /** These steps: that of the origin first. */
  readonly stepsOf: (settings: FullSettings) => readonly string[];
}

/** `added`: by features, in their order. */
export function declareSettings(added: readonly RouteSettings[]): DeclaredSettings {
  const entries: SettingEntries = Object.fromEntries(
    Object.entries<SettingEntries[string]>(ownEntries).flatMap((own) =>
      [own].concat(added.filter(({ after }) => after === own[0]).flatMap((one) => Object.entries(one.entries))),
    ),
  );
  const schema: v.GenericSchema<unknown, WrittenSettings> = v.strictObject(entries);
  const defaults = { ...v.parse(schema, defaultsOf(entries)), ...BUILT_IN };
  return {
    entries,
    schema,
    defaults,
    tables: new Map([
      ["key_format", Object.keys(keyFormatEntries)],
      ["fingerprint", Object.keys(fingerprintEntries)],
      ["note", Object.keys(noteEntries)],
      ...added.flatMap(({ entries: own, tables }) =>
        Object.entries(tables)
          // Members of lists of tables are not its own.
          .filter(([name]) => !Array.isArray(defaultsOf(own)[name]))
          .map(([name, members]) => [name, Object.keys(members)] as const),
      ),
    ]),
    merge: (written, own) => {
      const all = { ...defaults, ...written, ...own };
      const lock = own.lock ?? written.lock ?? lockFor(all.timeout);
      return { ...all, lock, unknown: writtenRule(own) ?? writtenRule(written) ?? defaults.unknown };
    },
    stepSettings: ["forward_key", ...added.flatMap((one) => (one.steps === undefined ? [] : Object.keys(one.entries)))],
    areAlternatives: (settings) => added.some((one) => one.areAlternatives?.(settings) === true),
    stepsOf: (settings) => {
      const { forward_key: forwardKey } = settings;
      const steps = added.flatMap((one) => one.steps?.(settings) ?? []);
      return forwardKey.kind === "step" ? [forwardKey.step, ...steps] : steps;
    },
  };
}

/** Settings that follow from another one where they are not written. */
export const FOLLOWS: ReadonlyMap<string, string> = new Map([
  ["lock", "timeout"],
  ["unknown", "verify"],
]);

/** An address to ask is written in order to ask there. */
function writtenRule({ unknown, verify }: WrittenSettings): UnknownRule | undefined {
  return unknown ?? (verify === undefined ? undefined : "verify");
}

/** The path of a route; checked against the patterns that both of Hono's routers agree on. */
export const pathSchema = v.pipe(
  v.string('must be text: write path = "/v1/payments/*"'),
  v.metadata({
    pattern: "^/",
    examples: ["/v1/payments/*", "/v1/orders/:id"],
  }),
  parsedSetting((path: string) => {
    const patterns = parsePathPattern(path);
    return patterns.ok ? { ok: true, value: { path, patterns: patterns.value } } : patterns;
  }),
);

export const pathText: DeclaredText = {
  description:
    "The paths that a route protects, in Hono's syntax (https://hono.dev/docs/api/routing): `/v1/payments`, `/v1/:id`, " +
    "`/v1/:id{[0-9]+}`, `/v1/:id?`, `/v1/*/items`, or `/v1/*`, which matches `/v1` too.",
  takes: "a path pattern",
  otherwise: "none: every route needs one",
  onChange: "applies at once; **requests that no route matches any more are not protected, and retries act again**",
};
