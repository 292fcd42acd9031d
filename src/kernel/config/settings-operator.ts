// The members of `[vars.OPERATOR_API]`, of each `[[vars.OPERATORS]]` and of `[vars.ACCESS]`, each declared once: schema and documentation. `read-operators.ts`
// reads them.

import * as v from "valibot";

import { ROLES } from "../record/audit.ts";
import { choiceSetting, defaultsOf, parsedSetting, secretNames, settingOf, type TextsOf } from "./setting-kinds.ts";
import { OWN_PATH_PATTERN, ownPath } from "./settings-gateway.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";
import { isLoopback, NAME_PATTERN } from "./values.ts";

/** What records and logs call those who have no name of their own. */
const RESERVED: ReadonlySet<string> = new Set(["admin", "reader", "client", "gateway"]);

const NAME_MESSAGE = 'must be small letters, digits and "-", at most 63: write name = "ann"';
/** The new one, and that before it while it changes. */
const MAX_TOKENS = 2;
const TEAM_ADVICE = 'write team = "https://acme.cloudflareaccess.com"';
const PEOPLE_MESSAGE =
  'must be a list of e-mail addresses: write ["ann@example.com"], or ["*@example.com"] for a whole domain';

/** A request's `Host`, without a port. */
const HOSTNAME_PATTERN = "^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*$";

const ENVIRONMENT_PATTERN = "^[A-Za-z0-9](?:[A-Za-z0-9 _.-]{0,28}[A-Za-z0-9])?$";

/** `[vars.OPERATOR_API]`. */
export const operatorApiEntries = {
  path: settingOf(
    v.pipe(
      v.string('must be text: write "/_onceway"'),
      v.metadata({ pattern: OWN_PATH_PATTERN, examples: ["/_onceway", "/internal/idempotency"] }),
      parsedSetting(ownPath("/_onceway")),
    ),
    "/_onceway",
  ),
  hostname: settingOf(
    v.pipe(
      v.string('must be text: write "ops.example.com"'),
      v.metadata({ pattern: HOSTNAME_PATTERN, examples: ["ops.example.com"] }),
      v.check(
        (text) => new RegExp(HOSTNAME_PATTERN).test(text),
        'must be a host name alone, in lower case: write "ops.example.com"',
      ),
    ),
  ),
  environment: settingOf(
    v.pipe(
      v.string('must be text: write "staging"'),
      v.metadata({ pattern: ENVIRONMENT_PATTERN, examples: ["staging", "production"] }),
      v.check(
        (text) => new RegExp(ENVIRONMENT_PATTERN).test(text),
        'must be a name of at most 30 letters, digits, "_", ".", "-" and blanks: write "staging"',
      ),
    ),
  ),
};

export const operatorApiTexts: TextsOf<typeof operatorApiEntries> = {
  path: {
    description:
      "The path of the operator API and the console. Without operators (the secret `ADMIN_TOKEN`, `OPERATORS` or `ACCESS`), nothing is there (404).",
    takes: "a path of plain segments",
    onChange: "applies at once",
  },
  hostname: {
    description: "The only host that serves the operator path. That host serves nothing else.",
    takes: '`"ops.example.com"`, for example',
    otherwise: "every host",
    onChange: "applies at once",
  },
  environment: {
    description:
      "What the console calls this deployment, on every page and beside the host, so that nobody decides in production what was meant for staging.",
    takes: "a name of at most 30 letters, digits, blanks, `_`, `.` and `-`",
    otherwise: "the host alone",
    onChange: "applies at once",
  },
};

export const operatorApiSchema = v.strictObject(operatorApiEntries);

/** What applies to a setting that is left out. Two have no default: every host serves the operators' path, and the deployment has no name. */
export const OPERATOR_API_DEFAULTS = v.parse(
  v.required(v.omit(operatorApiSchema, ["hostname", "environment"])),
  defaultsOf(operatorApiEntries),
);

