// How a setting is declared: its schema with its default and, below it, its text, which the bundle of the Worker leaves out because only
// src/cli reads it. Also the kinds of value that settings have: durations, sizes, whole numbers, choices, lists of headers and statuses.
// A kind says what it accepts and what to write instead of an invalid value; it does not know which setting uses it.

import * as v from "valibot";

import type { StatusRule } from "../record/verdict.ts";
import { DURATION_PATTERN, formatDuration, formatSize, parseDuration, parseSize } from "./units.ts";
import { SIZE_PATTERN, type ParsedSetting, refuseValue } from "./units.ts";
import { BINDING_PATTERN, firstRepeated, parseBindingName, parseHeaderName, TOKEN_PATTERN } from "./values.ts";

/** A setting's documentation, for editors and for the table of README.md. Code is in backquotes. */
export interface DeclaredText {
  /** What the setting decides, in sentences. */
  readonly description: string;
  /** What a change of the setting does to existing records. Completes the sentence "A change …". */
  readonly onChange: string;
  /** What may be written, where the kind of value does not say it. */
  readonly takes?: string;
  /** What applies if the setting is left out and has no default. */
  readonly otherwise?: string;
}

/** The texts of settings: an object of its own, and no part of the schemas, so that a bundler can leave it out. */
export type TextsOf<Entries> = { readonly [Name in keyof Entries]: DeclaredText };

/** A setting that may be left out. `value`: what applies then, as it would be written. */
export function settingOf<const S extends v.GenericSchema>(schema: S, value?: unknown) {
  return v.exactOptional(v.pipe(schema, v.metadata(value === undefined ? {} : { default: value })));
}

/** Settings by their names. */
export type SettingEntries = Readonly<Record<string, v.ExactOptionalSchema<v.GenericSchema, undefined>>>;

/** The defaults of settings, as they would be written: they are parsed like written ones. */
export function defaultsOf(entries: SettingEntries): Readonly<Record<string, unknown>> {
  const defaults = new Map<string, unknown>();
  for (const [name, { wrapped }] of Object.entries(entries)) {
    const about: Readonly<Record<string, unknown>> = v.getMetadata(wrapped);
    if (Object.hasOwn(about, "default")) defaults.set(name, about["default"]);
  }
  return Object.fromEntries(defaults);
}

const HEADERS_MESSAGE = 'must be a list of header names: write ["x-api-version"]';
const STATUSES_MESSAGE = 'must be a list of statuses: write [425, 429, 503], or ["5xx"]';
const STATUS_CLASS_PATTERN = "^[1-5]xx$";

/** Hands one value to a parser; its message becomes the problem. */
export function parsedSetting<I, O>(parse: (value: I) => ParsedSetting<O>) {
  return v.rawTransform<I, O>(({ dataset, addIssue, NEVER }) => {
    const result = parse(dataset.value);
    if (result.ok) return result.value;
    addIssue({ message: result.message, ...(result.meant === null ? {} : { expected: JSON.stringify(result.meant) }) });
    return NEVER;
  });
}

/** A duration as text; parsed to milliseconds. */
export function durationSetting(maxMs: number) {
  const max = formatDuration(maxMs);
  return v.pipe(
    v.string((issue) => messageOf(parseDuration(issue.input))),
    v.metadata({
      pattern: DURATION_PATTERN,
      examples: ["30s", "5m", "24h"],
      takes: `a duration, at most \`"${max}"\``,
    }),
    parsedSetting<string, number>(parseDuration),
    v.maxValue(maxMs, `must not exceed ${max}: write "${max}" or less`),
  );
}

/** A duration as text, or "none": null. */
export function durationOrNone(maxMs: number) {
  const max = formatDuration(maxMs);
  return v.pipe(
    v.string((issue) => messageOf(parseDuration(issue.input))),
    v.metadata({
      pattern: `^none$|${DURATION_PATTERN}`,
      examples: ["30d", "none"],
      takes: `a duration, at most \`"${max}"\`, or \`"none"\``,
    }),
    parsedSetting<string, number | null>((text) => (text === "none" ? { ok: true, value: null } : parseDuration(text))),
    v.check((value) => value === null || value <= maxMs, `must not exceed ${max}: write "${max}" or less`),
  );
}

/** A size; parsed to bytes. */
export function sizeSetting(maxBytes: number) {
  const max = formatSize(maxBytes);
  return v.pipe(
    v.union([v.pipe(v.number(), v.metadata({ type: "integer", minimum: 1, maximum: maxBytes })), sizeText()], (issue) =>
      messageOf(parseSize(issue.input)),
    ),
    v.metadata({ examples: ["10MB", "1MiB", 65_536], takes: `a size, at most \`"${max}"\`` }),
    parsedSetting<string | number, number>(parseSize),
    v.maxValue(maxBytes, `must not exceed ${max}: write "${max}" or less`),
  );
}

