// Runs after each test file of the projects whose files share a process: clocks and stubs that a file leaves end with it.

import { afterAll, vi } from "vitest";

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
