// Finds secrets in the variables of a wrangler.toml: those that the gateway reads, values in the form of a known issuer's secrets, and
// variables with the name of one. No message may ever show a value: problems are printed where others read them.

import type { ConfigProblem } from "../../kernel/config/config-problem.ts";
import { isConfiguration } from "../../kernel/config/read.ts";
import { dottedPath, isTable, type SettingsTable } from "../../kernel/config/table.ts";
import { encryptionSecretNames } from "../../kernel/encryption/encryption-secrets.ts";

/** Forms that nothing but a secret has, as their issuers document them for scanners. */
const FORMS: readonly (readonly [what: string, form: RegExp])[] = [
  ["a private key", /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/],
  ["a key of Stripe", /\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}/],
  ["the secret of a webhook", /\bwhsec_[A-Za-z0-9+/=_-]{16,}/],
  ["a token of GitHub", /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})/],
  ["a token of GitLab", /\bglpat-[A-Za-z0-9_-]{20,}/],
  ["a token of Slack", /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ["a key of AWS", /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ["a key of Google", /\bAIza[A-Za-z0-9_-]{35}/],
  ["a token of npm", /\bnpm_[A-Za-z0-9]{36}/],
  ["the key of an AI service", /\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}/],
  ["a JSON Web Token", /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/],
  ["a credential", /^(?:Bearer|Basic) +[A-Za-z0-9+/=._~-]{8,}$/i],
];

/** Of a database, or of the origin; also within JSON text. */
const URL_WITH_PASSWORD = /\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@"']*:[^\s/?#@"']+@/i;

const SECRET_NAME =
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PRIVATE_KEY|SECRET_KEY|ACCESS_KEY|API_?KEY|CREDENTIALS?)(?:_\d+)?$/i;

/** Shorter values are names, switches or placeholders. */
const MIN_SECRET_LENGTH = 12;

/** `named`: variables that the configuration names as secrets. Each variable is reported once. */
export function secretProblems(
  prefix: string,
  vars: SettingsTable,
  named: readonly string[],
): readonly ConfigProblem[] {
  const names = new Set(["ADMIN_TOKEN", "READ_TOKEN", ...encryptionSecretNames(vars), ...named]);
  return Object.entries(vars).flatMap(([name, value]) => {
    if (names.has(name)) return [secretProblem(prefix, name, "is a secret")];
    return textsIn(value, name).flatMap(({ path, text }) => {
      if (URL_WITH_PASSWORD.test(text)) return [secretProblem(prefix, path, "contains a password")];
      const what = formOf(text);
      return what === null ? [] : [secretProblem(prefix, path, `${path === name ? "is" : "contains"} ${what}`)];
    });
  });
}

/** Values of which only the name says that they may be secrets. */
export function secretWarnings(
  prefix: string,
  vars: SettingsTable,
  problems: readonly ConfigProblem[],
): readonly ConfigProblem[] {
  return Object.entries(vars)
    .filter(([name, value]) => SECRET_NAME.test(name) && typeof value === "string" && mayBeSecret(value))
    .filter(([name]) => !problems.some(({ path }) => path === prefix + name))
    .map(([name]) => secretProblem(prefix, name, "has the name of a secret", "make a new one if it is a secret"));
}

function secretProblem(
  prefix: string,
  path: string,
  what: string,
  advice = "make a new one, revoke this one",
): ConfigProblem {
  const [name = path] = path.split(/[.[]/);
  const environment = /^env\.(.*)\.$/.exec(prefix)?.[1];
  const option = environment === undefined ? "" : ` --env ${environment}`;
  const remove =
    path === name && !isConfiguration(name)
      ? `leave it out here, and run npx wrangler secret put ${name}${option}`
      : "and leave it out here";
  return {
    path: prefix + path,
    code: "secret-in-file",
    message: `${what}, and whoever has this file or an older version of it can read it: ${advice}, ${remove}`,
  };
}

/** Where the value of a secret begins in a line of TOML or JSON, from 0; null if nothing in it looks like one. */
export function secretStart(line: string): number | null {
  const names = [...line.matchAll(/(?<![\w-])(["']?)(\w+)\1\s*[=:]\s*/g)];
  // Settings in lower case hold the names of secrets.
  const named = names.find(([, , name = ""]) => name === name.toUpperCase() && SECRET_NAME.test(name));
  if (named !== undefined) return named.index + named[0].length;
  if (formOf(line) === null && !URL_WITH_PASSWORD.test(line)) return null;
  const [first] = names;
  return first === undefined ? 0 : first.index + first[0].length;
}

/** Whose secret a text contains; null if it has no known form. */
export function formOf(text: string): string | null {
  return FORMS.find(([, form]) => form.test(text))?.[0] ?? null;
}

function mayBeSecret(value: string): boolean {
  return value.length >= MIN_SECRET_LENGTH && !/\s|^https?:\/\//.test(value);
}

interface PlacedText {
  readonly path: string;
  readonly text: string;
}

function textsIn(value: unknown, path: string): readonly PlacedText[] {
  if (typeof value === "string") return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((one, index) => textsIn(one, path + dottedPath([index])));
  return isTable(value) ? Object.entries(value).flatMap(([key, one]) => textsIn(one, path + dottedPath([key]))) : [];
}
