// What a feature is in Node: its commands, and the declarations from which the JSON Schema, the tables of settings and the checks of
// a wrangler.toml are made. Plain data as far as it can be. Must never be imported by the Worker.

import type { Command } from "commander";
import type { GenericSchema, InferOutput, ObjectEntries, StrictObjectSchema } from "valibot";

import type { GivenSetting } from "./feature-settings.ts";
import type { SettingsTable } from "./config/table.ts";
import type { Config, ConfigProblem, Route } from "./config/resolved.ts";
import type { SettingEntries, DeclaredText } from "./config/setting-kinds.ts";

export interface NodeFeature {
  /** That of its folder. */
  readonly name: string;
  /** Its commands, among those that talk to a running gateway. */
  readonly commands?: readonly NodeCommand[];
  /** Its commands among those of `records`, behind the frame's own. */
  readonly recordCommands?: readonly Omit<NodeCommand, "after">[];
  /** The variable that it reads besides `IDEMPOTENCY` and `ROUTES`. */
  readonly variable?: NodeVariable;
  /** What its settings say of themselves: those of routes, and those of its variable. */
  readonly texts?: readonly TextedSettings[];
  readonly check?: FeatureCheck;
  /** Its entries that have records, as `check` shows them. */
  readonly entries?: EntryKind;
  /** Lines that `check` says of all records besides: `/v1/payments: publishes …`. */
  readonly promises?: (config: Config) => readonly string[];
  /** Why the gateway refused the credential among these headers, in sentences: for the person who tries it. */
  readonly credentialFaults?: (
    headers: readonly (readonly [name: string, value: string])[],
    config: Config,
    nowMs: number,
  ) => readonly string[];
}

/** Settings, and their texts by the same names. */
export type TextedSettings = readonly [entries: ObjectEntries, texts: Readonly<Record<string, DeclaredText>>];

export interface NodeCommand {
  readonly name: string;
  /** Which command it follows where they are listed. */
  readonly after: string;
  readonly define: (command: Command) => void;
}

/** A variable of the gateway, as the JSON Schema and a README.md describe its entries. */
export interface NodeVariable {
  /** `QUEUES`. */
  readonly name: string;
  /** `list`: `[[vars.QUEUES]]`, which goes on in `QUEUES_2`; `table`: `[vars.IDENTITIES.NAME]`; `single`: `[vars.ACCESS]`. */
  readonly form: "list" | "table" | "single";
  /** What its entries are called. */
  readonly entries: string;
  /** Whether an entry protects something, so that the gateway has work without any route. */
  readonly protects: boolean;
  /** What the JSON Schema calls one entry, and says of it. */
  readonly definition: string;
  readonly description: string;
  /** Its own settings. */
  readonly schema: StrictObjectSchema<ObjectEntries, undefined>;
  /** Its settings in the order of the table: those that every entry needs, then the others. */
  readonly needed: Readonly<Record<string, GenericSchema>>;
  readonly optional: SettingEntries;
  /** Settings that mean the same in routes: described for editors, and not in the table. */
  readonly inherits?: readonly string[];
  /** Its settings that are tables, with the members that follow them. */
  readonly tables?: Readonly<Record<string, SettingEntries>>;
  /** The page with its table, and the name of the lines around it there: `settings` by default. */
  readonly readme: URL;
  readonly table?: string;
}

/** A column of the table in which `check` shows what is protected. */
export type RouteColumn = "path" | "methods" | "origin" | "key" | "scope" | "unknown" | "duplicate" | "retention";

export interface EntryKind {
  /** One of them: `group`. */
  readonly noun: string;
  /** What `check --json` calls them: `consumers`. */
  readonly name: string;
  readonly of: (config: Config) => readonly DescribedEntry[];
}

export interface DescribedEntry {
  /** The rules of its records. */
  readonly route: Route;
  /** Where its line is another than that of a route with these rules. */
  readonly cells: Readonly<Partial<Record<RouteColumn, string>>>;
  /** What its rules mean, in a sentence. */
  readonly promise: string;
  /** For scripts, besides the settings of its route. */
  readonly json: object;
}

