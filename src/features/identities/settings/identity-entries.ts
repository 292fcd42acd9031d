// The members of `[vars.IDENTITIES.NAME]`, each declared once: schema, default and documentation. `read-identities.ts` reads them.

import * as v from "valibot";

import { ANONYMOUS_RULES, type CredentialPart } from "../../../kernel/config/identity.ts";
import { JWT_ALGORITHMS, type JwtAlgorithm } from "../../../kernel/config/trusted-issuer.ts";
import { parseScopeEntry } from "../../../kernel/config/scope-part.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  parsedSetting,
  repeatedEntry,
  settingOf,
  type TextsOf,
} from "../../../kernel/config/setting-kinds.ts";
import { RENAMES, signatureSchema } from "./signature-entries.ts";
import { HOUR_MS, MINUTE_MS, type ParsedSetting, refuseValue, SECOND_MS } from "../../../kernel/config/units.ts";
import { firstRepeated, isPointer, pointerTokens, isLoopback } from "../../../kernel/config/values.ts";

const CLAIM_ADVICE = 'write claim = "sub", or a JSON pointer such as "/account/id"';
const ALGORITHMS_ADVICE = 'write algorithms = ["RS256", "ES256"]';

/** Members of `jwt`. */
export const jwtEntries = {
  issuer: settingOf(
    v.pipe(
      v.string('must be text: write issuer = "https://login.example.com"'),
      v.metadata({ examples: ["https://login.example.com"] }),
      parsedSetting(parseIssuer),
    ),
  ),
  audience: settingOf(
    v.pipe(
      v.union([v.string(), v.array(v.string())], 'must be text or a list: write audience = "https://api.example.com"'),
      parsedSetting(parseAudience),
    ),
  ),
  claim: settingOf(
    v.pipe(
      v.string(`must be text: ${CLAIM_ADVICE}`),
      v.metadata({ examples: ["sub", "/account/id"] }),
      parsedSetting(parseClaim),
    ),
    "sub",
  ),
  jwks: settingOf(
    v.pipe(
      v.string('must be text: write jwks = "https://login.example.com/.well-known/jwks.json"'),
      v.metadata({ examples: ["https://login.example.com/.well-known/jwks.json"] }),
      parsedSetting(parseJwks),
    ),
  ),
  algorithms: settingOf(
    v.pipe(
      v.array(v.pipe(v.string(), parsedSetting(parseAlgorithm)), `must be a list: ${ALGORITHMS_ADVICE}`),
      v.metadata({ minItems: 1, takes: "a list of algorithms with a public key" }),
      v.minLength(1, `must name at least one algorithm: ${ALGORITHMS_ADVICE}`),
      v.check((list) => firstRepeated(list) === null, repeatedEntry),
    ),
    [...JWT_ALGORITHMS],
  ),
  clock_tolerance: settingOf(durationSetting(5 * MINUTE_MS), "30s"),
};

export const jwtTexts: TextsOf<typeof jwtEntries> = {
  issuer: {
    description: "The `iss` of the tokens, exactly. It is part of the caller's name.",
    takes: "text without spaces",
    otherwise: "none: every issuer needs one",
    onChange: RENAMES,
  },
  audience: {
    description: "The tokens' `aud` must name this, or one of these. Tokens for other APIs are refused.",
    takes: "text, or a list of texts",
    otherwise: "none: every issuer needs one",
    onChange: "applies at once",
  },
  claim: {
    description: "The claim that says who the caller is. It must be text.",
    takes: "the name of a claim, or a JSON pointer",
    onChange: RENAMES,
  },
  jwks: {
    description: "Where the issuer publishes its public keys (RFC 7517).",
    takes: "an https URL, or http on the same machine",
    otherwise: "none: every issuer needs one",
    onChange: "applies at once",
  },
  algorithms: {
    description: "The signatures that count. Symmetric ones (`HS256`) and `none` never do.",
    onChange: "applies at once",
  },
  clock_tolerance: {
    description: "How far the issuer's clock may be from this one when `exp` and `nbf` are compared.",
    onChange: "applies at once",
  },
};

/** Members of `ask`. */
export const askEntries = {
  path: settingOf(v.pipe(v.string('must be text: write path = "/v1/me"'), parsedSetting(parseAskPath))),
  pointer: settingOf(v.pipe(v.string('must be text: write pointer = "/account/id"'), parsedSetting(parsePointer))),
  cache: settingOf(durationSetting(HOUR_MS), "1m"),
  timeout: settingOf(durationSetting(30 * SECOND_MS), "5s"),
};

export const askTexts: TextsOf<typeof askEntries> = {
  path: {
    description: "What is asked, with GET, at the route's origin.",
    takes: "a path, which may have a query",
    otherwise: "none: every question needs one",
    onChange: RENAMES,
  },
  pointer: {
    description: "Where the answer's JSON says who the caller is: text, or a whole number.",
    takes: "a JSON pointer",
    otherwise: "none: every question needs one",
    onChange: RENAMES,
  },
  cache: {
    description:
      "How long an answer is remembered, in memory only. For as long, a credential that the origin has revoked still gets replays.",
    onChange: "applies at once",
  },
  timeout: {
    description: "How long the whole answer may take. After that, the request gets `identity-unavailable`.",
    onChange: "applies at once",
  },
};

const jwtSchema = v.strictObject(jwtEntries);
const askSchema = v.strictObject(askEntries);

const CREDENTIAL_MESSAGE = 'must be a list: write credential = ["header:authorization"]';

