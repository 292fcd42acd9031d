// The built-in defaults: what applies where neither the route nor `IDEMPOTENCY` says anything. There is none for the
// origin: without one, the zone's own is meant.

import type { Settings } from "./schema.ts";
import { HOUR_MS, MEGABYTE, SECOND_MS } from "./units.ts";

/** Members that stay undefined unless written: absence means something for them. */
type Undefaulted = "origin" | "location_hint" | "jurisdiction" | "verify";

/** Settings of which every member with a default is there. */
export type FullSettings = Required<Omit<Settings, Undefaulted>> & Pick<Settings, Undefaulted>;

export const BUILT_IN: FullSettings = {
  shards: 64,
  scope: [{ kind: "header", name: "authorization" }],
  timeout: 30 * SECOND_MS,
  idle_timeout: 30 * SECOND_MS,
  lock: 40 * SECOND_MS,
  retention: 24 * HOUR_MS,
  key: "required",
  headers: ["Idempotency-Key"],
  key_format: { min: 1 },
  fingerprint: { body: "bytes", headers: [] },
  unknown: "retry",
  duplicate: "reject",
  wait: 10 * SECOND_MS,
  refused: [425, 429, 503, 521, 523, 525, 526, 530],
  ambiguous: [408, 502, 504, 520, 522, 524],
  mismatch_status: 422,
  max_request_body: 10 * MEGABYTE,
  max_response_body: 10 * MEGABYTE,
  omit_headers: ["set-cookie"],
  forward_key: { kind: "client" },
  on_store_failure: "closed",
  log: "errors",
  server_timing: false,
  methods: ["POST", "PATCH"],
};
