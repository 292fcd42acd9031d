// What has to come to pass: asked until it has.

import { vi } from "vitest";

/** What must succeed may take long on a machine with other work. */
const SUCCEEDS_WITHIN = { timeout: 60_000 };

/** Resolves with what `check` returns once it throws no more. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  // oxlint-disable-next-line no-restricted-properties -- here it has the time
  return vi.waitFor(check, SUCCEEDS_WITHIN);
}
