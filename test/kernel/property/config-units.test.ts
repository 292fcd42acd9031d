import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { readConfig } from "../../../src/features/settings.ts";
import type { Route } from "../../../src/kernel/config/resolved.ts";
import { formatDuration, formatSize, parseDuration, parseSize } from "../../../src/kernel/config/units.ts";

describe("quantities", () => {
  it("are read back as written", () => {
    const durationMs = fc.oneof(
      fc.integer({ min: 1, max: 31_536_000_000 }),
      fc.integer({ min: 1, max: 10_000 }).map((n) => n * 60_000),
    );
    fc.assert(
      fc.property(durationMs, (ms) => {
        expect(parseDuration(formatDuration(ms))).toEqual({ ok: true, value: ms });
      }),
    );
    const bytes = fc.oneof(
      fc.integer({ min: 1, max: 2_000_000_000 }),
      fc.integer({ min: 1, max: 900 }).map((n) => n * 1_048_576),
    );
    fc.assert(
      fc.property(bytes, (n) => {
        expect(parseSize(formatSize(n))).toEqual({ ok: true, value: n });
      }),
    );
  });

  it("are never less than one whole unit", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.double().map(String),
          fc.tuple(fc.double(), fc.constantFrom("ms", "s", "MB")).map((t) => t.join("")),
        ),
        (text) => {
          for (const parsed of [parseDuration(text), parseSize(text)]) {
            expect(!parsed.ok || (Number.isInteger(parsed.value) && parsed.value >= 1)).toBe(true);
          }
        },
      ),
    );
  });
});

function isTimed({ rules: { timeoutMs, policy } }: Route): boolean {
  return timeoutMs < policy.lockMs && policy.lockMs < policy.retentionMs;
}

describe("reading", () => {
  const settings = fc.dictionary(
    fc.constantFrom(
      "path",
      "lock",
      "timeout",
      "wait",
      "scope",
      "origin",
      "key_format",
      "fingerprint",
      "refused",
      "methods",
      "shards",
      "__proto__",
      "x",
    ),
    fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>("30s", "/a", "/:x?", ["POST"], [503], { min: 4 }, "https://a.example", undefined),
    ),
    { maxKeys: 6 },
  );

  it("never throws, and either resolves or names a problem, each once", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), settings),
        fc.oneof(fc.jsonValue(), fc.array(settings, { maxLength: 4 })),
        (defaults, routes) => {
          const reading = readConfig({ IDEMPOTENCY: defaults, ROUTES: routes });
          const resolved = reading.ok ? reading.config.routes : [];
          expect(resolved.every(isTimed)).toBe(true);
          if (reading.ok) return;
          const texts = reading.problems.map(({ path, message }) => `${path}: ${message}`);
          expect(texts.length).toBeGreaterThan(0);
          expect(new Set(texts).size).toBe(texts.length);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