function sizeText() {
  return v.pipe(v.string(), v.metadata({ pattern: SIZE_PATTERN }));
}

/** A whole number within bounds, both included. */
export function wholeSetting(min: number, max: number, example: number) {
  const message = `must be a whole number from ${min} to ${max}: write ${example}`;
  return v.pipe(
    v.number(message),
    v.integer(message),
    v.minValue(min, message),
    v.maxValue(max, message),
    v.metadata({ takes: `a whole number, ${min} to ${max}` }),
  );
}

/** One of a few words. */
export function choiceSetting<const T extends readonly string[]>(options: T) {
  const message = `must be one of its values: write ${options.map((option) => `"${option}"`).join(" or ")}`;
  const takes = options.map((one) => `\`"${one}"\``).join(", ");
  return v.pipe(v.picklist(options, message), v.metadata({ takes: `one of ${takes}` }));
}

export function yesOrNo() {
  return v.pipe(v.boolean("must be true or false: write true"), v.metadata({ takes: "`true` or `false`" }));
}

/** Names of headers; `read` converts each. No two may differ in case alone. */
export function headerNames(read: (name: string) => string) {
  const name = v.pipe(
    v.string('must be text: write "x-api-version"'),
    v.metadata({ pattern: TOKEN_PATTERN }),
    parsedSetting(parseHeaderName),
  );
  return v.pipe(
    v.array(name, HEADERS_MESSAGE),
    v.metadata({ takes: "a list of header names" }),
    v.check((names) => firstRepeated(names.map((one) => one.toLowerCase())) === null, repeatedEntry),
    v.transform((names) => names.map(read)),
  );
}

/** HTTP statuses and classes of them, each once. */
export function statusesSetting() {
  const entry = v.union(
    [
      v.pipe(v.number(), v.metadata({ type: "integer", minimum: 100, maximum: 599 })),
      v.pipe(v.string(), v.metadata({ pattern: STATUS_CLASS_PATTERN })),
    ],
    (issue) => messageOf(parseStatus(issue.input)),
  );
  return v.pipe(
    v.array(v.pipe(entry, parsedSetting<number | string, StatusRule>(parseStatus)), STATUSES_MESSAGE),
    v.metadata({ takes: 'a list of statuses, and of `"1xx"` to `"5xx"`' }),
    v.check((list) => firstRepeated(list) === null, repeatedEntry),
  );
}

function parseStatus(entry: unknown): ParsedSetting<StatusRule> {
  if (isStatusRule(entry)) return { ok: true, value: entry };
  // `"5XX"`, `"503"`.
  const text = typeof entry === "string" ? entry.trim().toLowerCase() : "";
  const meant = /^[1-5]\d\d$/.test(text) ? Number(text) : text;
  const message = "must be a status from 100 to 599, or a class of them";
  return isStatusRule(meant)
    ? refuseValue(`${message}: write ${JSON.stringify(meant)}`, typeof meant === "string" ? meant : null)
    : refuseValue(`${message}: write 503, or "5xx"`);
}

export function isStatusRule(entry: unknown): entry is StatusRule {
  if (typeof entry === "string") return new RegExp(STATUS_CLASS_PATTERN).test(entry);
  return typeof entry === "number" && Number.isInteger(entry) && entry >= 100 && entry <= 599;
}

/**
 * The name of a secret, or a list of at most `max` with the newest first while it changes; parsed to a list. `advice` is what to write.
 */
export function secretNames(max: number, advice: string) {
  const message = `must be the name of a secret, or a list of names: ${advice}`;
  const name = v.pipe(v.string(message), v.metadata({ pattern: BINDING_PATTERN }), parsedSetting(parseBindingName));
  return v.pipe(
    v.union([name, v.array(name)], message),
    v.metadata({ takes: `the name of a secret, or a list of up to ${max} with the newest first` }),
    v.transform((names) => (typeof names === "string" ? [names] : names)),
    v.minLength(1, `must name at least one secret: ${advice}`),
    v.maxLength(max, `must name at most ${max} secrets: leave out the oldest`),
    v.check((names) => firstRepeated(names) === null, repeatedEntry),
  );
}

/** The message for a list with a repeated entry. */
export function repeatedEntry(issue: { readonly input: readonly (string | number)[] }): string {
  return `lists ${firstRepeated(issue.input) ?? "a name"} twice: write it once`;
}

function messageOf(result: ParsedSetting<unknown>): string {
  return result.ok ? "" : result.message;
}

/** Keeps a header's name as it is written. */
export function sameName(name: string): string {
  return name;
}

/** Header names compare without case; the platform gives them in lower case. */
export function lowerCase(name: string): string {
  return name.toLowerCase();
}
