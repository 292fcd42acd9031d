// What the Worker asks an object about a key, and its answer.

import { jsonCall } from "../../kernel/call.ts";
import type { GivenOrElsewhere, PlacedRecord } from "../../kernel/elsewhere.ts";
import type { KeyReport } from "./key-report.ts";

/** What became of a key; `given: null`: there is no record of it. Names alone are asked: no key, no credential. */
export const LOOK_UP_CALL = jsonCall<PlacedRecord, GivenOrElsewhere<KeyReport | null>>("look-up");