/** One `[[vars.OPERATORS]]`. */
export const operatorSchema = v.strictObject({
  name: v.pipe(
    v.string(NAME_MESSAGE),
    v.metadata({
      pattern: NAME_PATTERN,
      examples: ["ann"],
    }),
    v.check((name) => new RegExp(NAME_PATTERN).test(name), NAME_MESSAGE),
    v.check(
      (name) => !RESERVED.has(name),
      `is reserved (${[...RESERVED].join(", ")}): write the operator's own name, such as "ann"`,
    ),
  ),
  role: choiceSetting(ROLES),
  token: secretNames(MAX_TOKENS, 'write token = "ANN_TOKEN"'),
});

export const operatorTexts: TextsOf<typeof operatorSchema.entries> = {
  name: {
    description: "Who it is: the timelines of records, the audit log and the log say it.",
    takes: "small letters, digits and `-`",
    otherwise: "none: every operator needs one",
    onChange: "ends the operator's sessions; what was written keeps the name before",
  },
  role: {
    description: '`"admin"` may read and change, `"reader"` may read.',
    otherwise: "none: every operator needs one",
    onChange: "applies at once, also to sessions",
  },
  token: {
    description: "The secret with the operator's token. While it changes, a list of two: both are the operator's.",
    otherwise: "none: every operator needs one",
    onChange: "ends the sessions that began with a token that is no longer listed",
  },
};

const people = v.pipe(
  v.array(v.pipe(v.string(PEOPLE_MESSAGE), parsedSetting(parsePerson)), PEOPLE_MESSAGE),
  v.metadata({ takes: "a list of addresses; `*@example.com` is everybody of a domain" }),
);

/** `[vars.ACCESS]`. */
export const accessEntries = {
  team: settingOf(
    v.pipe(
      v.string(`must be text: ${TEAM_ADVICE}`),
      v.metadata({ examples: ["https://acme.cloudflareaccess.com"] }),
      parsedSetting(parseTeam),
    ),
  ),
  audience: settingOf(
    v.pipe(
      v.string('must be text: write audience = "32eafc76…", the AUD tag of the Access application'),
      v.nonEmpty('must not be empty: write audience = "32eafc76…", the AUD tag of the Access application'),
    ),
  ),
  admins: settingOf(people, []),
  readers: settingOf(people, []),
};

export const accessTexts: TextsOf<typeof accessEntries> = {
  team: {
    description: "Your team's domain: the issuer of the assertions, and where its keys are (`/cdn-cgi/access/certs`).",
    takes: "an https URL without a path",
    otherwise: "none: it is needed",
    onChange: "applies at once",
  },
  audience: {
    description: "The AUD tag of the Access application. Assertions for other applications are refused.",
    takes: "text",
    otherwise: "none: it is needed",
    onChange: "applies at once",
  },
  admins: {
    description: "Who may read and change.",
    onChange: "applies at once",
  },
  readers: {
    description: "Who may read. Whoever is in both lists may change too.",
    onChange: "applies at once",
  },
};

export const accessSchema = v.strictObject(accessEntries);

/** Whoever could change the keys on the way could be any operator. */
function parseTeam(value: string): ParsedSetting<string> {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return refuseValue(`must be an absolute URL: ${TEAM_ADVICE}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) return refuseValue(`must be https: ${TEAM_ADVICE}`);
  return value === url.origin
    ? { ok: true, value }
    : refuseValue(`must be no more than scheme and host: ${TEAM_ADVICE}`);
}

/** Only ASCII: addresses are compared in lower case, and other alphabets have letters that become ASCII ones. */
function parsePerson(value: string): ParsedSetting<string> {
  return /^(?:\*|[!-)+-?A-~]{1,64})@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/.test(value)
    ? { ok: true, value: value.toLowerCase() }
    : refuseValue(
        `"${value.slice(0, 100)}" is not an address: write "ann@example.com", or "*@example.com" for a whole domain`,
      );
}
