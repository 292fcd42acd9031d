// Merges what was written with the defaults: a route's own settings come first, then those of `IDEMPOTENCY`, then the
// built-in defaults, member by member (a list or a table replaces the other as a whole). Checks nothing: its input is valid.

import type * as v from "valibot";

import { durationMs } from "../record/units.ts";
import type { Config, FingerprintRule, Origin, Route, RouteRules, BodySelection } from "./resolved.ts";
import type { FeatureDraft, ResolveRules } from "../feature-settings.ts";
import { inheritedLayer } from "./in-force.ts";
import { IDEMPOTENCY_KEY } from "./key-source.ts";
import type { NamedOperator } from "./operators.ts";
import type { DeclaredSettings, FullSettings, WrittenSettings } from "./settings.ts";
import { layoutOf, originOrZone } from "./settings-origin.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "./settings-gateway.ts";
import { OPERATOR_API_DEFAULTS, type operatorApiSchema } from "./settings-operator.ts";
import { FINGERPRINT_DEFAULTS } from "./settings-fingerprint.ts";
import { KEY_FORMAT_DEFAULTS, longestKey } from "./settings-key.ts";
import { noteRuleOf } from "../notes/settings-note.ts";
import { isHostPart, type ScopePart } from "./scope-part.ts";

/** A route as it was written, with its name for messages and its path as text. */
export interface WrittenRoute {
  readonly name: string;
  readonly path: string;
  readonly settings: WrittenSettings;
}

/** A whole configuration as it was written, and the parts of it that are resolved already. */
export interface WrittenConfig {
  readonly written: GatewaySettings;
  readonly operatorApi: v.InferOutput<typeof operatorApiSchema>;
  readonly hasOperatorPort: boolean;
  readonly defaults: WrittenSettings;
  readonly routes: readonly WrittenRoute[];
  readonly operators: readonly NamedOperator[];
  readonly features: readonly FeatureDraft[];
  readonly declared: DeclaredSettings;
}

/** The configuration as the rest of the code uses it. */
export function resolveConfig({
  written,
  operatorApi,
  hasOperatorPort,
  defaults,
  routes,
  operators,
  features,
  declared,
}: WrittenConfig): Config {
  const gateway = { ...GATEWAY_DEFAULTS, ...written };
  const trustForwarded = gateway.trust_forwarded;
  // No request, so that no host is part of their scopes.
  const ofNoRequest = { trustForwarded: false, features, declared };
  const resolveRules: ResolveRules = (draft, path) => {
    const inherited = inheritedLayer({ settings: defaults, faulty: new Set() }, draft);
    return resolveRoute(draft.name, path, declared.merge(inherited.settings, draft.settings), ofNoRequest);
  };
  const config: Config = {
    trustForwarded,
    operatorPath: operatorApi.path ?? OPERATOR_API_DEFAULTS.path,
    operatorHostname: operatorApi.hostname ?? null,
    hasOperatorPort,
    environment: operatorApi.environment ?? null,
    origin: originOrZone(defaults),
    gateway: { jurisdiction: defaults.jurisdiction ?? null, locationHint: defaults.location_hint ?? null },
    routes: routes.map(({ name, path, settings }) => ({
      ...resolveRoute(name, path, declared.merge(defaults, settings), { trustForwarded, features, declared }),
    })),
    identities: [],
    queues: [],
    consumers: [],
    operators,
    consumerPath: null,
    destinations: [],
  };
  for (const { resolve } of features) Object.assign(config, resolve?.(resolveRules));
  return config;
}

/** What a route's rules take from the whole gateway. */
interface OfGateway extends Pick<Config, "trustForwarded"> {
  readonly features: readonly FeatureDraft[];
  readonly declared: DeclaredSettings;
}

