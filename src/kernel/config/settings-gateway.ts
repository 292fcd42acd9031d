// Settings for the whole gateway: they are allowed only in `[vars.IDEMPOTENCY]`, and no route overrides them.

import * as v from "valibot";

import { choiceSetting, defaultsOf, parsedSetting, settingOf, yesOrNo } from "./setting-kinds.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";
import { OPERATOR_LISTENERS } from "./words.ts";

const OWN_PATH_PATTERN = "^(?:/[A-Za-z0-9_.~-]+)+$";

/** A request's `Host`, without a port. */
const HOSTNAME_PATTERN = "^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*$";

const ENVIRONMENT_PATTERN = "^[A-Za-z0-9](?:[A-Za-z0-9 _.-]{0,28}[A-Za-z0-9])?$";

export const gatewayEntries = {
  trust_forwarded: settingOf(yesOrNo(), {
    description:
      "Whether `X-Forwarded-Host`, `X-Forwarded-Proto` and `Forwarded` come from a proxy in front of the gateway, and " +
      "reach the origin as they came. If not, the gateway sets them itself.",
    default: false,
    onChange:
      "**names other records** where the scope has the host and a proxy names another than the URL: to `true`, append the old `scope` with " +
      '`"host"` to `previous_scope`; to `false`, older keys are not found. The next attempt of a key that has failed has the new headers',
  }),
  operator_path: settingOf(
    v.pipe(
      v.string('must be text: write "/_onceway"'),
      v.metadata({ pattern: OWN_PATH_PATTERN, examples: ["/_onceway", "/internal/idempotency"] }),
      parsedSetting(ownPath("/_onceway")),
    ),
    {
      description:
        "The path of the operator API and the console. Without operators (the secret `ADMIN_TOKEN`, `OPERATORS` or `ACCESS`), nothing is there (404).",
      takes: "a path of plain segments",
      default: "/_onceway",
      onChange: "applies at once",
    },
  ),
  consumer_path: settingOf(
    v.pipe(
      v.string('must be text: write "/_claims"'),
      v.metadata({ pattern: OWN_PATH_PATTERN, examples: ["/_claims", "/internal/claims"] }),
      parsedSetting(ownPath("/_claims")),
    ),
    {
      description: "The path of the claims API. Without a group in `CONSUMERS` it is a path as any other.",
      takes: "a path of plain segments",
      default: "/_claims",
      onChange: "applies at once",
    },
  ),
  operator_hostname: settingOf(
    v.pipe(
      v.string('must be text: write "ops.example.com"'),
      v.metadata({ pattern: HOSTNAME_PATTERN, examples: ["ops.example.com"] }),
      v.check(
        (text) => new RegExp(HOSTNAME_PATTERN).test(text),
        'must be a host name alone, in lower case: write "ops.example.com"',
      ),
    ),
    {
      description: "The only host that serves the operator path. That host serves nothing else.",
      takes: '`"ops.example.com"`, for example',
      otherwise: "every host",
      onChange: "applies at once",
    },
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
    {
      description:
        "What the console calls this deployment, on every page and beside the host, so that nobody decides in production what was meant for staging.",
      takes: "a name of at most 30 letters, digits, blanks, `_`, `.` and `-`",
      otherwise: "the host alone",
      onChange: "applies at once",
    },
  ),
  operator_listener: settingOf(choiceSetting(OPERATOR_LISTENERS), {
    description:
      'The port of the operator path: `"shared"` is the clients\' port, `"own"` is a port for operators only ' +
      "(`npm run serve -- --operator-port`).",
    default: "shared",
    onChange: "applies at once",
  }),
};

export const gatewaySchema = v.strictObject(gatewayEntries);

/** What of the gateway's settings was written, parsed. */
export type GatewaySettings = v.InferOutput<typeof gatewaySchema>;

/** What applies to a setting that is left out. Two have no default: every host serves the operator path, and the deployment has no name. */
export const GATEWAY_DEFAULTS = v.parse(
  v.required(v.omit(gatewaySchema, ["operator_hostname", "environment"])),
  defaultsOf(gatewayEntries),
);

/** A path that the gateway itself serves. `example`: what to write. */
function ownPath(example: string): (text: string) => ParsedSetting<string> {
  const write = `write "${example}"`;
  return (text) => {
    if (!new RegExp(OWN_PATH_PATTERN).test(text)) {
      return refuseValue(`must be plain segments of letters, digits, "_", ".", "~" or "-", each after a "/": ${write}`);
    }
    const segments = text.slice(1).split("/");
    if (segments.some((segment) => segment === "." || segment === "..")) {
      return refuseValue(`must have no dot segments: ${write}`);
    }
    // RFC 8615; the published policy is there.
    if (segments[0] === ".well-known") return refuseValue(`must not begin with "/.well-known": ${write}`);
    return { ok: true, value: text };
  };
}
