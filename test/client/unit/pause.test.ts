import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRetryAfter, retryPauseMs } from "../../../src/client/pause.ts";

const BACKOFF = { firstPauseMs: 500, maxPauseMs: 10_000 };
const NOW = Date.UTC(2026, 10, 21, 8, 0, 0);
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["7", 7000],
    [" 7 ", 7000],
    ["Sat, 21 Nov 2026 08:00:03 GMT", 3000],
    ["Saturday, 21-Nov-26 08:00:03 GMT", 3000],
    ["Sat, 21 Nov 2026 07:59:00 GMT", 0],
    ["", null],
    ["-1", null],
    ["1.5", null],
    ["soon", null],
    [null, null],
  ])("%j means %j ms", (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms);
  });

  it("reads every HTTP date format", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (seconds) => {
        const date = new Date(NOW + seconds * 1000).toUTCString();
        expect(parseRetryAfter(date, NOW)).toBe(seconds * 1000);
      }),
    );
  });
});

describe("the pause before the next try", () => {
  it("doubles its bound up to the maximum", () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7].map((tries) => retryPauseMs(BACKOFF, tries, null, 1));
    expect(bounds).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  it("has full jitter: anything from zero to its bound", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), chance, (tries, random) => {
        const ms = retryPauseMs(BACKOFF, tries, null, random);
        expect(ms).toBe(random * retryPauseMs(BACKOFF, tries, null, 1));
        expect(ms).toBeLessThanOrEqual(BACKOFF.maxPauseMs);
      }),
    );
  });

  it("is never shorter than Retry-After, and at most one first pause longer", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(100_000), chance, (tries, retryAfterMs, random) => {
        const extra = retryPauseMs(BACKOFF, tries, retryAfterMs, random) - retryAfterMs;
        expect(extra).toBeGreaterThanOrEqual(0);
        expect(extra).toBeLessThanOrEqual(BACKOFF.firstPauseMs);
      }),
    );
  });
});
