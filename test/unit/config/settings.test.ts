import { describe, expect, it } from "vitest";

import { problemOf, settingsOf } from "./support.ts";

const FINGERPRINT = { body: "bytes", selection: null, query: "exact", queryExcept: [], headers: [] };

describe("defaults", () => {
  it("exist for every setting but the path", () => {
    expect(settingsOf({})).toEqual({
      name: "ROUTES[0]",
      path: "/v1/payments",
      methods: ["POST", "PATCH"],
      origin: { kind: "zone" },
      shards: 64,
      locationHint: null,
      jurisdiction: null,
      previousShards: [],
      // The zone's own origin is called under the host that the client named.
      scope: [{ kind: "header", name: "authorization" }, { kind: "host" }],
      previousScopes: [],
      identities: [],
      key: "required",
      keyFrom: ["header:Idempotency-Key"],
      graphql: false,
      keyFormat: { pattern: null, min: 1, max: 255 },
      fingerprint: FINGERPRINT,
      async: "never",
      unknown: "hold",
      verify: null,
      onStoreFailure: "closed",
      duplicate: "reject",
      waitMs: 10_000,
      timeoutMs: 30_000,
      idleTimeoutMs: 30_000,
      lockMs: 40_000,
      retentionMs: 86_400_000,
      unknownRetentionMs: 31_536_000_000,
      refused: [425, 429, 503, 521, 523, 525, 526, 530],
      ambiguous: [408, 502, 504, 520, 522, 524],
      mismatchStatus: 422,
      newKeys: null,
      note: { what: "target", label: null, excerpt: null },
      cors: null,
      maxRequestBodyBytes: 10_000_000,
      maxResponseBodyBytes: 10_000_000,
      omitHeaders: ["set-cookie"],
      forwardKey: { kind: "client" },
      log: "errors",
      sealed: false,
      serverTiming: false,
      trustForwarded: false,
    });
  });
});