/** What `check` finds besides what reading the configuration finds. Pure, but for `look`. */
export interface FeatureCheck {
  /** What can be deployed but is probably a mistake, as far as the configuration alone shows it. */
  readonly warnings?: (config: Config) => readonly ConfigProblem[];
  /** The same of one route. */
  readonly routeWarnings?: (route: Route) => readonly ConfigProblem[];
  /** What the rest of the file lacks. `own` is one environment, and `prefix` the beginning of its paths. */
  readonly fileProblems?: (prefix: string, own: SettingsTable, config: Config) => readonly ConfigProblem[];
  /** The same for what is probably a mistake, without the prefix. `top` is the top level, of which environments inherit some tables. */
  readonly fileWarnings?: (config: Config, own: SettingsTable, top: SettingsTable) => readonly ConfigProblem[];
  /** The settings that short forms give a route (`FeatureSettings.expand`), or that follow from others, by their names. `route`: with those of features before it. */
  readonly writtenFor?: (route: SettingsTable, defaults: SettingsTable) => Readonly<Record<string, GivenSetting>>;
  /** The names of the secrets that it reads. */
  readonly secrets?: (config: Config) => readonly string[];
  /** What a route forgets of those of the running gateway whose requests it takes over. */
  readonly forgetting?: (route: Route, running: readonly RunningRoute[]) => readonly ForgettingProblem[];
  /** What a configuration forgets of the layouts of the running gateway, or enters again. */
  readonly layoutsForgotten?: (comparison: LayoutComparison) => readonly ForgettingProblem[];
  /** What the running gateway says of requests that the configuration treats in another way: warnings. `ask` reads its operator API. */
  readonly against?: (config: Config, ask: AskGateway) => Promise<readonly ConfigProblem[]>;
  /** What this machine finds at the addresses of the configuration. Takes a few seconds at most; never rejects. */
  readonly look?: (config: Config) => Promise<readonly ConfigProblem[]>;
}

/** Reads an answer of the running gateway's operator API. Rejects if it has no such operation. */
export type AskGateway = <Schema extends GenericSchema>(schema: Schema, path: string) => Promise<InferOutput<Schema>>;

/** Keys, responses or monitors of before that nobody finds again. */
export interface ForgettingProblem extends ConfigProblem {
  /**
   * Otherwise it is a warning: a layout with an object for each key may be empty, because nobody can count it, and a narrower scope
   * may be meant to forget.
   */
  readonly isCertain: boolean;
}

export interface LayoutComparison {
  readonly routes: readonly Route[];
  readonly running: readonly RunningLayout[];
  /** The running routes of whose requests a route gets some. */
  readonly inheritedBy: (route: Route) => readonly RunningRoute[];
}

/** A layout of the gateway that runs, as the operator API gives it (src/operator/gateway-schema.ts). */
export interface RunningLayout {
  readonly layout: string;
  readonly shards: number | string;
  readonly jurisdiction: string | null;
  readonly next: string | null;
  readonly closedFor: readonly string[];
  readonly routes: readonly string[];
  readonly objects: number | null;
  readonly mayGo: boolean;
  readonly reason: string;
}

/** A route of the gateway that runs, as it publishes it. */
export interface RunningRoute {
  readonly path: string;
  readonly methods: readonly string[];
  /** The names of the scope's parts; `["none"]`. */
  readonly scope: readonly string[];
  /** By the names of its identities, where they take a caller's name from. */
  readonly identities: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The names of the places that its keys come from. */
  readonly keyFrom: readonly string[];
  /** Whether responses of new attempts are encrypted. */
  readonly encryptResponses: boolean;
  /** Which requests are answered before their result. */
  readonly async: string;
  /** What tells a retry from a reuse, as one text. */
  readonly fingerprint: string;
}
