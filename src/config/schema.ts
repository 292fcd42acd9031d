// The schema of the settings: what `[vars.IDEMPOTENCY]` and each `[[vars.ROUTES]]` may hold (a route has a path besides:
// schema-route.ts), with types and bounds (the JSON Schema for editors is made from it). Decides on single
// members only; relations between them belong to `cross-checks.ts`. Must never import the JSON Schema tool: this file is
// part of the Worker.

import * as v from "valibot";

import {
  MAX_LOCK_MS,
  MAX_REQUEST_BODY_BYTES,
  MAX_RESPONSE_BODY_BYTES,
  MAX_RETENTION_MS,
  MAX_SHARDS,
  MAX_TIMEOUT_MS,
  MAX_WAIT_MS,
} from "./bounds.ts";
import type { Jurisdiction, LocationHint, ScopePart } from "./resolved.ts";
import { choice, duration, headerNames, lowerCase, parsed, repeated } from "./schema-members.ts";
import { sameName, size, statuses, whole } from "./schema-members.ts";
import { fingerprintEntries, keyFormatEntries } from "./schema-tables.ts";
import { BINDING_PATTERN, firstRepeated, ORIGIN_TYPE_MESSAGE, parseForwardKey } from "./values.ts";
import { parseMethod, parseOrigin, parseScope, parseScopeEntry, SCOPE_PATTERN, TOKEN_PATTERN } from "./values.ts";
import { parseVerify, VERIFY_PATTERN } from "./values.ts";

const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const satisfies readonly LocationHint[];

const JURISDICTIONS = ["eu", "us", "fedramp", "fedramp-high"] as const satisfies readonly Jurisdiction[];

const SHARDS_MESSAGE = `must be a whole number from 1 to ${MAX_SHARDS}, or "per-key": write 64`;
const METHODS_MESSAGE = 'must be a list of methods: write ["POST", "PATCH"]';

/** Every setting, as it may stand in `[vars.IDEMPOTENCY]` and in a route. */
export const settingsEntries = {
  origin: v.exactOptional(
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
              }),
            ),
          }),
        ],
        ORIGIN_TYPE_MESSAGE,
      ),
      parsed(parseOrigin),
    ),
  ),
  shards: v.exactOptional(
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
  ),
  location_hint: v.exactOptional(choice(LOCATION_HINTS)),
  jurisdiction: v.exactOptional(choice(JURISDICTIONS)),
  scope: v.exactOptional(
    v.pipe(
      v.array(
        v.pipe(
          v.string('must be text: write "header:authorization"'),
          v.metadata({ pattern: SCOPE_PATTERN }),
          parsed(parseScopeEntry),
        ),
        'must be a list: write ["header:authorization"]',
      ),
      v.metadata({
        minItems: 1,
      }),
      parsed<(ScopePart | null)[], readonly ScopePart[]>(parseScope),
    ),
  ),
  timeout: v.exactOptional(duration(MAX_TIMEOUT_MS)),
  idle_timeout: v.exactOptional(duration(MAX_TIMEOUT_MS)),
  lock: v.exactOptional(duration(MAX_LOCK_MS)),
  retention: v.exactOptional(duration(MAX_RETENTION_MS)),
  key: v.exactOptional(choice(["required", "optional"])),
  headers: v.exactOptional(headerNames(sameName, 1)),
  key_format: v.exactOptional(
    v.pipe(
      v.strictObject(keyFormatEntries, 'must be a table: write { pattern = "^[0-9a-f-]{36}$", min = 16, max = 64 }'),
    ),
  ),
  fingerprint: v.exactOptional(
    v.pipe(v.strictObject(fingerprintEntries, 'must be a table: write { body = "json", headers = ["x-api-version"] }')),
  ),
  unknown: v.exactOptional(choice(["retry", "hold", "verify"])),
  verify: v.exactOptional(
    v.pipe(
      v.string('must be text: write "/v1/payments/by-key/{key}"'),
      v.metadata({
        pattern: VERIFY_PATTERN,
        examples: ["/v1/payments/by-key/{key}", "https://api.example.com/v1/orders?idempotency_key={key}"],
      }),
      parsed(parseVerify),
    ),
  ),
  on_store_failure: v.exactOptional(choice(["closed", "open"])),
  duplicate: v.exactOptional(choice(["reject", "wait", "attach"])),
  wait: v.exactOptional(duration(MAX_WAIT_MS)),
  refused: v.exactOptional(statuses()),
  ambiguous: v.exactOptional(statuses()),
  mismatch_status: v.exactOptional(whole(400, 499, 422)),
  max_request_body: v.exactOptional(size(MAX_REQUEST_BODY_BYTES)),
  max_response_body: v.exactOptional(size(MAX_RESPONSE_BODY_BYTES)),
  omit_headers: v.exactOptional(headerNames(lowerCase, 0)),
  forward_key: v.exactOptional(
    v.pipe(
      v.string('must be text: write "client", "none" or a step name'),
      v.metadata({
        pattern: TOKEN_PATTERN,
        examples: ["client", "none", "charge"],
      }),
      parsed(parseForwardKey),
    ),
  ),
  log: v.exactOptional(choice(["all", "errors", "none"])),
  server_timing: v.exactOptional(v.pipe(v.boolean("must be true or false: write true"))),
  methods: v.exactOptional(
    v.pipe(
      v.array(
        v.pipe(
          v.string('must be text: write "POST"'),
          v.metadata({ examples: ["POST", "PATCH", "PUT", "DELETE"] }),
          parsed(parseMethod),
        ),
        METHODS_MESSAGE,
      ),
      v.metadata({ minItems: 1 }),
      v.minLength(1, 'must name a method at least: write ["POST", "PATCH"]'),
      v.check((list) => firstRepeated(list) === null, repeated),
    ),
  ),
};

/** `[vars.IDEMPOTENCY]`: defaults for every route. */
export const settingsSchema = v.strictObject(settingsEntries);

/** The settings that were written, parsed. */
export type Settings = v.InferOutput<typeof settingsSchema>;
