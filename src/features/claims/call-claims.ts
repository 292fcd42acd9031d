// The Worker's calls to shards about consumers' claims: one for each object that keeps some of their records. What fails for one
// object is no reason to refuse the records of the others.

import { type Layout, layoutName } from "../../kernel/config/layout.ts";
import type { Policy } from "../../kernel/record/record.ts";
import { joinedPosition } from "../../kernel/record/position.ts";
import {
  type AskPosition,
  type CallClaims,
  type ClaimAnswer,
  type ClaimEntry,
  type ClaimMessage,
  type ClaimReply,
  type ClaimRequest,
  CLAIMS_CALL,
  POSITION_CALL,
} from "./message.ts";
import { placingOf } from "../../kernel/request/message.ts";
import { askObject, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { follow, MAX_HOPS } from "../../kernel/previous-shards/follow-hop.ts";
import { placeOf, type ShardPlace, shardTitle } from "../../kernel/object/shard-place.ts";

/** One of the requests, and its place among them. */
interface Placed extends ClaimRequest {
  readonly at: number;
}

const UNAVAILABLE: ClaimAnswer = { state: "unavailable" };

export function claimsCaller(namespace: DurableObjectNamespace): CallClaims {
  return async ({ layouts: { own }, rules: { policy } }, requests) => {
    const groups = new Map<string, { readonly place: ShardPlace; readonly placed: Placed[] }>();
    for (const [at, request] of requests.entries()) {
      const place = placeOf(placingOf(request.entry.record), own);
      const group = groups.get(shardTitle(place)) ?? { place, placed: [] };
      groups.set(shardTitle(place), group);
      group.placed.push({ ...request, at });
    }
    const answers = requests.map(() => UNAVAILABLE);
    await Promise.all(
      [...groups.values()].map(async ({ place, placed }) => {
        const replies = await ask(namespace, place, { policy, entries: placed.map(({ entry }) => entry) });
        await Promise.all(
          placed.map(async (one, index) => {
            answers[one.at] = await settled(namespace, own, policy, one, replies[index] ?? UNAVAILABLE);
          }),
        );
      }),
    );
    return answers;
  };
}

export function positionAsker(namespace: DurableObjectNamespace): AskPosition {
  return async ({ layouts: { own, elders } }, placedBy, question) => {
    const parts = [own, ...elders].map((layout) => {
      const place = placeOf(placedBy, layout);
      return withRetries(() => askObject(shardStub(namespace, place), POSITION_CALL, question));
    });
    return joinedPosition(await Promise.all(parts));
  };
}

/** One reply for each entry, or none. */
async function ask(
  namespace: DurableObjectNamespace,
  place: ShardPlace,
  message: ClaimMessage,
): Promise<readonly ClaimReply[]> {
  try {
    return await withRetries(() => askObject(shardStub(namespace, place), CLAIMS_CALL, message));
  } catch (error) {
    console.error({ message: "shard unavailable", reason: String(error) });
    return [];
  }
}

/** The answer of whichever object keeps the record. */
async function settled(
  namespace: DurableObjectNamespace,
  own: Layout,
  policy: Policy,
  { entry, namesIn }: ClaimRequest,
  first: ClaimReply,
): Promise<ClaimAnswer> {
  let reply = first;
  let layout = own;
  let next: ClaimEntry = entry;
  const { attemptId, act, position } = entry;
  try {
    for (let hops = 1; "hop" in reply && hops < MAX_HOPS; hops += 1) {
      const followed = await follow(reply.hop, layout, next, namesIn);
      ({ layout } = followed);
      const { record, elders, absent } = followed;
      next = { record, layout, elders, absent, attemptId, act, position };
      const place = placeOf(placingOf(next.record), layout);
      const [answer = UNAVAILABLE] = await ask(namespace, place, { policy, entries: [next] });
      reply = answer;
    }
  } catch (error) {
    console.error({ message: "a claim's record was not found", layout: layoutName(layout), reason: String(error) });
    return UNAVAILABLE;
  }
  return "hop" in reply ? UNAVAILABLE : reply;
}
