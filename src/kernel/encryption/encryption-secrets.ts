// Reads the secrets with which responses of `encrypt_responses` routes are encrypted (`wrangler secret put ENCRYPTION_SECRET`). Secrets cannot be
// read back, so they are rotated by adding one under a later name. No message may ever show one.

import type { ConfigProblem } from "../config/resolved.ts";

export interface EncryptionSecrets {
  /** The one for new responses first, then those under which older ones still open. */
  readonly values: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

const PREFIX = "ENCRYPTION_SECRET";

/** A random secret of this length cannot be guessed. */
const MIN_LENGTH = 32;

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** A request brings a key for each of them. */
const MAX_SECRETS = 3;

const MAKE = "write the output of `openssl rand -hex 32`";

/** Names of the secrets, in the order of their age: `ENCRYPTION_SECRET`, `ENCRYPTION_SECRET_2`, `ENCRYPTION_SECRET_10`. */
export function encryptionSecretNames(env: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX))
    .toSorted((one, other) => one.localeCompare(other, "en", { numeric: true }));
}

export function readEncryptionSecrets(env: Readonly<Record<string, unknown>>): EncryptionSecrets {
  const names = encryptionSecretNames(env);
  const problems: ConfigProblem[] = [];
  const values: string[] = [];
  for (const name of names) {
    const value = env[name];
    if (typeof value !== "string" || value.length < MIN_LENGTH || !VISIBLE_ASCII.test(value)) {
      const message = `must be at least ${MIN_LENGTH} visible ASCII characters without spaces: ${MAKE}`;
      problems.push({ path: name, message });
    } else if (values.includes(value)) {
      problems.push({
        path: name,
        message: `must differ from the other secrets whose names start with ${PREFIX}: ${MAKE}`,
      });
    } else {
      values.push(value);
    }
  }
  if (names.length > MAX_SECRETS) {
    const message = `is one of ${names.length} secrets whose names start with ${PREFIX}, and at most ${MAX_SECRETS} are used: leave out the first ones, whose responses have expired (npx wrangler secret delete)`;
    problems.push({ path: names[0] ?? PREFIX, message });
  }
  return { values: values.toReversed(), problems };
}

/** The problem of routes that need a secret where there is none. */
export function missingSecret(route: string): ConfigProblem {
  const message = `needs the secret ${PREFIX}, and there is none: ${MAKE} to npx wrangler secret put ${PREFIX}, or into the environment of npm run serve -- --secret ${PREFIX}`;
  return { path: `${route}.encrypt_responses`, message };
}
