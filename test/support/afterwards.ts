// Runs after each test file of the projects whose files share a process: clocks and stubs that a file leaves end with it.

import { afterAll, vi } from "vitest";

afterAll(() => {
  // Before the timers: what spied on a timer puts back the one that it found.
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});
