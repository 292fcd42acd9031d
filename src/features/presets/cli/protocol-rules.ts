// Rules that protocols have about a route, and how a written setting breaks them. Which protocol has which, and under what number, broken-rules.ts says.

import { sourceName } from "../../../kernel/config/key-source.ts";
import type { ConfigProblem, FingerprintRule, Route } from "../../../kernel/config/resolved.ts";
import { bodyPartsOf, scopeNames, scopePartName } from "../../../kernel/config/scope-part.ts";
import { HOUR_MS } from "../../../kernel/config/units.ts";
import { judgeAttempt } from "../../../kernel/record/verdict.ts";
import { type PresetName, presetNamed } from "../settings/presets.ts";

export interface ProtocolRule {
  readonly setting: string;
  readonly rule: string;
  readonly isBroken: (route: Route) => boolean;
  readonly what: string;
}

export type ByPreset<Rule> = Readonly<Record<PresetName, readonly Rule[]>>;

export function rulesOfPreset<Rule>(rules: ByPreset<Rule>, name: string | null): readonly Rule[] {
  return Object.entries(rules).find(([known]) => known === name)?.[1] ?? [];
}

export function brokenBy(
  { name, preset }: Route,
  { setting, rule, what }: Pick<ProtocolRule, "setting" | "rule" | "what">,
): ConfigProblem {
  const protocol = presetNamed(preset)?.protocol ?? "";
  return {
    path: `${name}.${setting}`,
    message: `breaks ${protocol} ${rule}, which preset = "${preset}" stands for: ${what}`,
  };
}

export function judgedStatus({ rules }: Route, status: number): string {
  return judgeAttempt({ kind: "answered", status }, rules.lists);
}

export function takesMethods(rule: string, methods: readonly string[]): ProtocolRule {
  const isBroken = (route: Route): boolean => methods.some((method) => !route.methods.includes(method));
  return { setting: "methods", rule, isBroken, what: `every ${methods.join(", ")} needs a key` };
}

export function needsKey(rule: string): ProtocolRule {
  return {
    setting: "key",
    rule,
    isBroken: ({ key }) => key === "optional",
    what: "a request without a key is rejected",
  };
}

export function makesNoKey(rule: string): ProtocolRule {
  const what = "a request without a key is rejected, and gets none from its content";
  return { setting: "key_from", rule, isBroken: ({ contentKey }) => contentKey !== null, what };
}

export function rejectsDuplicates(rule: string): ProtocolRule {
  return {
    setting: "duplicate",
    rule,
    isBroken: ({ rules }) => rules.duplicate !== "reject",
    what: "a request whose key is in flight is refused at once",
  };
}

/** `keys`: some that the protocol allows; `others`: some that it does not. */
export function takesKeys(
  rule: string,
  keys: readonly string[],
  what: string,
  others: readonly string[] = [],
): ProtocolRule {
  const isBroken = ({ keyFormat: { min, max, pattern } }: Route): boolean => {
    const takes = (key: string): boolean =>
      key.length >= min && key.length <= max && (pattern === null || new RegExp(`^(?:${pattern})$`, "u").test(key));
    return !keys.every(takes) || others.some(takes);
  };
  return { setting: "key_format", rule, isBroken, what };
}

export function readsKeyFrom(rule: string, place: string): ProtocolRule {
  const isBroken = ({ keyFrom }: Route): boolean => !keyFrom.some((source) => sourceName(source) === place);
  return { setting: "key_from", rule, isBroken, what: `a key is there where the protocol has it: add "${place}"` };
}

/** `others`: parts in the body that may be there as well. */
export function hasScope(
  rule: string,
  names: readonly string[],
  what: string,
  others: readonly string[] = [],
): readonly ProtocolRule[] {
  const lacks = ({ scope }: Route): boolean => names.some((name) => !scopeNames(scope).includes(name));
  const isSplit = ({ scope }: Route): boolean =>
    bodyPartsOf(scope).some((part) => ![...names, ...others].includes(scopePartName(part)));
  const added = names.map((name) => `"${name}"`).join(", ");
  const shared = 'a key is that of one caller: add "header:authorization", or an identity';
  const split = "the same key in another request is refused, and no other key";
  return [
    { setting: "scope", rule, isBroken: lacks, what: `${what}: add ${added}` },
    { setting: "scope", rule, isBroken: isShared, what: shared },
    { setting: "scope", rule, isBroken: isSplit, what: split },
  ];
}

