// The schema of `[vars.IDEMPOTENCY]`: the settings that routes may override, and those that concern the gateway as a whole.

import * as v from "valibot";

import { settingsEntries } from "./schema.ts";
import { choice, parsed } from "./schema-members.ts";
import type { Parsed } from "./units.ts";

export const DEFAULT_OPERATOR_PATH = "/_onceway";

const OPERATOR_PATH_PATTERN = "^(?:/[A-Za-z0-9_.~-]+)+$";

/** As it stands in a request's `Host`, without a port. */
const HOSTNAME_PATTERN = "^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*$";

/** Settings of the gateway, not of a route. */
export const gatewayEntries = {
  trust_forwarded: v.exactOptional(v.pipe(v.boolean("must be true or false: write true"))),
  operator_path: v.exactOptional(
    v.pipe(
      v.string('must be text: write "/_onceway"'),
      v.metadata({
        pattern: OPERATOR_PATH_PATTERN,
        examples: ["/_onceway", "/internal/idempotency"],
      }),
      parsed(parseOperatorPath),
    ),
  ),
  operator_hostname: v.exactOptional(
    v.pipe(
      v.string('must be text: write "ops.example.com"'),
      v.metadata({ pattern: HOSTNAME_PATTERN, examples: ["ops.example.com"] }),
      v.check(
        (text) => new RegExp(HOSTNAME_PATTERN).test(text),
        'must be a host name alone, in lower case: write "ops.example.com"',
      ),
    ),
  ),
  operator_listener: v.exactOptional(choice(["shared", "own"])),
};

export const gatewaySchema = v.strictObject(gatewayEntries);

/** All of `[vars.IDEMPOTENCY]`. */
export const defaultsSchema = v.strictObject({ ...settingsEntries, ...gatewayEntries });

export type GatewaySettings = v.InferOutput<typeof gatewaySchema>;

function parseOperatorPath(text: string): Parsed<string> {
  if (!new RegExp(OPERATOR_PATH_PATTERN).test(text)) {
    return refuse(
      'must be plain segments of letters, digits, "_", ".", "~" or "-", each after a "/": write "/_onceway"',
    );
  }
  const segments = text.slice(1).split("/");
  if (segments.some((segment) => segment === "." || segment === "..")) {
    return refuse('must have no dot segments: write "/_onceway"');
  }
  // RFC 8615; the published policy stands there.
  if (segments[0] === ".well-known") return refuse('must not begin with "/.well-known": write "/_onceway"');
  return { ok: true, value: text };
}

function refuse(message: string): Parsed<string> {
  return { ok: false, message };
}
