// A stopped clock, also in the objects, which share the isolate with the tests.

import { afterAll, afterEach, beforeEach, vi } from "vitest";

/** In the tests of the calling file or `describe`, time passes only when they say so. Timers keep running. */
export function standStill(silenced: readonly ("warn" | "error")[] = []): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
    // The gateway logs the faults that a test causes; here that is noise.
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
