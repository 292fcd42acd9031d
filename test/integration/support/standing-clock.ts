// Time that stands still, also in the objects: they share the isolate with the tests.

import { afterAll, afterEach, beforeEach, vi } from "vitest";

/** In the tests of the file, or of the `describe` that calls it, time passes only as they say; timers run on. */
export function standStill(silenced: readonly ("warn" | "error")[] = []): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    // What the gateway logs of what a test does to it is no news.
    for (const level of silenced) vi.spyOn(console, level).mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
}
