// The commands that the demo prints. Each runs unchanged when pasted into bash. Keys are new at every start, because records
// outlive the demo and its origin's counters do not.

export interface DemoUrls {
  readonly gateway: string;
  readonly origin: string;
  /** Added to every key, so that each start uses new keys. */
  readonly suffix: string;
}

/** The first commands for the demo's own origin: those that a terminal has room for. */
export function firstExamples(urls: DemoUrls): string {
  const post = posting(urls);
  const paid = post("/v1/payments", "pay", '{"amount":4200,"currency":"EUR"}');

  return `# First request: 201, the payment is made.
${paid}

# Replay: send the same request again. You get the same bytes and "Idempotent-Replayed: true"; no second payment is made.
${paid}

# Reuse: the same key with another body. 422 key-reused.
${post("/v1/payments", "pay", '{"amount":9900,"currency":"EUR"}')}`;
}

/** All commands for the demo's own origin. */
export function demoExamples(urls: DemoUrls): string {
  const { origin, suffix } = urls;
  const post = posting(urls);
  const burst = post("/v1/payments", "burst", '{"amount":100}', STATUS_ONLY);

  return `${firstExamples(urls)}

# 50 parallel duplicates: "50 201", because all 50 get the same response ...
seq 50 | xargs -P 50 -I{} ${burst} | sort | uniq -c
# ... and the origin counts one effect.
curl -s '${origin}/v1/counters?key=burst-${suffix}'

# The same order written differently: this route compares JSON, so the second is a replay.
${post("/v1/orders", "order", '{"sku":"A1","qty":2}')}
${post("/v1/orders", "order", '{ "qty": 2.0, "sku": "A1" }')}

# Flaky: 503 the first time, but the key stays usable. Send it again: 201.
${post("/v1/flaky", "flaky", "{}")}
${post("/v1/flaky", "flaky", "{}")}

# Slow: the origin takes 3 s, but the client disconnects after 1 s. Until the origin answers, a duplicate gets 409 in-flight ...
${post("/v1/slow", "slow", "{}", "-s -m 1")}
${post("/v1/slow", "slow", "{}")}
# ... and after that, the response that the first client did not wait for.
sleep 3
${post("/v1/slow", "slow", "{}")}

# Outcome unknown: the origin acts, but its response is lost. 502, then 409 outcome-unknown ...
${post("/v1/lost", "lost", '{"amount":700}')}
${post("/v1/lost", "lost", '{"amount":700}')}
# ... until you resolve the key in the console (npm start prints its address and token) and send the request again.

# All counters of the origin; they are also on the demo's page.
curl -s ${origin}/v1/counters`;
}

function posting({ gateway, suffix }: DemoUrls): (path: string, key: string, body: string, options?: string) => string {
  return (path, key, body, options = "-i") =>
    `curl ${options} ${gateway}${path} ${HEADERS} \\\n  -H 'Idempotency-Key: ${key}-${suffix}' -d '${body}'`;
}

/** The commands for the user's own API. Nothing is known about its paths. */
export function ownOriginExamples({ gateway, origin, suffix }: DemoUrls): string {
  const post = (body: string, options = "-i"): string =>
    `curl ${options} ${gateway}/your/path ${HEADERS} \\\n  -H 'Idempotency-Key: try-${suffix}' -d '${body}'`;
  return `# Every POST and PATCH with an Idempotency-Key takes effect once; all other requests pass through to
# ${origin}. Replace /your/path with a path of your API.

# First request: your API's response.
${post('{"a":1}')}

# Replay: send the same request again. You get the same response and "Idempotent-Replayed: true"; your API sees nothing.
${post('{"a":1}')}

# Reuse: the same key with another body. 422 key-reused.
${post('{"a":2}')}

# 50 parallel duplicates: your API sees one request, and all 50 get its response.
seq 50 | xargs -P 50 -I{} curl ${STATUS_ONLY} ${gateway}/your/path ${HEADERS} \\
  -H 'Idempotency-Key: burst-${suffix}' -d '{"a":1}' | sort | uniq -c

# The gateway's published policy.
curl -s ${gateway}/.well-known/idempotency`;
}

const HEADERS = "-H 'Authorization: Bearer demo' -H 'Content-Type: application/json'";
const STATUS_ONLY = "-s -o /dev/null -w '%{http_code}\\n'";
