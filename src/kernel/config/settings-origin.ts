// Settings that say where requests go, and in which Durable Objects their records live; an origin in words.

import * as v from "valibot";

import {
  type Layout,
  LETTERED_SHARDS_PATTERN,
  MAX_SHARDS,
  parseShards,
  type ShardsSetting,
  SHARDS_MESSAGE,
} from "./layout.ts";
import type { Origin } from "./resolved.ts";
import { choiceSetting, parsedSetting, settingOf, type TextsOf } from "./setting-kinds.ts";
import { BINDING_PATTERN, ENTRYPOINT_PATTERN, ORIGIN_TYPE_MESSAGE, parseOrigin } from "./values.ts";
import { type Jurisdiction, JURISDICTIONS, type ObjectPlacement, PLACEMENTS } from "./words.ts";

/** One value of `shards`. */
export function shardsSchema() {
  return v.pipe(
    v.union(
      [
        v.pipe(v.number(), v.metadata({ type: "integer", minimum: 1, maximum: MAX_SHARDS })),
        v.literal("per-key"),
        v.pipe(v.string(), v.metadata({ pattern: LETTERED_SHARDS_PATTERN })),
      ],
      SHARDS_MESSAGE,
    ),
    parsedSetting(parseShards),
  );
}

export const originSettings = {
  origin: settingOf(
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
          v.strictObject({
            entrypoint: v.pipe(
              v.string(),
              v.metadata({
                pattern: ENTRYPOINT_PATTERN,
                description: "A class that this Worker exports and that answers for the API.",
              }),
            ),
          }),
        ],
        ORIGIN_TYPE_MESSAGE,
      ),
      parsedSetting(parseOrigin),
    ),
  ),
  shards: settingOf(shardsSchema(), 64),
  location_hint: settingOf(choiceSetting(PLACEMENTS)),
  jurisdiction: settingOf(choiceSetting(JURISDICTIONS)),
};

export const originTexts: TextsOf<typeof originSettings> = {
  origin: {
    description:
      "The API behind the gateway: a URL, whose path prefix is kept, a service, mTLS certificate or VPC service " +
      "binding of this Worker, or a class that this Worker exports.",
    takes: '`"https://api.example.com"`, `{ binding = "API" }` or `{ entrypoint = "Origin" }`',
    otherwise: "the zone's own origin",
    onChange:
      "leaves records with the answers that they have; **the next attempt of a key that has failed goes to the new one, and acts " +
      "again unless that knows what the old one did**. **Between a URL and a binding, a class or the " +
      'zone\'s own, it names other records**: append the old `scope` to `previous_scope`, from a URL with `"any-host"`, to a URL with `"host"`',
  },
  shards: {
    description:
      'How many Durable Objects share the keys, or `"per-key"` for one object for each key. Letters after the number ' +
      '(`"64b"`) give the objects other names: for a way back to a closed number, or for a route with objects of its own.',
    takes: 'a whole number, 1 to 65536, such a number with letters, or `"per-key"`',
    onChange:
      "**names other objects**: append the old value to `previous_shards`, or older keys are not found, and their retries run again",
  },
  location_hint: {
    description:
      'Where new objects are created: near the origin. Only an object\'s first use counts. `"first-use"`: where each is ' +
      'needed first, for an API that runs in several regions. Cloudflare has no objects in `"sam"`, `"afr"` and `"me"`, and ' +
      'creates them in `"enam"`, `"weur"` and `"eeur"`.',
    otherwise: "near the first request",
    onChange: "applies to objects that do not exist yet",
  },
  jurisdiction: {
    description:
      "Where objects run and keep their records, guaranteed. On Cloudflare only. In `[vars.IDEMPOTENCY]` it also says where the " +
      "audit log and the totals lie.",
    otherwise: "anywhere",
    onChange:
      "**names other objects**, as with `shards`: append the old layout to `previous_shards`; in `[vars.IDEMPOTENCY]`, the audit log " +
      "and the counters begin anew",
  },
};

/** Without a setting it is the zone's own. */
export function originOrZone(settings: { readonly origin?: Origin }): Origin {
  return settings.origin ?? { kind: "zone" };
}

/** The settings that say where records lie. */
export interface LayoutSettings {
  readonly shards: ShardsSetting;
  readonly jurisdiction?: Jurisdiction;
  readonly location_hint?: ObjectPlacement;
}

/** The layout in force. */
export function layoutOf({ shards, jurisdiction, location_hint: locationHint }: LayoutSettings): Layout {
  return { shards, jurisdiction: jurisdiction ?? null, locationHint: locationHint ?? null };
}

/** Different origins have different texts. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "url":
      return origin.url;
    case "binding":
      return `binding ${origin.binding}`;
    case "entrypoint":
      return `entrypoint ${origin.entrypoint}`;
    case "zone":
      return "the zone's origin";
  }
}
