// What the console works with: the parts of the gateway that it needs, who is signed in, the time, and its own addresses.

import type { OperatorTokens } from "../../kernel/config/operators.ts";
import type { RecordId } from "../../kernel/record/units.ts";
import type { ConsoleFeature, ConsoleLink } from "../../kernel/worker-feature.ts";
import type { Actor, OperatorAuth } from "../access/auth.ts";
import type { HoursView } from "../hours-schema.ts";
import type { AllCounts, Operator } from "../operator.ts";
import type { OutageSummary } from "../outages.ts";
import type { RouteWarning } from "../traffic-reader.ts";
import { SCRIPT, STYLE } from "./assets.ts";

export interface ConsolePorts {
  /** The path for operators: `/_onceway`. */
  readonly basePath: string;
  /** What this deployment is called; `null`: by its host alone. */
  readonly environment: string | null;
  readonly operator: Operator;
  readonly features: readonly ConsoleFeature[];
  /** What was counted in the last day, as it was at most half a minute ago. */
  readonly recentHours: (now: number) => Promise<HoursView>;
  /** What happened to the records that need a decision, as it was at most ten seconds ago, or when there were as many. */
  readonly outages: (
    now: number,
    counts: Pick<AllCounts, "total" | "shards" | "unreachable">,
  ) => Promise<readonly OutageSummary[]>;
  /** What operators should change in routes. */
  readonly warnings: () => Promise<readonly RouteWarning[]>;
  /** The configured routes' paths. */
  readonly routes: readonly string[];
  readonly tokens: readonly OperatorTokens[];
  /** Shared with the API, so that wrong tokens count together. */
  readonly auth: OperatorAuth;
}

/** Which gateway a page is of. */
export interface ConsoleSite {
  /** As the browser shows it. */
  readonly host: string;
  readonly environment: string | null;
}

export function siteOf(request: Request, { environment }: Pick<ConsolePorts, "environment">): ConsoleSite {
  return { host: new URL(request.url).host, environment };
}

/** `staging, ops.example.com`. */
export function siteText({ host, environment }: ConsoleSite): string {
  return environment === null ? host : `${environment}, ${host}`;
}

/** Who is signed in. */
export interface ConsoleViewer {
  readonly actor: Actor;
  /** In every form that changes something. */
  readonly formToken: string;
}

export interface ConsoleView {
  readonly site: ConsoleSite;
  readonly paths: ConsolePaths;
  readonly viewer: ConsoleViewer;
  /** The server's time; all durations are relative to it. */
  readonly now: number;
  /** Whether the configuration lists previous layouts, so that records show theirs. */
  readonly isChangingLayout: boolean;
  /** To the pages of features. */
  readonly links: readonly ConsoleLink[];
}

export type ConsolePaths = ReturnType<typeof pathsBelow>;

/** The console's URLs, below the same path as the API's. */
export function pathsBelow(base: string) {
  const console = `${base}/console`;
  const record = (id: RecordId): string => `${console}/records/${id}`;
  return {
    overview: base,
    day: `${console}/day`,
    records: `${console}/records`,
    shards: `${console}/shards`,
    changeAll: `${console}/records/change-all`,
    decide: `${console}/records/decide`,
    forgetScope: `${console}/records/forget-scope`,
    signIn: `${console}/sign-in`,
    signOut: `${console}/sign-out`,
    sessions: `${console}/sessions`,
    style: `${console}/${STYLE.name}`,
    script: `${console}/${SCRIPT.name}`,
    /** A page of a feature. */
    below: (path: string): string => `${console}/${path}`,
    record,
    body: (id: RecordId): string => `${record(id)}/body`,
    change: (id: RecordId, action: string): string => `${record(id)}/${action}`,
    listed: (query: Readonly<Record<string, string>>): string =>
      `${console}/records?${new URLSearchParams(query).toString()}`,
  };
}
