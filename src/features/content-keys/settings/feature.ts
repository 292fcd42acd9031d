// The last entry of `key_from` that makes keys from content: how it is written, what it adds to a route, and what it contradicts. As in
// cross-checks.ts, a relation with an invalid setting is skipped.

import * as v from "valibot";

import { type ConfigProblem, valueFix } from "../../../kernel/config/config-problem.ts";
import type { InForce } from "../../../kernel/config/in-force.ts";
import {
  type ContentKey,
  KEY_PART_PATTERN,
  type KeyPart,
  type KeySource,
  MAX_SOURCES,
  parseKeyPart,
  parseKeySource,
  parseKeySources,
  REPEAT_RULES,
  type RepeatRule,
  type WrittenContentKey,
} from "../../../kernel/config/key-source.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { isCredential, scopePartName } from "../../../kernel/config/scope-part.ts";
import { parsedSetting, settingOf } from "../../../kernel/config/setting-kinds.ts";
import {
  DAY_MS,
  DURATION_PATTERN,
  formatDuration,
  parseDuration,
  type ParsedSetting,
  refuseValue,
} from "../../../kernel/config/units.ts";
import { firstRepeated } from "../../../kernel/config/values.ts";
import type { FeatureSettings, PlacedRules } from "../../../kernel/feature-settings.ts";
import { SOURCE_ADVICE, SOURCE_FORMS } from "../../key-sources/settings/feature.ts";

/** An entry of `key_from`, parsed. */
type ContentSource = ContentKey & { readonly kind: "content" };
type AnySource = KeySource | ContentSource;

interface ContentKeySettings {
  readonly key_from: readonly AnySource[];
}

const MIN_WINDOW_MS = 60_000;
const MAX_WINDOW_MS = DAY_MS;

export const EXAMPLE = '{ digest = ["json:/order_id", "json:/amount"], window = "10m", repeat = "replay" }';

const DIGEST_ADVICE =
  'must have digest ("request" or a list of places), window (a duration) and repeat ("replay" or "refuse"), and nothing else';

const contentForm = v.strictObject({
  digest: v.union([
    v.literal("request"),
    v.pipe(
      v.array(v.pipe(v.string(), v.metadata({ pattern: KEY_PART_PATTERN }))),
      v.metadata({ minItems: 1, maxItems: MAX_SOURCES }),
    ),
  ]),
  window: v.pipe(v.string(), v.metadata({ pattern: DURATION_PATTERN, examples: ["10m"] })),
  repeat: v.picklist(REPEAT_RULES),
});

export const contentKeyEntries = {
  key_from: settingOf(
    v.pipe(
      v.array(
        v.pipe(
          v.union([...SOURCE_FORMS, contentForm], ({ input }) => formAdvice(input)),
          parsedSetting<Written, AnySource>(parseSource),
        ),
        'must be a list: write ["header:Idempotency-Key"]',
      ),
      v.metadata({ minItems: 1, maxItems: MAX_SOURCES }),
      v.minLength(1, 'must name at least one place: write ["header:Idempotency-Key"], or leave it out'),
      v.maxLength(MAX_SOURCES, `must have at most ${MAX_SOURCES} entries: leave some out`),
      parsedSetting<AnySource[], readonly AnySource[]>(parseSources),
    ),
    ["header:Idempotency-Key"],
  ),
};

export const contentKeysSettings: FeatureSettings<ContentKeySettings> = {
  name: "content-keys",
  routes: { after: "key", entries: contentKeyEntries, tables: {}, widens: ["key_from"] },
  read: () => ({ check: (rules) => rules.flatMap(contentKeyProblems), resolveRoute }),
};

/** An entry as the schema gives it. */
type Written =
  | string
  | string[]
  | { template: string }
  | { digest: "request" | string[]; window: string; repeat: RepeatRule };

function formAdvice(input: unknown): string {
  return typeof input === "object" && input !== null && "digest" in input
    ? `${DIGEST_ADVICE}: write ${EXAMPLE}`
    : SOURCE_ADVICE;
}

function parseSource(written: Written): ParsedSetting<AnySource> {
  return typeof written === "object" && "digest" in written ? parseContent(written) : parseKeySource(written);
}

function parseContent({ digest, window, repeat }: WrittenContentKey): ParsedSetting<ContentSource> {
  const duration = parseDuration(window);
  if (!duration.ok) return refuseValue(`window ${duration.message}`);
  const windowMs = duration.value;
  if (windowMs < MIN_WINDOW_MS || windowMs > MAX_WINDOW_MS) {
    return refuseValue('window must be from "1m" to "24h": write window = "10m"');
  }
  const members = digest === "request" ? ({ ok: true, value: null } as const) : parseMembers(digest);
  return members.ok ? { ok: true, value: { kind: "content", members: members.value, windowMs, repeat } } : members;
}

function parseMembers(written: readonly string[]): ParsedSetting<readonly KeyPart[]> {
  if (written.length === 0 || written.length > MAX_SOURCES) {
    return refuseValue(`digest must name 1 to ${MAX_SOURCES} places: write digest = ["json:/order_id"]`);
  }
  const twice = firstRepeated(written);
  if (twice !== null) return refuseValue(`digest lists "${twice}" twice: write it once`);
  const parts: KeyPart[] = [];
  for (const one of written) {
    const part = parseKeyPart(one);
    if (!part.ok) return part;
    parts.push(part.value);
  }
  return { ok: true, value: parts };
}

