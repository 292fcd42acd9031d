// What a feature adds to the settings, as src/features/settings.ts lists it. What a configuration holds in the end is plain data: the functions
// are here, and never in a configuration. A feature's files import no declared settings of the kernel, which are made of theirs.

import type { RouteDraft } from "./config/cross-checks.ts";
import type { HasBinding, InForce, SettingsLayer } from "./config/in-force.ts";
import type { NamedOperator } from "./config/operators.ts";
import type { ConfigProblem } from "./config/config-problem.ts";
import type { Config, Route } from "./config/resolved.ts";
import type { SettingEntries } from "./config/setting-kinds.ts";
import type { GATEWAY_DEFAULTS, GatewaySettings } from "./config/settings-gateway.ts";
import type { FullSettings, WrittenSettings } from "./config/settings.ts";

/** `Own`: its settings of routes, parsed. */
export interface FeatureSettings<Own = unknown> {
  /** That of its folder. */
  readonly name: string;
  readonly routes?: RouteSettings<Own>;
  /** Writes out short forms in the variables, before anything is read. What it cannot read it leaves as it is. */
  readonly expand?: (variables: Env) => Env;
  /** Reads what is written. */
  readonly read: (given: SettingsInput) => FeatureDraft<Own>;
  /** What is wrong with the values of its secrets. `taken`: values that are somebody else's. */
  readonly secretProblems?: (config: Config, env: Env, taken: readonly string[]) => readonly ConfigProblem[];
}

type Env = Readonly<Record<string, unknown>>;

/** A setting that a short form gives a route, and where it comes from, in words. */
export interface GivenSetting {
  readonly value: unknown;
  readonly from: string;
}

/** Settings of routes, and of `[vars.IDEMPOTENCY]` for all routes. Each has a default. */
export interface RouteSettings<Own = unknown> {
  /** Which setting of the kernel they follow where all are listed. */
  readonly after: keyof WrittenSettings;
  readonly entries: SettingEntries;
  /** The members of those that are tables. */
  readonly tables: Readonly<Record<string, SettingEntries>>;
  /** Those of its entries that replace one of a feature that it needs, because it takes more there. */
  readonly widens?: readonly string[];
  /** Whether routes with such settings and the same path are tried in their order, so that none hides the others. */
  areAlternatives?(settings: FullSettings & Own): boolean;
  /** The steps for which keys are made of a route's keys (`<key>:<step>`), which have to leave room for them. */
  steps?(settings: FullSettings & Own): readonly string[];
}

/** What a feature reads. */
export interface SettingsInput {
  readonly env: Env;
  readonly hasBinding: HasBinding;
  /** What `[vars.IDEMPOTENCY]` says of routes. */
  readonly defaults: SettingsLayer;
  readonly gateway: GatewaySettings & typeof GATEWAY_DEFAULTS;
  readonly operators: readonly NamedOperator[];
  /** All settings of routes, by their names. */
  readonly routeSettings: SettingEntries;
}

/** What was written for a feature, as far as it could be read. */
export interface FeatureDraft<Own = unknown> {
  /** What is wrong with its variables. */
  readonly problems?: readonly ConfigProblem[];
  /** Its entries that have records, whose rules are checked as those of routes are: the gateway has work without a route. */
  readonly drafts?: readonly RouteDraft[];
  /** A path that the gateway serves itself because of it. */
  readonly ownPath?: OwnPath;
  /** The broken relations between its settings and others. `rules`: of every route, and of whatever else has records. */
  check?(rules: readonly PlacedRules<Own>[]): readonly ConfigProblem[];
  /** The route with what the feature's settings say of it. The features before it in the list have added theirs. */
  resolveRoute?(route: Route, settings: FullSettings & Own): Route;
  /** Its part of the configuration. Called only if nothing has a problem. */
  readonly resolve?: (resolveRules: ResolveRules) => Partial<Config>;
}

/** The rules of records that are no request's, as a route that no request matches. `path`: what it is called in records, lists and metrics. */
export type ResolveRules = (draft: RouteDraft, path: string) => Route;

export interface OwnPath {
  /** The setting of the gateway that says it. */
  readonly setting: string;
  readonly path: string;
  /** For whom it is: `consumers`. */
  readonly whom: string;
  /** What to write if it is in the way. */
  readonly example: string;
}

/** The rules of one kind of record. */
export interface PlacedRules<Own = unknown> {
  /** Their place in the configuration: `ROUTES[0]`. */
  readonly place: string;
  /** Whether an origin answers for these records. */
  readonly hasResponses: boolean;
  readonly inForce: InForce<Own>;
}
