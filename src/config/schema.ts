// The schema of the settings: what `[vars.IDEMPOTENCY]` and each `[[vars.ROUTES]]` may hold (a route has a path besides:
// schema-route.ts), with types, bounds and descriptions (the JSON Schema for editors is made from it). Decides on single
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
                description: "A service, mTLS certificate or VPC service binding of this Worker.",
              }),
            ),
          }),
        ],
        ORIGIN_TYPE_MESSAGE,
      ),
      v.description(
        "The API behind the gateway: a URL (a path prefix is kept) or a binding. Default: the zone's own origin.",
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
      v.description(
        'Durable Objects that share the keys, or "per-key" for one each. A change orphans live records. Default 64.',
      ),
    ),
  ),
  location_hint: v.exactOptional(
    choice(
      "Where new shards are created: near the origin. Only a shard's first use counts. Default: near that request.",
      LOCATION_HINTS,
    ),
  ),
  jurisdiction: v.exactOptional(
    choice(
      "Where shards run and keep their records, guaranteed. A change orphans live records. Default: anywhere.",
      JURISDICTIONS,
    ),
  ),
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
        description:
          'Whose key it is: "header:NAME", "cookie:NAME", "ip", or "none" alone. Default ["header:authorization"].',
        minItems: 1,
      }),
      parsed<(ScopePart | null)[], readonly ScopePart[]>(parseScope),
    ),
  ),
  timeout: v.exactOptional(
    duration("The longest wait for the headers of the origin's response. Default 30s, at most 15m.", MAX_TIMEOUT_MS),
  ),
  idle_timeout: v.exactOptional(
    duration(
      "The longest silence between two pieces of the response's body. Default 30s, at most 15m.",
      MAX_TIMEOUT_MS,
    ),
  ),
  lock: v.exactOptional(
    duration("How long an attempt owns its key; exceeds timeout. Default 40s, at most 1h.", MAX_LOCK_MS),
  ),
  retention: v.exactOptional(
    duration("How long a finished record is replayed; exceeds lock. Default 24h, at most 365d.", MAX_RETENTION_MS),
  ),
  key: v.exactOptional(
    choice('Whether a request needs a key; without one an "optional" request passes unprotected. Default "required".', [
      "required",
      "optional",
    ]),
  ),
  headers: v.exactOptional(
    headerNames('Headers that may carry the key, in order. Default ["Idempotency-Key"].', sameName, 1),
  ),
  key_format: v.exactOptional(
    v.pipe(
      v.strictObject(keyFormatEntries, 'must be a table: write { pattern = "^[0-9a-f-]{36}$", min = 16, max = 64 }'),
      v.description("What a key looks like. A route's table replaces the default's as a whole."),
    ),
  ),
  fingerprint: v.exactOptional(
    v.pipe(
      v.strictObject(fingerprintEntries, 'must be a table: write { body = "json", headers = ["x-api-version"] }'),
      v.description("What makes two requests the same. A route's table replaces the default's as a whole."),
    ),
  ),
  unknown: v.exactOptional(
    choice(
      'After an attempt of unknown outcome: "retry" starts another once its lock has ended, "hold" none, "verify" asks the origin. Default "retry".',
      ["retry", "hold", "verify"],
    ),
  ),
  verify: v.exactOptional(
    v.pipe(
      v.string('must be text: write "/v1/payments/by-key/{key}"'),
      v.metadata({
        description:
          'With unknown = "verify": what to GET, with the caller\'s own headers, to learn whether an operation took effect. 2xx: yes, and this is its answer; 404: no.',
        pattern: VERIFY_PATTERN,
        examples: ["/v1/payments/by-key/{key}", "https://api.example.com/v1/orders?idempotency_key={key}"],
      }),
      parsed(parseVerify),
    ),
  ),
  on_store_failure: v.exactOptional(
    choice(
      'When the record cannot be reached: "closed" answers 503 and forwards nothing, "open" forwards the request UNPROTECTED. Default "closed".',
      ["closed", "open"],
    ),
  ),
  duplicate: v.exactOptional(
    choice(
      'What a duplicate gets during an attempt: 409 at once ("reject"), the first answer ("wait"), or the first answer as it comes, followed live ("attach"). Default "reject".',
      ["reject", "wait", "attach"],
    ),
  ),
  wait: v.exactOptional(
    duration(
      'How long a duplicate waits for the answer ("wait") or its beginning ("attach"); below lock. Default 10s, at most 5m.',
      MAX_WAIT_MS,
    ),
  ),
  refused: v.exactOptional(
    statuses(
      "Statuses that say that the origin did not act; replaces the default [425, 429, 503, 521, 523, 525, 526, 530].",
    ),
  ),
  ambiguous: v.exactOptional(
    statuses("Statuses that leave open whether the origin acted; replaces the default [408, 502, 504, 520, 522, 524]."),
  ),
  mismatch_status: v.exactOptional(
    whole("Status for a key that is reused for another request. Default 422.", 400, 499, 422),
  ),
  max_request_body: v.exactOptional(
    size("Largest body of a protected request. Default 10MB, at most 200MB.", MAX_REQUEST_BODY_BYTES),
  ),
  max_response_body: v.exactOptional(
    size("Largest response body that is kept for replays. Default 10MB, at most 1GB.", MAX_RESPONSE_BODY_BYTES),
  ),
  omit_headers: v.exactOptional(
    headerNames('Response headers that a replay leaves out. Default ["set-cookie"].', lowerCase, 0),
  ),
  forward_key: v.exactOptional(
    v.pipe(
      v.string('must be text: write "client", "none" or a step name'),
      v.metadata({
        description:
          'The key that the origin receives: "client" (the same), "none", or a step name ("charge" sends <key>:charge).',
        pattern: TOKEN_PATTERN,
        examples: ["client", "none", "charge"],
      }),
      parsed(parseForwardKey),
    ),
  ),
  log: v.exactOptional(
    choice(
      'Which exchanges are logged, one line each: "all", "errors" (in doubt, lost, or failed), or "none". Default "errors".',
      ["all", "errors", "none"],
    ),
  ),
  server_timing: v.exactOptional(
    v.pipe(
      v.boolean("must be true or false: write true"),
      v.description("Whether answers say in Server-Timing where their time went. Default false."),
    ),
  ),
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
      v.metadata({ description: 'Protected methods, upper case. Default ["POST", "PATCH"].', minItems: 1 }),
      v.minLength(1, 'must name a method at least: write ["POST", "PATCH"]'),
      v.check((list) => firstRepeated(list) === null, repeated),
    ),
  ),
};

/** `[vars.IDEMPOTENCY]`: defaults for every route. */
export const settingsSchema = v.strictObject(settingsEntries);

/** The settings that were written, parsed. */
export type Settings = v.InferOutput<typeof settingsSchema>;
