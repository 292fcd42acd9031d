// Reads the variable `IDENTITIES`: a table with a table for each identity. Reports every problem with its path, and knows the names of
// identities that have problems, so that a scope that uses one is not blamed too.

import * as v from "valibot";

import type { CredentialPart, Identity, IdentityProof } from "../../../kernel/config/identity.ts";
import type { TrustedIssuer } from "../../../kernel/config/trusted-issuer.ts";
import { dottedPath, isTable, type SettingsTable, unknownMembers } from "../../../kernel/config/table.ts";
import type { ConfigProblem } from "../../../kernel/config/resolved.ts";
import {
  ASK_DEFAULTS,
  askEntries,
  IDENTITY_DEFAULTS,
  identityEntries,
  JWT_DEFAULTS,
  jwtEntries,
} from "./identity-entries.ts";
import { SIGNATURE_DEFAULTS, signatureEntries } from "./signature-entries.ts";
import type { ParsedSetting } from "../../../kernel/config/units.ts";
import { firstRepeated } from "../../../kernel/config/values.ts";

interface IdentitiesReading {
  readonly identities: readonly Identity[];
  /** Also those that have problems. */
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

const ADVICE = 'write [vars.IDENTITIES.user] with jwt = { issuer = "…", audience = "…", jwks = "https://…" }';

/** As a scope and a path of the configuration can show it. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function readIdentities(variable: ParsedSetting<unknown>): IdentitiesReading {
  if (!variable.ok) return refuseAll(variable.message);
  if (!isTable(variable.value)) return refuseAll(`must be a table of identities: ${ADVICE}`);
  const names = Object.keys(variable.value);
  const problems: ConfigProblem[] = [];
  const identities: Identity[] = [];
  for (const [name, value] of Object.entries(variable.value)) {
    const read = readIdentity(name, value);
    problems.push(...read.problems);
    if (read.value !== null) identities.push(read.value);
  }
  return { identities, names, problems };
}

function refuseAll(message: string): IdentitiesReading {
  return { identities: [], names: [], problems: [{ path: "IDENTITIES", message }] };
}

interface Read<T> {
  /** Null: there are problems. */
  readonly value: T | null;
  readonly problems: readonly ConfigProblem[];
}

function readIdentity(name: string, value: unknown): Read<Identity> {
  const path = `IDENTITIES${dottedPath([name])}`;
  if (!NAME.test(name)) {
    return refused(
      path,
      "must be named with 1 to 64 letters, digits, hyphens and underscores: write [vars.IDENTITIES.user]",
    );
  }
  if (!isTable(value)) return refused(path, `must be a table: ${ADVICE}`);
  const { jwt, ask, signature, ...others } = value;
  const entries = v.omit(v.object(identityEntries), ["jwt", "ask", "signature"]).entries;
  const own = readMembers(v.strictObject(entries), others, path);
  const unknown = unknownMembers(value, path, Object.keys(identityEntries));
  const proof = readProof({ jwt, ask, signature }, path);
  const problems = [...unknown, ...own.problems, ...proof.problems];
  if (own.value === null || proof.value === null || problems.length > 0) return { value: null, problems };
  const { credential, anonymous } = { ...IDENTITY_DEFAULTS, ...own.value };
  if (proof.value.kind === "jwt" && credential.length > 1) {
    return refused(
      `${path}.credential`,
      'must have one entry with jwt, where the token is: write ["header:authorization"]',
    );
  }
  if (proof.value.kind === "signature" && own.value.credential !== undefined) {
    return refused(`${path}.credential`, "has no effect with signature, whose headers have fixed names: leave it out");
  }
  const parts = proof.value.kind === "signature" ? SIGNATURE_HEADERS : credential;
  return { value: { name, credential: parts, anonymous, proof: proof.value }, problems };
}

/** RFC 9421, section 4. */
const SIGNATURE_HEADERS: readonly CredentialPart[] = [
  { kind: "header", name: "signature-input" },
  { kind: "header", name: "signature" },
];

interface WrittenProofs {
  readonly jwt: unknown;
  readonly ask: unknown;
  readonly signature: unknown;
}

function readProof(written: WrittenProofs, path: string): Read<IdentityProof> {
  const { jwt, ask, signature } = written;
  const names = Object.entries(written).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length > 1) return refused(path, `has both ${names.join(" and ")}: leave one out, or write two identities`);
  if (jwt !== undefined) return readIssuers(jwt, `${path}.jwt`);
  if (ask !== undefined) return readAsk(ask, `${path}.ask`);
  if (signature !== undefined) return readSignatureRule(signature, `${path}.signature`);
  const ways =
    'write jwt = { issuer = "…", audience = "…", jwks = "https://…" }, ask = { path = "/v1/me", pointer = "/id" } or signature = { trust = ["https://…"] }';
  return refused(path, `says nothing about how callers are known: ${ways}`);
}

