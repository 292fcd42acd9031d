// The question of operators about routes on trial.

import { jsonCall } from "../../../kernel/call.ts";
import type { DayCounts } from "../day-counts.ts";

/** What an object has counted of each route and day. */
export const OBSERVED_CALLS = { observed: jsonCall<void, readonly DayCounts[]>("observed") };
