// Runs around each test file of this folder: all of them share one workerd, so what a file leaves behind ends with it.

import { reset } from "cloudflare:test";
import { afterAll, vi } from "vitest";

afterAll(async () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  // Objects would go on with their alarms, and call the origin of the next file.
  await reset();
});
