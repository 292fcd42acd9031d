// What each setting means, for editors: the JSON Schema has these texts, the Worker does not. Members of tables by their path.

export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  origin: "The API behind the gateway: a URL (a path prefix is kept) or a binding. Default: the zone's own origin.",
  "origin.binding": "A service, mTLS certificate or VPC service binding of this Worker.",
  shards: 'Durable Objects that share the keys, or "per-key" for one each. A change orphans live records. Default 64.',
  location_hint:
    "Where new shards are created: near the origin. Only a shard's first use counts. Default: near that request.",
  jurisdiction:
    "Where shards run and keep their records, guaranteed. A change orphans live records. Default: anywhere.",
  scope:
    'Whose key it is: "header:NAME", "cookie:NAME", "host", "ip", or "none" alone. Default ["header:authorization"].',
  timeout: "The longest wait for the headers of the origin's response. Default 30s, at most 15m.",
  idle_timeout: "The longest silence between two pieces of the response's body. Default 30s, at most 15m.",
  lock: "How long an attempt owns its key; exceeds timeout. Default 40s, at most 1h.",
  retention: "How long a finished record is replayed; exceeds lock. Default 24h, at most 365d.",
  key: 'Whether a request needs a key; without one an "optional" request passes unprotected. Default "required".',
  headers: 'Headers that may carry the key, in order. Default ["Idempotency-Key"].',
  key_format: "What a key looks like. A route's table replaces the default's as a whole.",
  "key_format.pattern": "A JavaScript regular expression (flag u) that the key has to match; anchor it with ^ and $.",
  "key_format.min": "Least length of a key. Default 1.",
  "key_format.max": "Greatest length of a key. Default 255, less what forward_key adds for a step.",
  fingerprint: "What makes two requests the same. A route's table replaces the default's as a whole.",
  "fingerprint.body": 'How the body counts: as bytes, as JSON in its RFC 8785 form, or not at all. Default "bytes".',
  "fingerprint.headers": "Request headers that are part of what is asked for. Default none.",
  unknown:
    'After an attempt of unknown outcome: "retry" starts another once its lock has ended, "hold" none, "verify" asks the origin. Default "retry".',
  verify:
    'With unknown = "verify": what to GET, with the caller\'s own headers, to learn whether an operation took effect. 2xx: yes, and this is its answer; 404: no.',
  on_store_failure:
    'When the record cannot be reached: "closed" answers 503 and forwards nothing, "open" forwards the request UNPROTECTED. Default "closed".',
  duplicate:
    'What a duplicate gets during an attempt: 409 at once ("reject"), the first answer ("wait"), or the first answer as it comes, followed live ("attach"). Default "reject".',
  wait: 'How long a duplicate waits for the answer ("wait") or its beginning ("attach"); below lock. Default 10s, at most 5m.',
  refused:
    "Statuses that say that the origin did not act; replaces the default [425, 429, 503, 521, 523, 525, 526, 530].",
  ambiguous: "Statuses that leave open whether the origin acted; replaces the default [408, 502, 504, 520, 522, 524].",
  mismatch_status: "Status for a key that is reused for another request. Default 422.",
  max_request_body: "Largest body of a protected request. Default 10MB, at most 200MB.",
  max_response_body: "Largest response body that is kept for replays. Default 10MB, at most 1GB.",
  omit_headers: 'Response headers that a replay leaves out. Default ["set-cookie"].',
  forward_key:
    'The key that the origin receives: "client" (the same), "none", or a step name ("charge" sends <key>:charge).',
  log: 'Which exchanges are logged, one line each: "all", "errors" (in doubt, lost, or failed), or "none". Default "errors".',
  server_timing: "Whether answers say in Server-Timing where their time went. Default false.",
  methods: 'Protected methods, upper case. Default ["POST", "PATCH"].',
  operator_path: 'Where operators come in, when the secret ADMIN_TOKEN is set. Default "/_onceway".',
  path: "Hono's pattern syntax: /v1/payments, /v1/:id, /v1/:id{[0-9]+}, /v1/:id?, /v1/*/items, /v1/* (also matches /v1).",
};
