// Reads who operates the gateway, and where: every variable whose name starts with `OPERATORS`, the variables `OPERATOR_API` and `ACCESS`, and the tokens, which are
// secrets (`wrangler secret put ADMIN_TOKEN`). No message may ever show one.

import * as v from "valibot";

import type { HasBinding } from "./in-force.ts";
import type { AccessRules, NamedOperator, OperatorTokens } from "./operators.ts";
import { dottedPath, isTable, pickMembers, problemOfIssue, readJsonVariable, unknownMembers } from "./table.ts";
import { readTables, variablesOf } from "./read-tables.ts";
import type { ConfigProblem } from "./resolved.ts";
import type { SettingEntries } from "./setting-kinds.ts";
import { accessSchema, operatorApiSchema, operatorSchema } from "./settings-operator.ts";

const ADVICE = 'write [[vars.OPERATORS]] with name = "ann", role = "admin" and token = "ANN_TOKEN"';

const OPERATORS = {
  variable: "OPERATORS",
  plural: "operators",
  advice: ADVICE,
  schema: operatorSchema,
  inherits: [],
  missing: {
    name: 'is missing: write name = "ann"',
    role: 'is missing: write role = "admin", or "reader" for one who may only look',
    token: 'is missing: write token = "ANN_TOKEN", the name of a secret',
  },
  nothingFor: "for operators",
  named: { member: "name", what: "operator", of: ({ name }: v.InferOutput<typeof operatorSchema>) => name },
};

/** The secrets of operators without a name. */
export const UNNAMED = ["ADMIN_TOKEN", "READ_TOKEN"] as const;

interface NamedReading {
  readonly named: readonly NamedOperator[];
  readonly problems: readonly ConfigProblem[];
}

/** Names of the variables that hold operators, in the order in which they are read. */
export function operatorVariables(env: Readonly<Record<string, unknown>>): readonly string[] {
  return variablesOf(env, OPERATORS.variable);
}

function readOperators(
  env: Readonly<Record<string, unknown>>,
  hasBinding: HasBinding,
  routeSettings: SettingEntries,
): NamedReading {
  const { tables, problems } = readTables(env, OPERATORS, routeSettings);
  const users = new Map<string, string>();
  const named = tables.map(({ name: place, written: { name, role, token: secrets } }) => ({
    place,
    name,
    role,
    secrets,
  }));
  const wrong = named.flatMap(({ place, secrets }) =>
    secrets.flatMap((secret): readonly ConfigProblem[] => {
      const path = `${place}.token`;
      const user = users.get(secret);
      users.set(secret, path);
      if (UNNAMED.some((one) => one === secret)) {
        return [
          { path, message: `is ${secret}, whose holder is called otherwise: write a secret of this operator's own` },
        ];
      }
      if (user !== undefined) {
        return [{ path, message: `is ${secret}, which ${user} has already: write a secret of its own` }];
      }
      if (hasBinding(secret, "secret")) return [];
      return [{ path, message: `there is no secret ${secret}: write it with npx wrangler secret put ${secret}` }];
    }),
  );
  return { named, problems: [...problems, ...wrong] };
}

interface AccessReading {
  /** `null`: there is none, or it has problems. */
  readonly access: AccessRules | null;
  readonly problems: readonly ConfigProblem[];
}

const ACCESS_ADVICE =
  'write [vars.ACCESS] with team = "https://acme.cloudflareaccess.com", audience = "…" and admins = ["ann@example.com"]';

const ACCESS_NEEDS = {
  team: 'is missing: write team = "https://acme.cloudflareaccess.com"',
  audience: 'is missing: write audience = "…", the AUD tag of the Access application',
};

interface OperatorApiReading {
  readonly written: v.InferOutput<typeof operatorApiSchema>;
  readonly problems: readonly ConfigProblem[];
}

/** Where operators find the gateway's own API, and what the console calls the deployment. */
function readOperatorApi(env: Readonly<Record<string, unknown>>): OperatorApiReading {
  const variable = env["OPERATOR_API"];
  if (variable === undefined) return { written: {}, problems: [] };
  const read = readJsonVariable(variable);
  const table = read.ok ? read.value : null;
  if (!isTable(table)) {
    const message = read.ok
      ? 'must be a table: write [vars.OPERATOR_API] with hostname = "ops.example.com"'
      : read.message;
    return { written: {}, problems: [{ path: "OPERATOR_API", message }] };
  }
  const known = Object.keys(operatorApiSchema.entries);
  const unknown = unknownMembers(table, "OPERATOR_API", known);
  const parsed = v.safeParse(
    operatorApiSchema,
    pickMembers(table, (name) => known.includes(name)),
  );
  if (parsed.success) return { written: parsed.output, problems: unknown };
  const wrong = parsed.issues.map((issue) => problemOfIssue(`OPERATOR_API.${v.getDotPath(issue) ?? ""}`, issue));
  return { written: {}, problems: [...unknown, ...wrong] };
}

