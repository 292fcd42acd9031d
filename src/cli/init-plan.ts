// What `onceway init` has to know, where its options give it, and the settings that come of it. Pure.

import { type Command, Option } from "commander";

import { parsePathPattern } from "../kernel/config/path-pattern.ts";
import type { SettingsTable } from "../kernel/config/table.ts";
import type { ObjectPlacement } from "../kernel/config/words.ts";
import { parseScopeEntry } from "../kernel/config/scope-part.ts";
import { parseOrigin } from "../kernel/config/values.ts";
import type { UnknownRule } from "../kernel/record/record.ts";
import { collectValues } from "./arguments.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";

/** By what a caller is known: the same key from another caller is another record. */
export type CallerIdentity =
  /** An API key, which does not change. */
  | { readonly kind: "header"; readonly name: string }
  /** A JWT in `Authorization`, which is refreshed: its subject stays. */
  | { readonly kind: "token"; readonly issuer: string; readonly audience: string }
  | { readonly kind: "cookie"; readonly name: string }
  | { readonly kind: "nobody" };

export interface PlanAnswers {
  /** The Worker's name. */
  readonly name: string;
  /** `null`: the handlers of a Hono application. */
  readonly origin: string | null;
  /** Path patterns, in the order in which they are matched. */
  readonly routes: readonly string[];
  readonly caller: CallerIdentity;
  readonly unknown: UnknownRule;
  /** With `unknown = "verify"`: where the API is asked about a key. */
  readonly verify: string | null;
  /** Where the API runs; `null`: nobody knows yet. */
  readonly near: ApiRegion | null;
  /** Which value of a request operators know it by. */
  readonly label: string | null;
}

export interface GatewayPlan extends PlanAnswers {
  readonly paths: ProjectPaths;
}

/** Seen from the file. */
export interface ProjectPaths {
  /** The Worker's entry. */
  readonly main: string;
  /** The JSON Schema of wrangler.toml. */
  readonly schema: string;
  /** The page about all settings. */
  readonly settings: string;
}

/** What is taken where nothing was answered. */
export const USUAL = {
  caller: { kind: "header", name: "authorization" },
  unknown: "hold",
  verify: null,
  near: null,
  label: null,
} as const;

/** Where an API runs, and where its records are then kept. */
export const API_REGIONS = {
  enam: { title: "Eastern North America", hint: "enam", price: null },
  wnam: { title: "Western North America", hint: "wnam", price: null },
  weur: { title: "Western Europe", hint: "weur", price: null },
  eeur: { title: "Eastern Europe", hint: "eeur", price: null },
  apac: { title: "Asia-Pacific", hint: "apac", price: null },
  oc: { title: "Oceania", hint: "oc", price: null },
  sam: {
    title: "South America",
    hint: "enam",
    price: "the nearest objects are in Eastern North America: about 200 ms more for a client in São Paulo",
  },
  afr: {
    title: "Africa",
    hint: "weur",
    price: "the nearest objects are in Western Europe: about 260 ms more for a client in Johannesburg",
  },
  me: {
    title: "the Gulf, the Middle East",
    hint: "eeur",
    price: "the nearest objects are in Eastern Europe: two round trips there more for a client nearby",
  },
  several: { title: "in several of them", hint: "first-use", price: null },
} as const satisfies Readonly<
  Record<string, { readonly title: string; readonly hint: ObjectPlacement; readonly price: string | null }>
>;
export type ApiRegion = keyof typeof API_REGIONS;

/** In the order in which they are offered. */
export const REGIONS = [
  "enam",
  "wnam",
  "weur",
  "eeur",
  "apac",
  "oc",
  "sam",
  "afr",
  "me",
  "several",
] as const satisfies readonly ApiRegion[];

/** What a client near the API waits longer, where Cloudflare has no objects; `null`: nothing is to be said. */
export function placementNote(near: ApiRegion | null): string | null {
  const price = near === null ? null : API_REGIONS[near].price;
  if (price === null) return null;
  return `Cloudflare creates no objects there, and ${price} (estimated, not measured). On a machine near the API (onceway serve) there is no such detour.`;
}

export const USUAL_VERIFY = "/v1/payments/by-key/{key}";

/** `[vars.IDEMPOTENCY]`, and `[vars.IDENTITIES]` where there is one. */
export function settingsOf(answers: PlanAnswers): {
  readonly defaults: SettingsTable;
  readonly identities: SettingsTable | null;
} {
  const { origin, caller, unknown, verify, near, label } = answers;
  const defaults = {
    origin: origin ?? { entrypoint: "Origin" },
    ...(near === null ? {} : { location_hint: API_REGIONS[near].hint }),
    scope: [scopeOf(caller)],
    timeout: "30s",
    retention: "24h",
    ...(verify === null ? { unknown } : { verify }),
    ...(label === null ? {} : { note: { label } }),
  };
  return { defaults, identities: caller.kind === "token" ? { user: { jwt: jwtOf(caller) } } : null };
}

function scopeOf(caller: CallerIdentity): string {
  switch (caller.kind) {
    case "header":
    case "cookie":
      return `${caller.kind}:${caller.name}`;
    case "token":
      return "identity:user";
    case "nobody":
      return "none";
  }
}

/** Most issuers publish their keys there (OpenID Connect Discovery names the place for all others). */
export function jwtOf({ issuer, audience }: Extract<CallerIdentity, { readonly kind: "token" }>): {
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: string;
} {
  return { issuer, audience, jwks: `${issuer.replace(/\/$/, "")}/.well-known/jwks.json` };
}

