// What `check` says of a verification by state that can be deployed, and probably lets an operation run twice.

import { HOUR_MS, formatDuration } from "../../kernel/config/units.ts";
import type { ConfigProblem, Route } from "../../kernel/config/resolved.ts";

/** A search index follows its database late, and much later while the provider has trouble. */
export function hastySearch({ name, verify }: Route): readonly ConfigProblem[] {
  if (verify?.state === undefined || !/search/i.test(verify.target)) return [];
  const { settleMs } = verify.state;
  if (settleMs >= HOUR_MS) return [];
  const message =
    `is ${formatDuration(settleMs)}, and the path is that of a search, whose index may lag longer: an operation that took effect and is not found yet would ` +
    'run a second time: write settle = "2h"';
  return [{ path: `${name}.verify.settle`, code: "protection-weakened", message }];
}
