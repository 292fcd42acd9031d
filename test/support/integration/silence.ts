// The gateway logs the faults that a test causes; in the tests' own output they would be noise.

import { afterAll, vi } from "vitest";

/** For the calling file: the console says nothing of these levels, and all stand-ins end with the file. */
export function silence(levels: readonly ("warn" | "error")[] = ["warn", "error"]): void {
  for (const level of levels) vi.spyOn(console, level).mockImplementation(() => undefined);
  afterAll(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
}
