// Settings that say where requests go, and in which Durable Objects their records live.

import * as v from "valibot";

import { choice, parsed, setting } from "./setting-kinds.ts";
import { BINDING_PATTERN, ORIGIN_TYPE_MESSAGE, parseOrigin } from "./values.ts";
import { JURISDICTIONS, LOCATION_HINTS } from "./words.ts";

/** At 300 ms per call, more than a million first requests per second. */
const MAX_SHARDS = 65_536;

const SHARDS_MESSAGE = `must be a whole number from 1 to ${MAX_SHARDS}, or "per-key": write 64`;

export const originSettings = {
  origin: setting(
    v.pipe(
      v.union(
        [
          v.pipe(
            v.string(),
            v.metadata({ pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^?#]+$", examples: ["https://api.example.com"] }),
          ),
          v.strictObject({
            binding: v.pipe(
              v.string(),
              v.metadata({
                pattern: BINDING_PATTERN,
                description: "A service, mTLS certificate or VPC service binding of this Worker.",
              }),
            ),
          }),
        ],
        ORIGIN_TYPE_MESSAGE,
      ),
      parsed(parseOrigin),
    ),
    {
      description:
        "The API behind the gateway: a URL, whose path prefix is kept, or a service, mTLS certificate or VPC service " +
        "binding of this Worker.",
      takes: '`"https://api.example.com"` or `{ binding = "API" }`',
      otherwise: "the zone's own origin",
      onChange: "leaves records with the answers that they have",
    },
  ),
  shards: setting(
    v.pipe(
      v.union(
        [v.pipe(v.number(), v.metadata({ type: "integer", minimum: 1, maximum: MAX_SHARDS })), v.literal("per-key")],
        SHARDS_MESSAGE,
      ),
      v.check(
        (value) => value === "per-key" || (Number.isInteger(value) && value >= 1 && value <= MAX_SHARDS),
        SHARDS_MESSAGE,
      ),
    ),
    {
      description: 'How many Durable Objects share the keys, or `"per-key"` for one object for each key.',
      takes: `a whole number, 1 to ${MAX_SHARDS}, or \`"per-key"\``,
      default: 64,
      onChange:
        "**names other objects: older keys are not found, so their retries run again**; change it when no retry is due",
    },
  ),
  location_hint: setting(choice(LOCATION_HINTS), {
    description: "Where new objects are created: near the origin. Only an object's first use counts.",
    otherwise: "near the first request",
    onChange: "applies to objects that do not exist yet",
  }),
  jurisdiction: setting(choice(JURISDICTIONS), {
    description: "Where objects run and keep their records, guaranteed. On Cloudflare only.",
    otherwise: "anywhere",
    onChange: "**names other objects: older keys are not found**, as with `shards`",
  }),
};
