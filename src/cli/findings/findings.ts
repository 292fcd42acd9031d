// What a check found in one file, with its place in the text: the problems of src/kernel/config, which know only paths, and the lines and
// columns of places.ts. Pure; text.ts and formats.ts print it.

import type { CheckedEnvironment } from "../check/file.ts";
import type { ConfigProblem, ConfigProblemCode, SettingReplacement } from "../../kernel/config/config-problem.ts";
import { type FoundRanges, type SourceRanges, type TextRange, pathSteps } from "./source-ranges.ts";

/** An error fails the check. A note is right as it is. */
export type Severity = "error" | "warning" | "note";

/** In which a file is written, and advice about it. */
export type FileLanguage = "toml" | "json";

/** A file as findings see it. */
export interface CheckedText {
  readonly language: FileLanguage;
  readonly places: SourceRanges;
}

export interface ConfigFinding {
  readonly severity: Severity;
  readonly code: ConfigProblemCode;
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** What to do; null if the message says it. */
  readonly help: string | null;
  /** Null for what is missing at the top of the file. */
  readonly range: TextRange | null;
  readonly related: readonly RelatedFinding[];
  /** Text to write instead of a range; only where nothing else can be meant. */
  readonly fix: { readonly range: TextRange; readonly text: string } | null;
}

interface RelatedFinding {
  readonly path: string;
  readonly label: string;
  readonly range: TextRange;
}

export function findingsOf(checked: readonly CheckedEnvironment[], text: CheckedText): readonly ConfigFinding[] {
  const all = ({ name, problems, warnings, notes }: CheckedEnvironment): readonly (readonly ConfigFinding[])[] => [
    problems.map((problem) => findingOf("error", problem, name, text)),
    warnings.map((problem) => findingOf("warning", problem, name, text)),
    notes.map((problem) => findingOf("note", problem, name, text)),
  ];
  return checked.flatMap((environment) => all(environment).flatMap((findings) => findings.toSorted(byRange)));
}

/** In the order of the file; what is missing first. */
function byRange({ range: one }: ConfigFinding, { range: other }: ConfigFinding): number {
  if (one === null || other === null) return (one === null ? 0 : 1) - (other === null ? 0 : 1);
  return one.line - other.line || one.column - other.column;
}

/** The names of keys that are wrong themselves. */
const KEY_CODES: ReadonlySet<ConfigProblemCode> = new Set(["setting-unknown", "setting-misplaced", "setting-unused"]);

/** `environment`: null for the top level. */
export function findingOf(
  severity: Severity,
  { path, message, code = "setting-invalid", fix, related = [] }: ConfigProblem,
  environment: string | null,
  { language, places }: CheckedText,
): ConfigFinding {
  const found = rangesOf(path, environment, places);
  const part = found?.isWhole === false ? "head" : KEY_CODES.has(code) ? "key" : "value";
  return {
    severity,
    code,
    path,
    ...splitMessage(inLanguage(language, message)),
    range: found === null ? null : found[part],
    related: related.flatMap(({ path: other, label }) => {
      const place = rangesOf(other, environment, places);
      return place?.isWhole === true ? [{ path: other, label, range: place.value }] : [];
    }),
    // What is missing cannot be replaced.
    fix:
      fix === undefined || found?.isWhole !== true ? null : { range: found[fix.replace], text: written(language, fix) },
  };
}

/** What a problem says, in the file's own language. */
export function inLanguage(language: FileLanguage, message: string): string {
  return language === "json" ? inJson(message) : message;
}

function written(language: FileLanguage, { replace, text }: SettingReplacement): string {
  if (language === "toml") return text;
  return replace === "key" ? JSON.stringify(text) : inJson(text);
}

/** Problems name variables without `vars`, as the gateway sees them, and everything else from the top of the environment. */
function rangesOf(path: string, environment: string | null, places: SourceRanges): FoundRanges | null {
  const prefix = environment === null ? "" : `env.${environment}.`;
  const steps = pathSteps(path.startsWith(prefix) ? path.slice(prefix.length) : path);
  const base = environment === null ? [] : ["env", environment];
  // It is about the file as a whole.
  if (steps.length === 0) return places.find(base);
  const inVars = places.find([...base, "vars", ...steps]);
  const atTop = places.find([...base, ...steps]);
  if (inVars?.isWhole === true) return inVars;
  const [name = ""] = steps;
  if (atTop?.isWhole === true || !/^[A-Z]/.test(String(name))) return atTop;
  // Of a variable that is missing altogether, the header of another one would mislead.
  return places.find([...base, "vars", name])?.isWhole === true ? inVars : places.find(base);
}

/** Where a message turns from what is wrong to what to do. */
const ADVICE =
  /(?:: |; )(?=(?:write|leave|remove|name|make|did you mean|run|let|append|change|describe|start|put|close|quote|resolve)\b)/;

/** Messages of src/kernel/config are "what is wrong: what to do". */
export function splitMessage(text: string): Pick<ConfigFinding, "message" | "help"> {
  const at = ADVICE.exec(text);
  if (at === null) return { message: text, help: null };
  return { message: text.slice(0, at.index), help: text.slice(at.index + at[0].length) };
}

// Advice for a file in JSON. Problems say what to write as it stands in TOML (src/kernel/config); this says the same in JSON.

/** A string, which stays as it is; a header with its members, or without them; a name before a value. */
const TOML =
  /(?<text>"(?:[^"\\]|\\.)*")|(?<!\w)(?<write>write )?\[(?<list>\[)?(?<header>[A-Za-z][\w.-]*)\]\]?(?: with (?=[a-z_]+ = )(?<members>MEMBER(?:(?:, and|,| and) MEMBER)*))?|\b(?<name>[A-Za-z][\w-]*) = (?=["[{\d-]|true\b|false\b)/;

/** Values in messages have no list in a list. */
const MEMBER = /[A-Za-z][\w-]* = (?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[\w.-]+)/;

const PARTS = new RegExp(TOML.source.replaceAll("MEMBER", MEMBER.source), "g");

/** `write [[vars.ROUTES]] with path = "/v1"` is `write "ROUTES": [{ "path": "/v1" }] in vars`. */
export function inJson(text: string): string {
  return text.replaceAll(PARTS, (...match) => {
    const groups: unknown = match.at(-1);
    return partInJson(match[0], new Map(Object.entries(groups ?? {})));
  });
}

function partInJson(part: string, groups: ReadonlyMap<string, unknown>): string {
  const group = (name: string): string | null => {
    const value = groups.get(name);
    return typeof value === "string" ? value : null;
  };
  const [name, header] = [group("name"), group("header")];
  if (name !== null) return `"${name}": `;
  if (header === null) return part;
  const members = group("members");
  // It names a place in the file, and nothing to write.
  if (group("write") === null && members === null) return header;
  const content = `{ ${members === null ? "…" : membersInJson(members)} }`;
  const steps = header.split(".");
  const last = steps.pop() ?? "";
  const where = steps.length === 0 ? "at the top" : `in ${steps.join(".")}`;
  return `${group("write") ?? ""}"${last}": ${group("list") === null ? content : `[${content}]`} ${where}`;
}

function membersInJson(members: string): string {
  return [...members.matchAll(new RegExp(MEMBER.source, "g"))].map(([member]) => inJson(member)).join(", ");
}