function readAccess(env: Readonly<Record<string, unknown>>): AccessReading {
  const variable = env["ACCESS"];
  if (variable === undefined) return { access: null, problems: [] };
  const read = readJsonVariable(variable);
  if (!read.ok) return refused({ path: "ACCESS", message: read.message });
  const table = read.value;
  if (!isTable(table)) return refused({ path: "ACCESS", message: `must be a table: ${ACCESS_ADVICE}` });
  const known = Object.keys(accessSchema.entries);
  const problems = [
    ...unknownMembers(table, "ACCESS", known),
    ...Object.entries(ACCESS_NEEDS).flatMap(([name, message]) =>
      table[name] === undefined ? [{ path: `ACCESS.${name}`, message }] : [],
    ),
  ];
  const parsed = v.safeParse(
    accessSchema,
    Object.fromEntries(Object.entries(table).filter(([name]) => known.includes(name))),
  );
  if (!parsed.success) {
    const wrong = parsed.issues.map(({ path, message }) => ({
      path: `ACCESS${dottedPath(path?.map(({ key }) => key) ?? [])}`,
      message,
    }));
    return refused(...problems, ...wrong);
  }
  const { team, audience, admins = [], readers = [] } = parsed.output;
  if (problems.length > 0 || team === undefined || audience === undefined) return refused(...problems);
  if (admins.length + readers.length === 0) {
    return refused({
      path: "ACCESS.admins",
      message: 'lets nobody in: write admins = ["ann@example.com"], or readers',
    });
  }
  return { access: { issuer: issuerOf(team, audience), admins, readers }, problems };
}

function refused(...problems: readonly ConfigProblem[]): AccessReading {
  return { access: null, problems };
}

/**
 * What assertions of Access must be: https://developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/
 */
function issuerOf(team: string, audience: string): AccessRules["issuer"] {
  return {
    issuer: team,
    audience: [audience],
    claim: ["email"],
    jwks: `${team}/cdn-cgi/access/certs`,
    algorithms: ["RS256"],
    clockToleranceMs: 30_000,
  };
}

/** A random token of this length cannot be guessed. */
const MIN_LENGTH = 32;

/** The characters that a header's value can have, except spaces. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export const MAKE_TOKEN = "write the output of `openssl rand -hex 32`";

/** What is wrong with a token; nothing if there is none. */
export function tokenProblems(path: string, value: unknown): readonly ConfigProblem[] {
  if (value === undefined) return [];
  if (typeof value === "string" && value.length >= MIN_LENGTH && VISIBLE_ASCII.test(value)) return [];
  return [{ path, message: `must be at least ${MIN_LENGTH} visible ASCII characters without spaces: ${MAKE_TOKEN}` }];
}

interface TokensReading {
  readonly tokens: readonly OperatorTokens[];
  readonly problems: readonly ConfigProblem[];
}

/** `hasAccess`: whether there are operators without a token. */
function readOperatorTokens(
  env: Readonly<Record<string, unknown>>,
  named: readonly NamedOperator[],
  hasAccess: boolean,
): TokensReading {
  const everybody = [
    { name: "admin", role: "admin" as const, secrets: ["ADMIN_TOKEN"] },
    { name: "reader", role: "reader" as const, secrets: ["READ_TOKEN"] },
    ...named,
  ];
  const problems: ConfigProblem[] = [];
  const holders = new Map<string, string>();
  const tokens = everybody.flatMap(({ name, role, secrets }): readonly OperatorTokens[] => {
    const values = secrets.flatMap((secret) => {
      const value = env[secret];
      const faults = tokenProblems(secret, value);
      problems.push(...faults);
      if (typeof value !== "string" || faults.length > 0) return [];
      // One secret in two places is a problem of those places.
      if ((holders.get(value) ?? secret) !== secret) {
        problems.push({ path: secret, message: `must differ from every other operator's token: ${MAKE_TOKEN}` });
      }
      holders.set(value, secret);
      return [value];
    });
    const [first, ...others] = values;
    return first === undefined ? [] : [{ name, role, values: [first, ...others] }];
  });
  const [, read] = UNNAMED;
  if (env[read] !== undefined && env["ADMIN_TOKEN"] === undefined && named.length === 0 && !hasAccess) {
    const message = "has no effect without ADMIN_TOKEN: set that too, or leave READ_TOKEN out";
    problems.push({ path: read, message });
  }
  return { tokens, problems };
}

/** Who operates the gateway, and where, as far as it could be read. */
interface OperatingReading {
  readonly named: readonly NamedOperator[];
  readonly access: AccessRules | null;
  readonly tokens: readonly OperatorTokens[];
  readonly api: OperatorApiReading["written"];
  readonly problems: readonly ConfigProblem[];
}

export function readOperating(
  env: Readonly<Record<string, unknown>>,
  hasBinding: HasBinding,
  routeSettings: SettingEntries,
): OperatingReading {
  const api = readOperatorApi(env);
  const operators = readOperators(env, hasBinding, routeSettings);
  const people = readAccess(env);
  const { named } = operators;
  const { access } = people;
  const secrets = readOperatorTokens(env, named, access !== null);
  const problems = [api, operators, people, secrets].flatMap((one) => one.problems);
  return { named, access, tokens: secrets.tokens, api: api.written, problems };
}
