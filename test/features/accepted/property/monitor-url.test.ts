import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fullMonitorOf, MONITOR_PREFIX, monitorIn, monitorPathOf } from "../../../../src/kernel/request/monitor-url.ts";

/** Every key that a route can accept (src/kernel/request/key.ts). */
const KEY = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  minLength: 1,
});

/** Paths as URLs have them, from any text. */
const PATH = fc
  .array(
    fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("..", "%2e%2E", "a;b", "%2F", "", "?", "#")),
  )
  .map((segments) => new URL(`https://api.example/${segments.join("/").replaceAll(/[\t\r\n]/g, "")}`).pathname);

const METHOD = fc.constantFrom("POST", "PATCH", "PUT", "DELETE", "M-SEARCH", "A&key=b");

const FINGERPRINT_PREFIX = "0123456789abcdef".repeat(2);

describe("the address of a monitor", () => {
  it("is read back as what it was made of, for any key, path and method", () => {
    fc.assert(
      fc.property(KEY, PATH, METHOD, fc.boolean(), (key, path, method, isFromContent) => {
        const asked = { key, path, method, isFromContent, fingerprintPrefix: FINGERPRINT_PREFIX };
        const address = fullMonitorOf(asked);
        expect(monitorIn(new URL(address, "https://api.example"))).toEqual(asked);
        // What a shard makes of it, without knowing its parts.
        expect(`${monitorPathOf(asked)}&print=${FINGERPRINT_PREFIX}`).toBe(address);
        // A client may resolve it again, and a proxy may parse it.
        expect(new URL(address, "https://api.example/other/").pathname).toBe(`${MONITOR_PREFIX}${path}`);
      }),
      { numRuns: 2000 },
    );
  });
});