/** A route's rules. */
function resolveRoute(
  name: string,
  path: string,
  settings: FullSettings,
  { trustForwarded, features, declared }: OfGateway,
): Route {
  const keyFormat = { ...KEY_FORMAT_DEFAULTS, ...settings.key_format };
  const origin = originOrZone(settings);
  const route: Route = {
    name,
    path,
    methods: settings.methods,
    origin,
    layouts: { own: layoutOf(settings), previous: [] },
    trustForwarded,
    scope: withHost(settings.scope, origin, trustForwarded),
    previousScopes: settings.previous_scope.map((scope) => earlierScope(scope, origin, trustForwarded)),
    identities: [],
    key: settings.key,
    keyFrom: [IDEMPOTENCY_KEY],
    contentKey: null,
    graphql: false,
    jsonrpc: null,
    keyFormat: {
      pattern: keyFormat.pattern ?? null,
      min: keyFormat.min,
      max: keyFormat.max ?? longestKey(declared.stepsOf(settings)),
    },
    newKeys: settings.new_keys,
    fingerprint: fingerprintOf(settings),
    rules: rulesOf(settings),
    async: "never",
    lookUp: false,
    preset: null,
    problemShape: null,
    verify: settings.unknown === "verify" ? (settings.verify ?? null) : null,
    onStoreFailure: settings.on_store_failure,
    maxRequestBodyBytes: settings.max_request_body,
    forwardKey: settings.forward_key,
    encryptResponses: settings.encrypt_responses,
    note: noteRuleOf(settings, settings.encrypt_responses === true),
    log: settings.log,
    serverTiming: settings.server_timing,
    cors: null,
    trial: null,
  };
  return features.reduce((sofar, feature) => feature.resolveRoute?.(sofar, settings) ?? sofar, route);
}

function fingerprintOf(settings: FullSettings): FingerprintRule {
  const { except, only, query_except: queryExcept, ...rule } = { ...FINGERPRINT_DEFAULTS, ...settings.fingerprint };
  return { ...rule, queryExcept: queryExcept.toSorted(), selection: selectionOf(except, only) };
}

function selectionOf(except: readonly string[], only: readonly string[] | undefined): BodySelection | null {
  if (only !== undefined) return { kind: "only", pointers: only.toSorted() };
  return except.length === 0 ? null : { kind: "except", pointers: except.toSorted() };
}

function rulesOf(settings: FullSettings): RouteRules {
  return {
    policy: {
      unknown: settings.unknown,
      lockMs: durationMs(settings.lock),
      retentionMs: durationMs(settings.retention),
      unknownRetentionMs: durationMs(settings.unknown_retention),
      // A route without it sends its rules without it, too.
      ...(settings.after_refusal === "any" ? { afterRefusal: "any" } : {}),
      ...(settings.remember === null ? {} : { rememberMs: durationMs(settings.remember) }),
    },
    lists: { refused: settings.refused, ambiguous: settings.ambiguous },
    duplicate: settings.duplicate,
    waitMs: settings.wait,
    timeoutMs: settings.timeout,
    idleTimeoutMs: settings.idle_timeout,
    maxResponseBodyBytes: settings.max_response_body,
    keyReusedStatus: settings.key_reused_status,
    omitHeaders: settings.omit_headers,
  };
}

/**
 * A binding and the zone's own origin are called under the host that the client named, so two hosts may be two APIs: the same
 * key at another host is another record. A URL as origin is one API, under however many names clients reach the gateway.
 */
function withHost(written: readonly ScopePart[], { kind }: Origin, trustForwarded: boolean): readonly ScopePart[] {
  const host: ScopePart = { kind: trustForwarded ? "forwarded-host" : "host" };
  if (written.some(isHostPart)) return written.map((part) => (part.kind === "host" ? host : part));
  return kind === "url" ? written : [...written, host];
}

/** Says what it means itself where it names a host: settings that decide about the host may have changed since. */
function earlierScope(written: readonly ScopePart[], origin: Origin, trustForwarded: boolean): readonly ScopePart[] {
  return written.some(isHostPart)
    ? written.filter(({ kind }) => kind !== "any-host")
    : withHost(written, origin, trustForwarded);
}