describe("what a setting means", () => {
  it.each([
    [{ origin: "https://api.example.com" }, { origin: { kind: "url", url: "https://api.example.com" } }],
    [{ origin: "HTTP://API.example.com:8080/v2/" }, { origin: { kind: "url", url: "http://api.example.com:8080/v2" } }],
    [{ shards: 1 }, { shards: 1 }],
    [{ shards: 65_536 }, { shards: 65_536 }],
    [{ shards: "per-key" }, { shards: "per-key" }],
    [{ shards: "64b" }, { shards: "64b" }],
    [
      { shards: 256, previous_shards: [64, "per-key", "64b"] },
      {
        previousShards: [
          { shards: 64, jurisdiction: null },
          { shards: "per-key", jurisdiction: null },
          { shards: "64b", jurisdiction: null },
        ],
      },
    ],
    // A bare entry has the jurisdiction that is in force; a table has its own.
    [
      { jurisdiction: "eu", shards: 128, previous_shards: [64] },
      { previousShards: [{ shards: 64, jurisdiction: "eu" }] },
    ],
    [
      { jurisdiction: "eu", previous_shards: [{ shards: 64, jurisdiction: "none" }] },
      { previousShards: [{ shards: 64, jurisdiction: null }] },
    ],
    [
      { previous_scope: [["none"], ["cookie:s"]], origin: "https://api.example.com" },
      { previousScopes: [[], [{ kind: "cookie", name: "s" }]] },
    ],
    [{ previous_scope: [["none"]] }, { previousScopes: [[{ kind: "host" }]] }],
    [{ location_hint: "apac-se" }, { locationHint: "apac-se" }],
    [{ jurisdiction: "eu" }, { jurisdiction: "eu" }],
    [
      { scope: ["header:X-Tenant", "host", "cookie:Session", "ip"] },
      {
        scope: [
          { kind: "header", name: "x-tenant" },
          { kind: "host" },
          { kind: "cookie", name: "Session" },
          { kind: "ip" },
        ],
      },
    ],
    [{ scope: ["none"] }, { scope: [{ kind: "host" }] }],
    // One API, under however many names clients reach the gateway.
    [{ scope: ["none"], origin: "https://api.example.com" }, { scope: [] }],
    [{ scope: ["host"], origin: "https://api.example.com" }, { scope: [{ kind: "host" }] }],
    [{ timeout: "500ms" }, { timeoutMs: 500 }],
    [{ timeout: "1.5s" }, { timeoutMs: 1_500 }],
    [
      { timeout: "15m", lock: "1h" },
      { timeoutMs: 900_000, lockMs: 3_600_000 },
    ],
    [{ idle_timeout: "2m" }, { idleTimeoutMs: 120_000 }],
    [{ retention: "365d" }, { retentionMs: 31_536_000_000 }],
    [{ unknown_retention: "3650d" }, { unknownRetentionMs: 315_360_000_000 }],
    [
      { duplicate: "wait", wait: "39s" },
      { duplicate: "wait", waitMs: 39_000 },
    ],
    [{ key: "optional" }, { key: "optional" }],
    [
      { key_from: ["header:X-Key", "query:k", "form:k", "json:/a~1b/0", "cloudevent"] },
      { keyFrom: ["header:X-Key", "query:k", "form:k", "json:/a~1b/0", "cloudevent"] },
    ],
    [
      { key_from: [["json:/a", "header:B"], { template: "order-{json:/id}:{header:X-Try}" }] },
      { keyFrom: [["json:/a", "header:B"], { template: "order-{json:/id}:{header:X-Try}" }] },
    ],
    [
      {
        key_from: [
          ["text:stripe", "json:/id"],
          ["text:events", "cloudevent"],
        ],
      },
      {
        keyFrom: [
          ["text:stripe", "json:/id"],
          ["text:events", "cloudevent"],
        ],
      },
    ],
    [{ graphql: true }, { graphql: true, keyFrom: ["header:Idempotency-Key", "graphql:@idempotent"] }],
    [{ key_format: { pattern: "^\\p{L}+$", max: 8 } }, { keyFormat: { pattern: "^\\p{L}+$", min: 1, max: 8 } }],
    [{ fingerprint: { headers: ["X-Api-Version"] } }, { fingerprint: { ...FINGERPRINT, headers: ["x-api-version"] } }],
    [{ fingerprint: { body: "json" } }, { fingerprint: { ...FINGERPRINT, body: "json" } }],
    [
      { fingerprint: { body: "json", except: ["/b/0", "/a~1b"] } },
      { fingerprint: { ...FINGERPRINT, body: "json", selection: { kind: "except", pointers: ["/a~1b", "/b/0"] } } },
    ],
    [
      { fingerprint: { body: "form", only: ["/a"], except: [] } },
      { fingerprint: { ...FINGERPRINT, body: "form", selection: { kind: "only", pointers: ["/a"] } } },
    ],
    [
      { fingerprint: { query: "sorted", query_except: ["t", "n"] } },
      { fingerprint: { ...FINGERPRINT, query: "sorted", queryExcept: ["n", "t"] } },
    ],
    [{ unknown: "hold" }, { unknown: "hold" }],
    [
      { unknown: "verify", verify: "/v1/by-key/{key}?fields=id" },
      { unknown: "verify", verify: { target: "/v1/by-key/{key}?fields=id", headers: null } },
    ],
    [
      { unknown: "verify", verify: "https://api.example.com/v1/{key}", origin: "https://api.example.com/base" },
      { verify: { target: "https://api.example.com/v1/{key}", headers: null } },
    ],
    [
      { unknown: "verify", verify: { url: "https://status.example.com/{key}", headers: ["Authorization"] } },
      { verify: { target: "https://status.example.com/{key}", headers: ["authorization"] } },
    ],
    [
      {
        unknown: "verify",
        verify: { url: "https://status.example.com/{key}", headers: [] },
        origin: { entrypoint: "Api" },
      },
      { verify: { target: "https://status.example.com/{key}", headers: [] } },
    ],
    [{ on_store_failure: "open" }, { onStoreFailure: "open" }],
    [{ refused: [] }, { refused: [] }],
    [{ ambiguous: [599, 100] }, { ambiguous: [599, 100] }],
    [{ mismatch_status: 409 }, { mismatchStatus: 409 }],
    [{ max_request_body: 1 }, { maxRequestBodyBytes: 1 }],
    [{ max_request_body: "200MB" }, { maxRequestBodyBytes: 200_000_000 }],
    [{ max_response_body: "1MiB" }, { maxResponseBodyBytes: 1_048_576 }],
    [{ max_response_body: "1.5kB" }, { maxResponseBodyBytes: 1_500 }],
    [{ omit_headers: [] }, { omitHeaders: [] }],
    [{ omit_headers: ["X-Request-Id"] }, { omitHeaders: ["x-request-id"] }],
    [{ forward_key: "none" }, { forwardKey: { kind: "none" } }],
    [{ forward_key: "charge" }, { forwardKey: { kind: "step", step: "charge" } }],
    [{ log: "all" }, { log: "all" }],
    [{ server_timing: true }, { serverTiming: true }],
    [{ methods: ["PUT", "DELETE"] }, { methods: ["PUT", "DELETE"] }],
  ])("%j", (settings, resolved) => {
    expect(settingsOf(settings)).toMatchObject(resolved);
  });
});