export interface PlanOptions {
  readonly origin?: string;
  readonly hono?: boolean;
  readonly route?: readonly string[];
  readonly name?: string;
  readonly caller?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly unknown?: UnknownRule;
  readonly verify?: string;
  readonly near?: ApiRegion;
  readonly label?: string;
}

export function withPlanOptions(command: Command): Command {
  return command
    .addOption(new Option("--origin <URL>", "the API behind the gateway").conflicts("hono"))
    .option("--hono", "the gateway is a middleware of the Hono application that this Worker is, or will be")
    .option("--route <PATH>", "a path to protect; may be repeated, the first that matches counts", collectValues)
    .option("--name <NAME>", "the Worker's name (default: its folder's)")
    .option(
      "--caller <WHO>",
      'whose key it is: header:NAME for an API key, token for a JWT that is refreshed, cookie:NAME for a session, nobody (default: "header:authorization")',
    )
    .option("--issuer <URL>", "of the tokens, with --caller token")
    .option("--audience <TEXT>", "of the tokens, with --caller token")
    .addOption(
      new Option("--unknown <WHAT>", `after a call whose outcome is not known (default: "${USUAL.unknown}")`).choices([
        "hold",
        "verify",
        "retry",
      ]),
    )
    .option("--verify <PATH>", `with --unknown verify: where the API is asked about a key, ${USUAL_VERIFY}`)
    .addOption(new Option("--near <REGION>", "where the API runs: records are kept near it").choices(REGIONS))
    .option("--label <PLACE>", "a value by which operators know a request: json:/order_id, header:NAME, query:NAME");
}

/** Throws a Failure that names the option that is wrong. */
export function readPlanOptions(options: PlanOptions): Partial<PlanAnswers> {
  const { origin, hono, route: routes, name, verify, near, label } = options;
  refuse("--origin", origin === undefined ? undefined : originProblem(origin));
  refuse("--route", routes === undefined ? undefined : pathsProblem(routes));
  refuse("--name", name === undefined ? undefined : nameProblem(name));
  refuse("--verify", verify === undefined ? undefined : verifyProblem(verify));
  const caller = callerOf(options);
  const unknown = options.unknown ?? (verify === undefined ? undefined : "verify");
  if (unknown === "verify" && verify === undefined) refuse("--unknown", `verify needs --verify ${USUAL_VERIFY}`);
  if (unknown !== "verify" && verify !== undefined) refuse("--verify", "belongs to --unknown verify");
  return {
    ...(hono === true ? { origin: null } : {}),
    ...(origin === undefined ? {} : { origin }),
    ...(routes === undefined ? {} : { routes }),
    ...(name === undefined ? {} : { name }),
    ...(caller === null ? {} : { caller }),
    ...(unknown === undefined ? {} : { unknown, verify: verify ?? null }),
    ...(near === undefined ? {} : { near }),
    ...(label === undefined ? {} : { label }),
  };
}

function callerOf({ caller: given, issuer, audience }: PlanOptions): CallerIdentity | null {
  if (given !== "token" && (issuer ?? audience) !== undefined)
    refuse("--issuer", "and --audience belong to --caller token");
  if (given === undefined) return null;
  if (given === "nobody") return { kind: "nobody" };
  if (given === "token") {
    if (issuer === undefined || audience === undefined)
      return refuse("--caller", "token needs --issuer and --audience");
    refuse("--issuer", issuerProblem(issuer));
    return { kind: "token", issuer, audience };
  }
  const part = parseScopeEntry(given);
  if (part.ok && (part.value?.kind === "header" || part.value?.kind === "cookie")) return part.value;
  return refuse("--caller", "must be header:NAME, token, cookie:NAME or nobody");
}

/** Throws a Failure if the API or the paths are missing. */
export function withDefaults(given: Partial<PlanAnswers>, usualName: string): PlanAnswers {
  const { origin, routes } = given;
  if (origin === undefined || routes === undefined) {
    const missing = [
      origin === undefined ? "--origin https://api.example.com" : "",
      routes === undefined ? "--route '/v1/payments/*'" : "",
    ];
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `Missing options, and no terminal to ask on: write ${missing.filter((part) => part !== "").join(" ")}`,
    );
  }
  return { ...USUAL, name: usualName, ...given, origin, routes };
}

function refuse(option: string, reason: string): never;
function refuse(option: string, reason: string | undefined): void;
function refuse(option: string, reason: string | undefined): void {
  if (reason !== undefined) throw new CommandFailure(EXIT_UNUSABLE, `${option} ${reason}`);
}

/** What is wrong and what to write instead; undefined if the value is valid. */
export function originProblem(value: string): string | undefined {
  const parsed = parseOrigin(value);
  // A binding is no answer here.
  return parsed.ok ? undefined : parsed.message.replace(/(?:,| or) (?:or )?\{.*$/, "");
}

export function pathsProblem(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return "name at least one path: /v1/payments/*";
  for (const path of paths) {
    const parsed = parsePathPattern(path);
    if (!parsed.ok) return `${path} ${parsed.message}`;
  }
  return undefined;
}

export function issuerProblem(value: string): string | undefined {
  return /^https?:\/\/[^\s?#]+$/.test(value)
    ? undefined
    : "must be the URL in the tokens' iss: https://login.example.com";
}

export function verifyProblem(value: string): string | undefined {
  return /^\/[^\s?#]*\{key\}[^\s?#]*$/.test(value) ? undefined : `must be a path with {key}: ${USUAL_VERIFY}`;
}

/** A Worker's name becomes a label of a host name. */
export function nameProblem(value: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(value)
    ? undefined
    : 'must be 1 to 63 lower-case letters, digits and inner hyphens: write "onceway"';
}