/** Members of one `[vars.IDENTITIES.NAME]`. */
export const identityEntries = {
  jwt: settingOf(v.union([jwtSchema, v.array(jwtSchema)])),
  ask: settingOf(askSchema),
  signature: settingOf(signatureSchema),
  credential: settingOf(
    v.pipe(
      v.array(v.pipe(v.string(CREDENTIAL_MESSAGE), parsedSetting(parseCredential)), CREDENTIAL_MESSAGE),
      v.metadata({ minItems: 1 }),
      v.minLength(1, CREDENTIAL_MESSAGE),
      v.check((parts) => firstRepeated(parts.map(textOf)) === null, "lists a part twice: write it once"),
    ),
    ["header:authorization"],
  ),
  anonymous: settingOf(choiceSetting(ANONYMOUS_RULES), "refuse"),
};

export const identityTexts: TextsOf<typeof identityEntries> = {
  jwt: {
    description: "Tokens that the gateway verifies itself: JWTs (RFC 7519), signed by an issuer.",
    takes: "a table of the members below, or a list of such tables, one for each issuer",
    otherwise: "one of `jwt`, `ask` and `signature`",
    onChange: "as its members say",
  },
  ask: {
    description: "Opaque credentials: the origin is asked whose they are.",
    takes: "a table of the members below",
    otherwise: "one of `jwt`, `ask` and `signature`",
    onChange: "as its members say",
  },
  signature: {
    description:
      "Requests that callers sign (RFC 9421), as UCP and Web Bot Auth do. The caller is the URL of the document whose key has signed.",
    takes: "a table of the members below",
    otherwise: "one of `jwt`, `ask` and `signature`",
    onChange: "as its members say",
  },
  credential: {
    description:
      "Where the credential is. `header:authorization` holds a JWT as `Bearer TOKEN`; any other header, and a cookie, is the " +
      "token itself. For `ask`: all that the origin's answer depends on, because it is asked with these headers and cookies only. " +
      "Not with `signature`, whose headers have fixed names.",
    takes: 'a list of `"header:NAME"`, `"cookie:NAME"`; for `jwt` of one',
    onChange: "applies at once",
  },
  anonymous: {
    description:
      'What happens without the credential: `"refuse"` answers 401. With `"allow"`, all such callers share one scope.',
    onChange: "applies at once",
  },
};

export const identitySchema = v.strictObject(identityEntries);

/** What applies to members that are left out; the others are needed. */
export const JWT_DEFAULTS = v.parse(
  v.required(v.pick(jwtSchema, ["claim", "algorithms", "clock_tolerance"])),
  defaultsOf(jwtEntries),
);
export const ASK_DEFAULTS = v.parse(v.required(v.pick(askSchema, ["cache", "timeout"])), defaultsOf(askEntries));
export const IDENTITY_DEFAULTS = v.parse(
  v.required(v.pick(identitySchema, ["credential", "anonymous"])),
  defaultsOf(identityEntries),
);

function textOf({ kind, name }: CredentialPart): string {
  return `${kind}:${name}`;
}

function parseIssuer(value: string): ParsedSetting<string> {
  return /^\S+$/.test(value)
    ? { ok: true, value }
    : refuseValue('must be text without spaces, as the tokens\' iss has it: write "https://login.example.com"');
}

function parseAudience(value: string | string[]): ParsedSetting<readonly string[]> {
  const list = typeof value === "string" ? [value] : value;
  return list.length > 0 && !list.includes("")
    ? { ok: true, value: list }
    : refuseValue('must say for whom tokens are: write audience = "https://api.example.com"');
}

function parseClaim(value: string): ParsedSetting<readonly string[]> {
  if (value.startsWith("/")) return parsePointer(value);
  return value === "" ? refuseValue(`must name a claim: ${CLAIM_ADVICE}`) : { ok: true, value: [value] };
}

/** The whole document is no id. */
function parsePointer(value: string): ParsedSetting<readonly string[]> {
  return isPointer(value)
    ? { ok: true, value: pointerTokens(value) }
    : refuseValue(`"${value}" is not a JSON pointer (RFC 6901): write "/account/id"`);
}

/** The issuer's keys decide who a caller is, so nobody on the way may change them. */
function parseJwks(value: string): ParsedSetting<string> {
  const advice = 'write jwks = "https://login.example.com/.well-known/jwks.json"';
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return refuseValue(`must be an absolute URL: ${advice}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return refuseValue(
      `must be https, because whoever could change the keys on the way could be any caller: ${advice}`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return refuseValue(`must carry neither credentials nor a fragment: ${advice}`);
  }
  return { ok: true, value: url.href };
}

function parseAlgorithm(value: string): ParsedSetting<JwtAlgorithm> {
  const known = JWT_ALGORITHMS.find((one) => one === value);
  if (known !== undefined) return { ok: true, value: known };
  if (/^(?:none|hs\d+)$/i.test(value)) {
    return refuseValue(`"${value}" has no public key, so it proves nothing here: ${ALGORITHMS_ADVICE}`);
  }
  return refuseValue(`"${value}" is not one of ${JWT_ALGORITHMS.join(", ")}: ${ALGORITHMS_ADVICE}`);
}

function parseAskPath(value: string): ParsedSetting<string> {
  const advice = 'write path = "/v1/me"';
  if (!/^\/(?!\/)\S*$/.test(value)) return refuseValue(`must be a path at the origin: ${advice}`);
  return value.includes("#") ? refuseValue(`must not carry a fragment: ${advice}`) : { ok: true, value };
}

function parseCredential(value: string): ParsedSetting<CredentialPart> {
  const entry = parseScopeEntry(value);
  if (!entry.ok) return entry;
  const { value: part } = entry;
  return part?.kind === "header" || part?.kind === "cookie"
    ? { ok: true, value: part }
    : refuseValue(`"${value}" holds no credential: write "header:NAME" or "cookie:NAME"`);
}
