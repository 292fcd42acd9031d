// Merges what was written with what holds otherwise: a route's own settings, then `IDEMPOTENCY`, then the built-in
// defaults, member by member (a list or a table replaces as a whole). Checks nothing: it is given valid settings only.

import { longestKey } from "./bounds.ts";
import { BUILT_IN, type FullSettings } from "./defaults.ts";
import type { Config, Origin, Route, ScopePart } from "./resolved.ts";
import type { Settings } from "./schema.ts";
import { DEFAULT_OPERATOR_PATH, type GatewaySettings } from "./schema-operator.ts";

/** A route as it was written, with its name for messages and its path as text. */
export interface WrittenRoute {
  readonly name: string;
  readonly path: string;
  readonly settings: Settings;
}

/** Every setting that applies to a route. */
export function mergeSettings(defaults: Settings, own: Settings): FullSettings {
  return { ...BUILT_IN, ...defaults, ...own };
}

/** The configuration as the rest of the code knows it. */
export function resolveConfig(gateway: GatewaySettings, defaults: Settings, routes: readonly WrittenRoute[]): Config {
  return {
    operatorPath: gateway.operator_path ?? DEFAULT_OPERATOR_PATH,
    origin: originOf(defaults),
    routes: routes.map(({ name, path, settings }) => resolveRoute(name, path, mergeSettings(defaults, settings))),
  };
}

function resolveRoute(name: string, path: string, settings: FullSettings): Route {
  const { key_format: keyFormat, fingerprint } = settings;
  const origin = originOf(settings);
  return {
    name,
    path,
    methods: settings.methods,
    origin,
    shards: settings.shards,
    locationHint: settings.location_hint ?? null,
    jurisdiction: settings.jurisdiction ?? null,
    scope: scopeOf(settings.scope, origin),
    key: settings.key,
    headers: settings.headers,
    keyFormat: {
      pattern: keyFormat.pattern ?? null,
      min: keyFormat.min ?? 1,
      max: keyFormat.max ?? longestKey(settings.forward_key),
    },
    fingerprint: { body: fingerprint.body ?? "bytes", headers: fingerprint.headers ?? [] },
    unknown: settings.unknown,
    verify: settings.unknown === "verify" ? (settings.verify ?? null) : null,
    onStoreFailure: settings.on_store_failure,
    duplicate: settings.duplicate,
    waitMs: settings.wait,
    timeoutMs: settings.timeout,
    idleTimeoutMs: settings.idle_timeout,
    lockMs: settings.lock,
    retentionMs: settings.retention,
    refused: settings.refused,
    ambiguous: settings.ambiguous,
    mismatchStatus: settings.mismatch_status,
    maxRequestBodyBytes: settings.max_request_body,
    maxResponseBodyBytes: settings.max_response_body,
    omitHeaders: settings.omit_headers,
    forwardKey: settings.forward_key,
    log: settings.log,
    serverTiming: settings.server_timing,
  };
}

function originOf(settings: Pick<Settings, "origin">): Origin {
  return settings.origin ?? { kind: "zone" };
}

/**
 * A binding and the zone's own origin are called under the host that the client named, so two hosts may be two APIs: the same
 * key at another host is another record. A URL as origin is one API, under however many names clients reach the gateway.
 */
function scopeOf(written: readonly ScopePart[], { kind }: Origin): readonly ScopePart[] {
  const isNamed = written.some((part) => part.kind === "host");
  return kind === "url" || isNamed ? written : [...written, { kind: "host" }];
}
