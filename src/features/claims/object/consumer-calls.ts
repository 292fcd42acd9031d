// The calls about claims and positions: consumers' messages, and operators' questions.

import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { answerCall, type AnsweredCall, jsonCall } from "../../../kernel/call.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import { CLAIMS_CALL, POSITION_CALL } from "../claim-message.ts";
import { ClaimList, type GroupCounts, type PositionQuery, type SeenPosition } from "./claim-list.ts";
import { ClaimActions, type PositionChange } from "./claims.ts";
import { PositionRows } from "./position-rows.ts";

/** Questions, through itty-durable. */
export const CLAIM_CALLS = {
  /** The claims of each group that are not completed. */
  counts: jsonCall<void, readonly GroupCounts[]>("count-claims"),
  /** How far groups have read. */
  positions: jsonCall<PositionQuery, readonly SeenPosition[]>("list-positions"),
  /** Sets where a group goes on in a partition. Answered whether it is set here. */
  setPosition: jsonCall<PositionChange, boolean>("set-position"),
};

function claimCalls(claims: ClaimActions, list: ClaimList): readonly AnsweredCall[] {
  return [
    answerCall(CLAIMS_CALL, (message) => claims.answer(message)),
    answerCall(POSITION_CALL, (partition) => claims.position(partition)),
    answerCall(CLAIM_CALLS.counts, () => list.counts(epochMs(Date.now()))),
    answerCall(CLAIM_CALLS.positions, (query) => list.page(query, epochMs(Date.now()))),
    answerCall(CLAIM_CALLS.setPosition, (change) => claims.setPosition(change)),
  ];
}

export function claimsObject({ ledger, storage, steps, elsewhere, timers }: ObjectKernel): ObjectFeature {
  const positions = new PositionRows(ledger.tables);
  const claims = new ClaimActions({ ledger, positions, steps, elsewhere, timers });
  const list = new ClaimList(storage.sql, positions);
  return {
    name: "claims",
    calls: claimCalls(claims, list),
    numbers: () => list.counts(epochMs(Date.now())),
  };
}
