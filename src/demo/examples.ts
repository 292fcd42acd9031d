// The commands that the demo prints. Each works as it stands when pasted into bash. Keys are new at every start:
// records outlive the demo, its origin's counters do not.

export interface DemoUrls {
  readonly gateway: string;
  readonly origin: string;
  /** Makes the keys of this start its own. */
  readonly suffix: string;
}

/** For the embedded origin. */
export function demoExamples({ gateway, origin, suffix }: DemoUrls): string {
  const post = (path: string, key: string, body: string, options = "-i"): string =>
    `curl ${options} ${gateway}${path} ${HEADERS} \\\n  -H 'Idempotency-Key: ${key}-${suffix}' -d '${body}'`;
  const paid = post("/v1/payments", "pay", '{"amount":4200,"currency":"EUR"}');
  const burst = post("/v1/payments", "burst", '{"amount":100}', STATUS_ONLY);

  return `# First request: 201, the payment is made.
${paid}

# Replay: the same line again. The same bytes, "Idempotent-Replayed: true", no second payment.
${paid}

# Reuse: the same key with another body. 422 key-reused.
${post("/v1/payments", "pay", '{"amount":9900,"currency":"EUR"}')}

# 50 parallel duplicates: "50 201", 50 times the same answer ...
seq 50 | xargs -P 50 -I{} ${burst} | sort | uniq -c
# ... and one effect, counted by the origin.
curl -s '${origin}/v1/counters?key=burst-${suffix}'

# The same order written differently: this route compares JSON, so the second is a replay.
${post("/v1/orders", "order", '{"sku":"A1","qty":2}')}
${post("/v1/orders", "order", '{ "qty": 2.0, "sku": "A1" }')}

# Flaky: 503 the first time, and the key stays usable. Send it again: 201.
${post("/v1/flaky", "flaky", "{}")}
${post("/v1/flaky", "flaky", "{}")}

# Slow: the origin takes 3 s, its client leaves after 1 s. A duplicate meanwhile gets 409 in-flight ...
${post("/v1/slow", "slow", "{}", "-s -m 1")}
${post("/v1/slow", "slow", "{}")}
# ... and later the answer that the first client did not wait for.
sleep 3
${post("/v1/slow", "slow", "{}")}

# In doubt: the origin acts, and its answer is lost. 502, then 409 outcome-unknown ...
${post("/v1/lost", "lost", '{"amount":700}')}
${post("/v1/lost", "lost", '{"amount":700}')}
# ... until you decide in the console (its address and token stand above): resolve it there, and send it again.

# All counters of the origin; its page: ${origin}/
curl -s ${origin}/v1/counters`;
}

/** For an API of the user's own, of which nothing is known. */
export function ownOriginExamples({ gateway, origin, suffix }: DemoUrls): string {
  const post = (body: string, options = "-i"): string =>
    `curl ${options} ${gateway}/your/path ${HEADERS} \\\n  -H 'Idempotency-Key: try-${suffix}' -d '${body}'`;
  return `# Every POST and PATCH with an Idempotency-Key takes effect once; all else passes straight through to
# ${origin}. Put a path of your API in place of /your/path.

# First request: your API's answer.
${post('{"a":1}')}

# Replay: the same line again. The same answer, "Idempotent-Replayed: true", and your API sees nothing.
${post('{"a":1}')}

# Reuse: the same key with another body. 422 key-reused.
${post('{"a":2}')}

# 50 parallel duplicates: your API sees one request, the others get its answer.
seq 50 | xargs -P 50 -I{} curl ${STATUS_ONLY} ${gateway}/your/path ${HEADERS} \\
  -H 'Idempotency-Key: burst-${suffix}' -d '{"a":1}' | sort | uniq -c

# What the gateway promises, as it publishes it.
curl -s ${gateway}/.well-known/idempotency`;
}

const HEADERS = "-H 'Authorization: Bearer demo' -H 'Content-Type: application/json'";
const STATUS_ONLY = "-s -o /dev/null -w '%{http_code}\\n'";