/** A key that was sent counts, so content comes after all places of one. */
function parseSources(sources: readonly AnySource[]): ParsedSetting<readonly AnySource[]> {
  const early = sources.findIndex(({ kind }) => kind === "content");
  if (early !== -1 && early !== sources.length - 1) {
    return refuseValue(
      "has an entry behind the one with digest: write that one last, because a key that was sent counts",
    );
  }
  const others = parseKeySources(sourcesOf(sources));
  return others.ok ? { ok: true, value: sources } : others;
}

function sourcesOf(sources: readonly AnySource[]): readonly KeySource[] {
  return sources.filter((one): one is KeySource => one.kind !== "content");
}

function contentOf(sources: readonly AnySource[]): ContentKey | null {
  const last = sources.at(-1);
  if (last?.kind !== "content") return null;
  const { members, windowMs, repeat } = last;
  return { members, windowMs, repeat };
}

function resolveRoute(route: Route, { key_from: sources }: ContentKeySettings): Route {
  return { ...route, keyFrom: sourcesOf(sources), contentKey: contentOf(sources) };
}

function contentKeyProblems({ inForce, hasResponses }: PlacedRules<ContentKeySettings>): readonly ConfigProblem[] {
  if (!hasResponses || !inForce.isKnown("key_from")) return [];
  const content = contentOf(inForce.all.key_from);
  if (content === null) return [];
  return [
    ...sharedScope(inForce),
    ...shortWindow(inForce, content),
    ...longWindow(inForce, content),
    ...rememberedKey(inForce),
    ...uncomparedRequest(inForce, content),
    ...forwardedKey(inForce),
  ];
}

/** Strangers would get each other's answers. */
function sharedScope({ all, isKnown, place }: InForce<ContentKeySettings>): readonly ConfigProblem[] {
  if (!isKnown("scope") || all.scope.some(isCredential)) return [];
  const named = all.scope.length === 0 ? "none" : all.scope.map(scopePartName).join(", ");
  const message =
    `(${named}) names no credential, so equal requests of two callers would be one operation (key_from with digest): ` +
    'add "header:authorization", or leave out digest';
  return [{ path: `${place("scope", "key_from")}.scope`, code: "settings-contradict", message }];
}

function shortWindow(
  { all, isKnown, place }: InForce<ContentKeySettings>,
  { windowMs }: ContentKey,
): readonly ConfigProblem[] {
  if (!isKnown("lock") || windowMs > all.lock) return [];
  const message =
    `has window = "${formatDuration(windowMs)}", which must exceed lock (${formatDuration(all.lock)}): ` +
    `write window = "${formatDuration(Math.min(MAX_WINDOW_MS, Math.max(MIN_WINDOW_MS, 2 * all.lock)))}", or a shorter lock`;
  return [{ path: `${place("key_from", "lock")}.key_from`, code: "settings-contradict", message }];
}

/** An equal request would act again within the window, after one that may have acted. */
function longWindow(
  { all, isKnown, place }: InForce<ContentKeySettings>,
  { windowMs }: ContentKey,
): readonly ConfigProblem[] {
  if (!isKnown("unknown_retention") || all.unknown_retention >= windowMs) return [];
  const message =
    `must not be shorter than the window of key_from (${formatDuration(windowMs)}), or an equal request acts again after one whose outcome is unknown: ` +
    `write unknown_retention = "365d", or a shorter window`;
  return [
    {
      path: `${place("unknown_retention", "key_from")}.unknown_retention`,
      code: "settings-contradict",
      message,
      fix: valueFix("365d"),
    },
  ];
}

/** Its window is all that an equal request has to wait for. */
function rememberedKey({ all, isKnown, place }: InForce<ContentKeySettings>): readonly ConfigProblem[] {
  if (!isKnown("remember") || all.remember === null) return [];
  const message =
    'does not go with keys from content (key_from with digest), which are kept for their window alone: write remember = "none"';
  return [
    { path: `${place("remember", "key_from")}.remember`, code: "settings-contradict", message, fix: valueFix("none") },
  ];
}

/** Requests with different bodies would be one operation. */
function uncomparedRequest(
  { all, isKnown, place }: InForce<ContentKeySettings>,
  { members }: ContentKey,
): readonly ConfigProblem[] {
  if (members !== null || !isKnown("fingerprint") || all.fingerprint.body !== "none") return [];
  const message =
    'has digest = "request", which counts what the fingerprint counts, and that leaves out the body: name what counts, such as digest = ["json:/order_id"]';
  return [{ path: `${place("key_from", "fingerprint")}.key_from`, code: "settings-contradict", message }];
}

/**
 * Who knows keys would take an equal operation after the window for a retry of the first: the origin, and the next service to which a result is published
 * with the key of a step. Another feature's setting is known by name alone.
 */
function forwardedKey({ all, isKnown, place }: InForce<ContentKeySettings>): readonly ConfigProblem[] {
  const published: unknown = Reflect.get(all, "publish");
  const hasStep = Array.isArray(published) && published.some((one: object) => Reflect.get(one, "step") !== undefined);
  const why = "would get the same key again for an equal operation after the window";
  return [
    ...(!isKnown("forward_key") || all.forward_key.kind !== "step"
      ? []
      : [
          {
            path: `${place("forward_key", "key_from")}.forward_key`,
            code: "settings-contradict" as const,
            message: `does not go with keys from content (key_from with digest), because the origin ${why}: write "client"`,
            fix: valueFix("client"),
          },
        ]),
    ...(hasStep
      ? [
          {
            path: `${place("key_from")}.key_from`,
            code: "settings-contradict" as const,
            message: `has digest, and publish has a step, whose receiver ${why}: leave out step, or digest`,
          },
        ]
      : []),
  ];
}