/** Whether nothing in the scope shows a caller. */
function isShared({ scope }: Route): boolean {
  return !scope.some(({ kind }) => kind === "header" || kind === "cookie" || kind === "identity");
}

export function comparesBodies(rule: string, isSame: (rule: FingerprintRule) => boolean, what: string): ProtocolRule {
  return { setting: "fingerprint", rule, isBroken: ({ fingerprint }) => !isSame(fingerprint), what };
}

export function hasShape(rule: string, shape: string): ProtocolRule {
  const isBroken = ({ problemShape }: Route): boolean => problemShape?.name !== shape;
  return { setting: "problems", rule, isBroken, what: "errors have the protocol's form" };
}

/** Of calls, beside what JSON-RPC leaves out and the key: these members of the arguments do not count, and all others do. */
export function comparesAllBut(rule: string, members: readonly string[], what: string): ProtocolRule {
  const uncompared = members.map((name) => `/params/arguments/${name}`);
  const mayBeLeftOut = (pointer: string): boolean =>
    !pointer.startsWith("/params/arguments") || uncompared.includes(pointer) || /\/idempotency[_-]?key$/i.test(pointer);
  const isSame = ({ selection }: FingerprintRule): boolean =>
    selection?.kind === "except" &&
    uncompared.every((pointer) => selection.pointers.includes(pointer)) &&
    selection.pointers.every(mayBeLeftOut);
  return comparesBodies(rule, isSame, what);
}

export function takesOthersAfterRefusal(rule: string, takes: boolean): ProtocolRule {
  const isBroken = ({ rules }: Route): boolean => (rules.policy.afterRefusal === "any") !== takes;
  const what = takes ? "after an error the key takes a corrected request" : "a key never takes another request";
  return { setting: "after_refusal", rule, isBroken, what };
}

/** Errors of the client that the protocol keeps, as it keeps what succeeds. */
export function keepsClientErrors(rule: string): ProtocolRule {
  return { setting: "refused", rule, isBroken: keepsNo4xx, what: "a 4xx is kept: the same request gets it again" };
}

function keepsNo4xx(route: Route): boolean {
  return [400, 404, 409, 422].some((status) => judgedStatus(route, status) !== "result");
}

/** Where a response says that it is an error: any value, or this one. */
type ErrorPlace = readonly [at: string, value?: string | true];

/** What a response says at these places is not kept. */
export function keepsNo(rule: string, places: readonly ErrorPlace[]): ProtocolRule {
  const isBroken = (route: Route): boolean => places.some((place) => !isRefused(route, place));
  const named = [...new Set(places.map(([at]) => at))].join(", ");
  return { setting: "verdicts", rule, isBroken, what: `a response that is an error is not kept: ${named}` };
}

function isRefused({ rules: { verdicts = [] } }: Route, [at, value = "any"]: ErrorPlace): boolean {
  const first = verdicts.find((one) => one.at === at && (one.equals === null || one.equals.includes(value)));
  return first?.is === "refused";
}

export function failsClosed(rule: string): ProtocolRule {
  const what = "where no record can be reached, a request gets 503";
  return { setting: "on_store_failure", rule, isBroken: failsOpen, what };
}

function failsOpen({ onStoreFailure }: Route): boolean {
  return onStoreFailure === "open";
}

export function keepsNo5xx(rule: string): ProtocolRule {
  return { setting: "refused", rule, isBroken: keeps5xx, what: "a 5xx is not kept, and its retry is a fresh request" };
}

function keeps5xx(route: Route): boolean {
  return [500, 501, 503, 599].some((status) => judgedStatus(route, status) !== "refused");
}

export function livesFor(rule: string, hours: number, what: string): ProtocolRule {
  const isBroken = ({ rules }: Route): boolean => rules.policy.retentionMs < hours * HOUR_MS;
  return { setting: "retention", rule, isBroken, what };
}

export function forgetsKeys(rule: string): ProtocolRule {
  return { setting: "remember", rule, isBroken: remembersKeys, what: "an expired key is a new one, without an error" };
}

export function remembersKeys({ rules }: Route): boolean {
  return rules.policy.rememberMs !== undefined;
}
