// What the Worker asks an object about a key, and its answers.

import { jsonCall } from "../../kernel/call.ts";
import type { GivenOrElsewhere, PlacedRecord } from "../../kernel/elsewhere.ts";
import type { Policy } from "../../kernel/record/record.ts";
import type { KeyCount } from "../../kernel/request/scope.ts";
import type { RecordLabel } from "../../kernel/store/label.ts";
import type { KeyReport } from "./key-report.ts";

/** What became of a key; `given: null`: there is no record of it. Names alone are asked: no key, no credential. */
export const LOOK_UP_CALL = jsonCall<PlacedRecord, GivenOrElsewhere<KeyReport | null>>("look-up");

/** A client gives its key up. */
export interface KeyAbandonment {
  readonly placed: PlacedRecord;
  /** What operators see of the key, if nothing is known of it yet. */
  readonly label: RecordLabel;
  /** The route's. */
  readonly policy: Policy;
  /** For whom a key that is not known counts; absent: the route does not limit new keys. */
  readonly newKeys?: KeyCount;
}

export type AbandonmentAnswer =
  | { readonly kind: "abandoned" }
  /** An attempt took effect, may have, or is in flight. */
  | { readonly kind: "refused"; readonly report: KeyReport }
  /** Nothing is known of the key, and its caller has begun as many as it may. */
  | { readonly kind: "too-many-keys" };

/** Sees to it that no request with the key starts an attempt any more, if none has taken effect, may have, or is in flight. */
export const ABANDON_CALL = jsonCall<KeyAbandonment, GivenOrElsewhere<AbandonmentAnswer>>("abandon");
