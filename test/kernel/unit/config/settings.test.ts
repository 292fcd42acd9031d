import { describe, expect, it } from "vitest";

import { settingsOf } from "./support.ts";

const FINGERPRINT = { body: "bytes", selection: null, query: "exact", queryExcept: [], headers: [] };

/** What features do unless a route says otherwise. */
const ON_BY_DEFAULT: { readonly lookUp?: boolean } = {
  lookUp: true, // feature: look-up
};

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
      jsonrpc: null,
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
      keyReusedStatus: 422,
      newKeys: null,
      note: { what: "target", label: null, excerpt: null },
      cors: null,
      trial: null,
      maxRequestBodyBytes: 10_000_000,
      maxResponseBodyBytes: 10_000_000,
      omitHeaders: ["set-cookie"],
      forwardKey: { kind: "client" },
      log: "errors",
      encryptResponses: false,
      serverTiming: false,
      lookUp: false,
      ...ON_BY_DEFAULT,
      preset: null,
      problemShape: null,
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
    [{ key_reused_status: 409 }, { keyReusedStatus: 409 }],
    [{ max_request_body: 1 }, { maxRequestBodyBytes: 1 }],
    [{ max_request_body: "200MB" }, { maxRequestBodyBytes: 200_000_000 }],
    [{ max_response_body: "1MiB" }, { maxResponseBodyBytes: 1_048_576 }],
    [{ max_response_body: "1.5kB" }, { maxResponseBodyBytes: 1_500 }],
    [{ omit_headers: [] }, { omitHeaders: [] }],
    [{ omit_headers: ["X-Request-Id"] }, { omitHeaders: ["x-request-id"] }],
    [{ forward_key: "none" }, { forwardKey: { kind: "none" } }],
    [{ forward_key: "c".repeat(64) }, { forwardKey: { kind: "step", step: "c".repeat(64) } }],
    [{ log: "all" }, { log: "all" }],
    [{ server_timing: true }, { serverTiming: true }],
    [{ look_up: false }, { lookUp: false }], // feature: look-up
    [{ methods: ["PUT", "DELETE"] }, { methods: ["PUT", "DELETE"] }],
  ])("%j", (settings, resolved) => {
    expect(settingsOf(settings)).toMatchObject(resolved);
  });
});