describe("what a setting refuses, with what to write instead", () => {
  it.each([
    [{ timeout: 30 }, 'timeout: a bare number has no unit: write "30s"'],
    [{ timeout: "30" }, 'timeout: must be a number with a unit (ms, s, m, h, d): write "30s"'],
    [{ timeout: "30 s" }, 'write "30s"'],
    [{ timeout: "-1s" }, 'write "30s"'],
    [{ timeout: "0s" }, 'timeout: must be longer than zero: write "1ms"'],
    [{ timeout: "16m" }, 'timeout: must not exceed 15m: write "15m" or less'],
    [{ idle_timeout: "901s" }, 'idle_timeout: must not exceed 15m: write "15m"'],
    [{ lock: "61m" }, 'lock: must not exceed 1h: write "1h"'],
    [{ retention: "366d" }, 'retention: must not exceed 365d: write "365d"'],
    [{ wait: "6m" }, 'wait: must not exceed 5m: write "5m"'],
    [{ max_request_body: "201MB" }, 'max_request_body: must not exceed 200MB: write "200MB"'],
    [{ max_request_body: "10mb" }, "max_request_body: must be whole bytes or a number with a unit"],
    [{ max_request_body: 1.5 }, "max_request_body: must be a whole number of bytes"],
    [{ max_request_body: 0 }, "max_request_body: must be a whole number of bytes, 1 or more"],
    [{ max_request_body: "0.5B" }, "max_request_body: must be a whole number of bytes"],
    [{ max_response_body: true }, "max_response_body: must be whole bytes or a number with a unit"],
    [{ max_response_body: "2GB" }, 'max_response_body: must not exceed 1GB: write "1GB"'],
    [
      { shards: 0 },
      'shards: must be a whole number from 1 to 65536, such a number with letters ("64b"), or "per-key": write 64',
    ],
    [{ shards: "0b" }, "write 64"],
    [{ shards: "65537b" }, "write 64"],
    [{ shards: "64" }, "write 64"],
    [{ shards: "64B" }, "write 64"],
    [{ previous_shards: 64 }, "previous_shards: must be a list of earlier values of shards: write [64]"],
    [{ previous_shards: [0] }, "previous_shards[0]: must be"],
    [{ previous_shards: [{ shards: 64 }] }, "previous_shards[0]: must be"],
    [{ previous_shards: [1, 2, 3, 4, 5, 6, 7] }, "must have at most 6 entries: leave out"],
    [{ previous_scope: ["none"] }, "previous_scope[0]: must be a list of earlier values of scope"],
    [{ previous_scope: [["ip"], ["x"]] }, "previous_scope[1][0]: "],
    [{ shards: 65_537 }, "write 64"],
    [{ shards: 1.5 }, "write 64"],
    [{ shards: "many" }, "write 64"],
    [{ location_hint: "europe" }, 'location_hint: must be one of its values: write "wnam"'],
    [{ jurisdiction: "de" }, 'jurisdiction: must be one of its values: write "eu"'],
    [{ key: "maybe" }, 'key: must be one of its values: write "required" or "optional"'],
    [{ unknown: "drop" }, 'unknown: must be one of its values: write "hold" or "verify"'],
    [{ duplicate: true }, 'duplicate: must be one of its values: write "reject" or "wait"'],
    [{ log: true }, 'log: must be one of its values: write "all" or "errors" or "none"'],
    [{ server_timing: "no" }, "server_timing: must be true or false: write true"],
    [{ scope: "ip" }, 'scope: must be a list: write ["header:authorization"]'],
    [{ scope: [] }, "scope: must say whose key it is"],
    [{ scope: ["none", "ip"] }, 'scope: "none" must be the only entry: write ["none"]'],
    [{ scope: ["none", "none"] }, 'scope: "none" must be the only entry'],
    [{ scope: ["ip", "ip"] }, 'scope: "ip" is listed twice: write it once'],
    [{ scope: ["header:A", "header:a"] }, 'scope: "header:a" is listed twice'],
    [{ scope: ["jwt:sub"] }, "scope[0]: verified claims are identities: write"],
    [{ scope: ["ip", "tenant"] }, 'scope[1]: "tenant" is not a part of a scope: write "identity:NAME"'],
    [{ scope: ["header:"] }, 'scope[0]: must name a header: write "header:authorization"'],
    [{ scope: ["cookie:a b"] }, 'scope[0]: must name a cookie: write "cookie:session"'],
    [{ origin: "api.example.com" }, 'origin: must be an absolute http or https URL: write "https://api.example.com"'],
    [{ origin: "ftp://api.example.com" }, "origin: must be an absolute http or https URL"],
    [{ origin: "https:api.example.com" }, "origin: must be an absolute http or https URL"],
    [
      { origin: "https://me:secret@api.example.com/v1" },
      'origin: must not carry credentials, because variables are readable: write "https://api.example.com/v1"',
    ],
    [
      { origin: "https://api.example.com/?a=1" },
      'origin: must not carry a query or a fragment: write "https://api.example.com"',
    ],
    [{ origin: "https://api.example.com/#" }, "origin: must not carry a query or a fragment"],
    [{ origin: 7 }, "origin: must be a URL or a table with one member, binding"],
    [{ origin: { binding: "API", more: 1 } }, "origin: must be a URL or a table with one member, binding"],
    [
      { origin: { binding: "my-api" } },
      'origin: binding must be a name of letters, digits and "_": write { binding = "API" }',
    ],
    [{ origin: { binding: "__proto__" } }, "origin: binding must be a name"],
    [
      { headers: ["X-Key", "Idempotency-Key"] },
      'headers: is a part of key_from: write key_from = ["header:X-Key", "header:Idempotency-Key"]',
    ],
    [{ key_from: [] }, 'key_from: must name at least one place: write ["header:Idempotency-Key"]'],
    [{ key_from: "json:/id" }, "key_from: must be a list"],
    [{ key_from: Array.from({ length: 9 }, (_, at) => `json:/${at}`) }, "key_from: must have at most 8 entries"],
    [{ key_from: ["header:X-Key", "header:x-key"] }, "key_from: lists header:x-key twice"],
    [{ key_from: ["json:/a", "json:/a"] }, "key_from: lists json:/a twice"],
    [{ key_from: [1] }, "key_from[0]: must be text, a list of texts or a template"],
    [{ key_from: [{ template: "{json:/a}", more: 1 }] }, "key_from[0]: must be text, a list of texts or a template"],
    [{ key_from: ["header:X Key"] }, 'key_from[0]: "X Key" is not a header name'],
    [{ key_from: ["X-Key"] }, 'key_from[0]: "X-Key" is not a place for a key: write "header:NAME"'],
    [{ key_from: ["query:"] }, 'key_from[0]: must name a field: write "query:request_id"'],
    [{ key_from: ["json:id"] }, 'key_from[0]: must be a JSON pointer that begins with "/"'],
    [{ key_from: ["json:/a~2"] }, 'key_from[0]: "/a~2" is not a JSON pointer (RFC 6901): write "~0" for "~"'],
    [{ key_from: ["json:/\ud800"] }, 'key_from[0]: "/\ud800" is not a JSON pointer (RFC 6901)'],
    [{ key_from: [["json:/a"]] }, "key_from[0]: a list in the list takes several values together"],
    [{ key_from: [["json:/a", "cloudevent"]] }, 'key_from[0]: may have only texts before "cloudevent"'],
    [{ key_from: [["json:/a", "json:/a"]] }, 'key_from[0]: lists "json:/a" twice'],
    [{ key_from: [{ template: "order" }] }, "key_from[0]: must have members in braces"],
    [{ key_from: [{ template: "{json:/a" }] }, "key_from[0]: must have members in braces"],
    [{ key_from: [{ template: "an order {json:/a}" }] }, "key_from[0]: may have only visible ASCII"],
    [{ key_from: [{ template: "{json:/a}{json:/b}" }] }, "key_from[0]: has two members side by side"],
    [{ key_from: [{ template: "{id}" }] }, 'key_from[0]: "id" is not a place for a key'],
    [{ omit_headers: [1] }, "omit_headers[0]: must be text"],
    [{ fingerprint: "json" }, 'fingerprint: must be a table: write { body = "json"'],
    [
      { fingerprint: { body: "text" } },
      'fingerprint.body: must be one of its values: write "bytes" or "json" or "form" or "multipart" or "none"',
    ],
    [{ fingerprint: { body: "json", except: "/a" } }, "fingerprint.except: must be a list of JSON pointers"],
    [
      { fingerprint: { body: "json", except: ["timestamp"] } },
      'fingerprint.except[0]: "timestamp" is not a JSON pointer (RFC 6901): write "/timestamp", with a slash first',
    ],
    [
      { fingerprint: { body: "json", except: ["/a~2"] } },
      'fingerprint.except[0]: "/a~2" is not a JSON pointer (RFC 6901): write ~0 for ~ and ~1 for /',
    ],
    [{ fingerprint: { body: "json", except: [""] } }, "fingerprint.except[0]: is the whole body"],
    [{ fingerprint: { body: "json", except: ["/a", "/a"] } }, "fingerprint.except: lists /a twice: write it once"],
    [
      { fingerprint: { body: "json", only: ["/a/b", "/a"] } },
      'fingerprint.only: lists "/a" and, below it, "/a/b": leave out one of them',
    ],
    [
      { fingerprint: { body: "json", only: [] } },
      'fingerprint.only: must name what is compared: write ["/amount", "/currency"], or leave it out',
    ],
    [
      { fingerprint: { body: "json", only: ["/a"], except: ["/b"] } },
      "fingerprint.only: excludes except: leave out one of them",
    ],
    [
      { fingerprint: { except: ["/a"] } },
      'fingerprint.except: has no effect with body = "bytes": write body = "json" or "form", or leave it out',
    ],
    [{ fingerprint: { body: "multipart", only: ["/a"] } }, 'fingerprint.only: has no effect with body = "multipart"'],
    [
      { fingerprint: { body: "form", except: ["/a/b"] } },
      'fingerprint.except: "/a/b" has two levels, and a form has one: write "/a~1b" for a field of that name',
    ],
    [
      { fingerprint: { body: "json", only: Array.from({ length: 33 }, (_, at) => `/${at}`) } },
      "fingerprint.only: must have at most 32 entries",
    ],
    [{ key_from: [["text:a", "text:b"]] }, "key_from[0]: has no value of the request"],
    [{ key_from: [["text:", "json:/id"]] }, 'key_from[0]: "text:" must name a word of visible ASCII'],
    [{ key_from: [["json:/id", "cloudevent"]] }, 'key_from[0]: may have only texts before "cloudevent"'],
    [{ key_from: ["text:a"] }, 'key_from[0]: "text:a" is not a place for a key'],
    [{ fingerprint: { query: "any" } }, 'fingerprint.query: must be one of its values: write "exact" or "sorted"'],
    [{ fingerprint: { query_except: "t" } }, "fingerprint.query_except: must be a list of names"],
    [{ fingerprint: { query_except: [""] } }, "fingerprint.query_except[0]: must be the name of a parameter"],
    [{ fingerprint: { query_except: ["t", "t"] } }, "fingerprint.query_except: lists t twice"],
    [
      { fingerprint: { query: "none", query_except: ["t"] } },
      'fingerprint.query_except: has no effect with query = "none": write query = "exact" or "sorted", or leave it out',
    ],
    [{ fingerprint: { headers: ["a:b"] } }, 'fingerprint.headers[0]: "a:b" is not a header name'],
    [{ key_format: "uuid" }, "key_format: must be a table"],
    [{ key_format: { pattern: "[" } }, "key_format.pattern: is not a regular expression"],
    [{ key_format: { pattern: "\\p" } }, "key_format.pattern: is not a regular expression"],
    [{ key_format: { min: 0 } }, "key_format.min: must be a whole number from 1 to 255"],
    [{ key_format: { max: 256 } }, "key_format.max: must be a whole number from 1 to 255"],
    [{ refused: 503 }, "refused: must be a list of statuses: write [425, 429, 503]"],
    [{ refused: [99] }, "refused[0]: must be a whole number from 100 to 599"],
    [{ refused: ["503"] }, "refused[0]: must be a whole number from 100 to 599"],
    [{ ambiguous: [504, 600] }, "ambiguous[1]: must be a whole number from 100 to 599"],
    [{ ambiguous: [504, 504] }, "ambiguous: lists 504 twice: write it once"],
    [{ mismatch_status: 500 }, "mismatch_status: must be a whole number from 400 to 499: write 422"],
    [{ mismatch_status: 422.5 }, "mismatch_status: must be a whole number"],
    [{ unknown: "verify" }, 'verify: is needed with unknown = "verify": write verify = "/v1/payments/by-key/{key}"'],
    [{ unknown: "verify", verify: "v1/{key}" }, "verify: must be a path at the origin or an http or https URL"],
    [{ unknown: "verify", verify: "/v1/payments" }, "verify: must name the key"],
    // A search that finds nothing answers 200: a status cannot tell that from a result.
    [
      { unknown: "verify", verify: "/v1/orders?idempotency_key={key}" },
      "verify: must name the key in the path, not in the query",
    ],
    [{ unknown: "verify", verify: "/v1/{key}?again={key}" }, "verify: must name the key in the path, not in the query"],
    [{ unknown: "verify", verify: "/v1/{key}/../all" }, "verify: must name the key in the path: write"],
    [
      { unknown: "verify", verify: "//other.example.com/{key}" },
      "verify: must be a path at the origin or an http or https URL",
    ],
    [{ unknown: "verify", verify: "https://u:p@api.example.com/{key}" }, "verify: must not carry credentials"],
    [
      { unknown: "verify", verify: { url: "/v1/{key}", headers: [] } },
      "verify: a path is at the origin, which gets all headers of the request",
    ],
    [
      { unknown: "verify", verify: { url: "https://a.example/{key}", headers: ["a b"] } },
      'verify: "a b" is not a header name',
    ],
    [
      { unknown: "verify", verify: { url: "https://a.example/{key}", headers: ["Cookie", "cookie"] } },
      "verify: lists cookie twice",
    ],
    // The clients' credentials are for the origin.
    ...[
      "https://api.example.com",
      "http://status.example.com",
      "https://status.example.com:8443",
      { entrypoint: "Api" },
      undefined,
    ].map((origin): [Readonly<Record<string, unknown>>, string] => [
      { unknown: "verify", verify: "https://status.example.com/{key}", ...(origin === undefined ? {} : { origin }) },
      "verify: is at another host than the origin",
    ]),
    [{ unknown: "verify", verify: "/v1/{id}/{key}" }, "verify: has a placeholder other than {key}"],
    [{ unknown: "verify", verify: "/v1/{key}#a" }, "verify: must not carry a fragment"],
    [{ verify: "/v1/{key}" }, 'verify: has no effect with unknown = "hold"'],
    [{ unknown: "verify", verify: "/v1/{key}", forward_key: "none" }, 'forward_key: must not be "none" with unknown'],
    [
      { retention: "48h", unknown_retention: "24h" },
      'unknown_retention: must not be shorter than retention (2d): write unknown_retention = "365d"',
    ],
    [{ on_store_failure: "ajar" }, 'on_store_failure: must be one of its values: write "closed" or "open"'],
    [{ forward_key: "a:b" }, 'forward_key: must be "client", "none" or a step name'],
    [{ forward_key: "x".repeat(65) }, "forward_key: must be"],
    [{ forward_key: false }, 'forward_key: must be text: write "client", "none" or a step name'],
    [{ methods: [] }, 'methods: must name at least one method: write ["POST", "PATCH"]'],
    [{ methods: "POST" }, 'methods: must be a list of methods: write ["POST", "PATCH"]'],
    [{ methods: ["post"] }, 'methods[0]: methods are upper case: write "POST"'],
    [{ methods: ["PO ST"] }, 'methods[0]: "PO ST" is not a method: write "POST"'],
    [{ methods: ["GET"] }, "methods[0]: GET is safe to repeat without a key: leave it out"],
    [{ methods: ["ALL"] }, "methods[0]: name the methods one by one"],
    [{ methods: ["PUT", "PUT"] }, "methods: lists PUT twice"],
  ])("%j", (settings, message) => {
    expect(problemOf(settings)).toContain(message);
  });
});

describe("unknown settings", () => {
  it.each([
    ["retenton", "retention"],
    ["timout", "timeout"],
    ["loc", "lock"],
    ["idleTimeout", "idle_timeout"],
    ["max-request-body", "max_request_body"],
    ["method", "methods"],
    ["forwardkey", "forward_key"],
  ])("suggest the nearest known name: %s -> %s", (written, meant) => {
    expect(problemOf({ [written]: "1h" })).toBe(`${written}: unknown setting; did you mean "${meant}"?`);
  });

  it("list the known names if none is similar", () => {
    expect(problemOf({ colour: "red" })).toContain("unknown setting: remove it, or write one of path, origin, shards");
  });

  it("are all found within tables, together with other problems", () => {
    expect(problemOf({ fingerprint: { bodi: "json" } })).toContain(
      'fingerprint.bodi: unknown setting; did you mean "body"',
    );
    expect(problemOf({ key_format: { "": 1 } })).toContain('key_format."": unknown setting');
  });
});
