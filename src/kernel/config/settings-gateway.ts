// Settings for the whole gateway: they are allowed only in `[vars.IDEMPOTENCY]`, and no route overrides them.

import * as v from "valibot";

import { defaultsOf, parsedSetting, settingOf, type TextsOf, yesOrNo } from "./setting-kinds.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";

export const OWN_PATH_PATTERN = "^(?:/[A-Za-z0-9_.~-]+)+$";

export const gatewayEntries = {
  trust_forwarded: settingOf(yesOrNo(), false),
  consumer_path: settingOf(
    v.pipe(
      v.string('must be text: write "/_claims"'),
      v.metadata({ pattern: OWN_PATH_PATTERN, examples: ["/_claims", "/internal/claims"] }),
      parsedSetting(ownPath("/_claims")),
    ),
    "/_claims",
  ),
};

export const gatewayTexts: TextsOf<typeof gatewayEntries> = {
  trust_forwarded: {
    description:
      "Whether `X-Forwarded-Host`, `X-Forwarded-Proto` and `Forwarded` come from a proxy in front of the gateway, and " +
      "reach the origin as they came. If not, the gateway sets them itself.",
    onChange:
      "**names other records** where the scope has the host and a proxy names another than the URL: to `true`, append the old `scope` with " +
      '`"host"` to `previous_scope`; to `false`, older keys are not found. The next attempt of a key that has failed has the new headers',
  },
  consumer_path: {
    description: "The path of the claims API. Without a group in `CONSUMERS` it is a path as any other.",
    takes: "a path of plain segments",
    onChange: "applies at once",
  },
};

export const gatewaySchema = v.strictObject(gatewayEntries);

/** What of the gateway's settings was written, parsed. */
export type GatewaySettings = v.InferOutput<typeof gatewaySchema>;

/** What applies to a setting that is left out. */
export const GATEWAY_DEFAULTS = v.parse(v.required(gatewaySchema), defaultsOf(gatewayEntries));

/** A path that the gateway itself serves. `example`: what to write. */
export function ownPath(example: string): (text: string) => ParsedSetting<string> {
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
