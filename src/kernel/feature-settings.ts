// What a feature adds to the settings, as src/features/settings.ts lists it. What a configuration holds in the end is plain data: the functions
// are here, and never in a configuration. A feature's files import no declared settings of the kernel, which are made of theirs.

import type { InForce } from "./config/in-force.ts";
import type { ConfigProblem } from "./config/problem.ts";
import type { Route } from "./config/resolved.ts";
import type { SettingEntries } from "./config/setting-kinds.ts";
import type { FullSettings } from "./config/settings.ts";

/** `Own`: its settings of routes, parsed. */
export interface FeatureSettings<Own = unknown> {
  /** That of its folder. */
  readonly name: string;
  readonly routes?: RouteSettings;
  /** Reads what is written. */
  readonly read: () => FeatureDraft<Own>;
}

/** Settings of routes, and of `[vars.IDEMPOTENCY]` for all routes. Each has a default. */
export interface RouteSettings {
  /** Which settings of the kernel they follow where all are listed. */
  readonly after: "answers" | "notes";
  readonly entries: SettingEntries;
  /** The members of those that are tables. */
  readonly tables: Readonly<Record<string, SettingEntries>>;
}

/** What was written for a feature, as far as it could be read. */
export interface FeatureDraft<Own = unknown> {
  /** The broken relations between its settings and others. `rules`: of every route, and of whatever else has records. */
  check?(rules: readonly PlacedRules<Own>[]): readonly ConfigProblem[];
  /** The route with what the feature's settings say of it. The features before it in the list have added theirs. */
  resolveRoute?(route: Route, settings: FullSettings & Own): Route;
}

/** The rules of one kind of record. */
export interface PlacedRules<Own = unknown> {
  /** Their place in the configuration: `ROUTES[0]`. */
  readonly place: string;
  readonly inForce: InForce<Own>;
}
