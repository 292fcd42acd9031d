// The schema of `[vars.IDEMPOTENCY]`: the settings that routes may override, and those that concern the gateway as a whole.

import * as v from "valibot";

import { settingsEntries } from "./schema.ts";
import { parsed } from "./schema-members.ts";
import type { Parsed } from "./units.ts";

export const DEFAULT_OPERATOR_PATH = "/_onceway";

const OPERATOR_PATH_PATTERN = "^(?:/[A-Za-z0-9_.~-]+)+$";

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
