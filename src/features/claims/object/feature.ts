import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { claimCalls } from "./calls.ts";
import { ClaimList } from "./claim-list.ts";
import { Claims } from "./claims.ts";

export function claimsObject({ ledger, storage, steps, elders, timers }: ObjectKernel): ObjectFeature {
  const claims = new Claims({ ledger, steps, elders, timers });
  const list = new ClaimList(storage.sql, ledger.positions);
  return {
    name: "claims",
    calls: claimCalls(claims, list),
    numbers: () => ({ claims: list.counts(epochMs(Date.now())) }),
  };
}