function readIssuers(jwt: unknown, path: string): Read<IdentityProof> {
  const list: readonly unknown[] = Array.isArray(jwt) ? jwt : [jwt];
  if (list.length === 0) return refused(path, `must have an issuer: ${ADVICE}`);
  const reads = list.map((one, at) => readIssuer(one, Array.isArray(jwt) ? `${path}[${at}]` : path));
  const issuers = reads.flatMap(({ value }) => (value === null ? [] : [value]));
  const problems = reads.flatMap((one) => one.problems);
  if (problems.length > 0) return { value: null, problems };
  const twice = firstRepeated(issuers.map(({ issuer }) => issuer));
  if (twice !== null) return refused(path, `lists the issuer "${twice}" twice: write it once, with all its audiences`);
  return { value: { kind: "jwt", issuers }, problems };
}

const JWT_NEEDS = {
  issuer: 'write issuer = "https://login.example.com"',
  audience: 'write audience = "https://api.example.com", because a token for another API proves nothing here',
  jwks: 'write jwks = "https://login.example.com/.well-known/jwks.json"',
};

function readIssuer(value: unknown, path: string): Read<TrustedIssuer> {
  if (!isTable(value)) return refused(path, `must be a table, or a list of tables: ${ADVICE}`);
  const { value: own, problems } = readMembers(v.strictObject(jwtEntries), value, path, JWT_NEEDS);
  if (own?.issuer === undefined || own.audience === undefined || own.jwks === undefined)
    return { value: null, problems };
  const { claim, algorithms, clock_tolerance: clockToleranceMs } = { ...JWT_DEFAULTS, ...own };
  const { issuer, audience, jwks } = own;
  return { value: { issuer, audience, claim, jwks, algorithms, clockToleranceMs }, problems };
}

const ASK_NEEDS = { path: 'write path = "/v1/me"', pointer: 'write pointer = "/account/id"' };

function readAsk(value: unknown, path: string): Read<IdentityProof> {
  if (!isTable(value))
    return refused(path, 'must be a table: write ask = { path = "/v1/me", pointer = "/account/id" }');
  const { value: own, problems } = readMembers(v.strictObject(askEntries), value, path, ASK_NEEDS);
  if (own?.path === undefined || own.pointer === undefined) return { value: null, problems };
  const { cache: cacheMs, timeout: timeoutMs } = { ...ASK_DEFAULTS, ...own };
  return { value: { kind: "ask", question: { path: own.path, pointer: own.pointer, cacheMs, timeoutMs } }, problems };
}

const SIGNATURE_NEEDS = {
  trust:
    'write trust = ["https://platform.example/.well-known/ucp"], because anybody can publish keys and sign with them',
};

function readSignatureRule(value: unknown, path: string): Read<IdentityProof> {
  if (!isTable(value)) return refused(path, 'must be a table: write signature = { trust = ["https://…"] }');
  const { value: own, problems } = readMembers(v.strictObject(signatureEntries), value, path, SIGNATURE_NEEDS);
  if (own?.trust === undefined) return { value: null, problems };
  const { agent: agents, freshness } = { ...SIGNATURE_DEFAULTS, ...own };
  return { value: { kind: "signature", rule: { agents, trust: own.trust, freshness } }, problems };
}

/** Reads a table's members. `needs` says what to write for those that must be there. */
function readMembers<const S extends v.StrictObjectSchema<v.ObjectEntries, undefined>>(
  schema: S,
  table: SettingsTable,
  path: string,
  needs: Readonly<Record<string, string>> = {},
): Read<v.InferOutput<S>> {
  const known = Object.keys(schema.entries);
  const problems = Object.keys(needs).length === 0 ? [] : [...unknownMembers(table, path, known)];
  for (const [name, advice] of Object.entries(needs)) {
    if (table[name] === undefined)
      problems.push({ path: `${path}.${name}`, code: "setting-missing", message: `is missing: ${advice}` });
  }
  const written = Object.entries(table).filter(([name, value]) => known.includes(name) && value !== undefined);
  const read = v.safeParse(schema, Object.fromEntries(written));
  if (read.success) return { value: problems.length === 0 ? read.output : null, problems };
  for (const { path: items, message } of read.issues) {
    problems.push({ path: path + dottedPath(items?.map((item) => item.key) ?? []), message });
  }
  return { value: null, problems };
}

function refused(path: string, message: string): Read<never> {
  return { value: null, problems: [{ path, message }] };
}
