// From what a consumer asks to what its shard is sent: the record's name, and where it is. The group is always part of the name, so that
// no other group's keys exist for a token.

import { layoutName } from "../../kernel/config/layout.ts";
import type { ConsumerGroup } from "../../kernel/config/resolved.ts";
import type { Position } from "../../kernel/record/events.ts";
import { laneOf } from "../../kernel/record/lanes.ts";
import { attemptId, durationMs, fingerprint, keyHashOf } from "../../kernel/record/units.ts";
import type { ClaimAct, ClaimRequest } from "./claim-message.ts";
import { digest } from "../../kernel/request/digest.ts";
import { recordNames } from "../../kernel/request/read-scopes.ts";
import type { NamesIn } from "../../kernel/request/message.ts";
import { nameRecord } from "../../kernel/request/record-name.ts";
import type { ScopeValues } from "../../kernel/request/scope.ts";
import type { RequestedClaim } from "./claim-body.ts";

export async function claimRequest({ group, route }: ConsumerGroup, wish: RequestedClaim): Promise<ClaimRequest> {
  const { key, position } = wish;
  const scope = scopeOf(group, position);
  const namesIn: NamesIn = async (layout) => [await nameRecord(key, scope, layoutName(layout))];
  const [names, act, placedBy] = await Promise.all([
    namesIn(route.layouts.own),
    actOf(wish, route.rules.policy.lockMs),
    position === null ? null : partitionHash(group, position),
  ]);
  return {
    entry: {
      record: {
        ...recordNames(names),
        key,
        route: route.path,
        lane: laneOf(`claims ${group}`),
        ...(placedBy === null ? null : { placedBy }),
      },
      attemptId: attemptIn(group, wish.attemptId),
      act,
      position,
    },
    namesIn,
  };
}

/**
 * Begins with a word that no part of a request's scope is called, so that no client's key names a group's record. A record with a
 * position lies with the others of its partition, so the partition is part of its name.
 */
function scopeOf(group: string, position: Position | null): ScopeValues {
  const partition = position === null ? [] : [position.stream, String(position.partition)];
  return ["claims", group, ...partition];
}

/** What decides about the object of a partition. */
export async function partitionHash(
  group: string,
  { stream, partition }: Pick<Position, "stream" | "partition">,
): Promise<string> {
  return keyHashOf(await digest(["partition", group, stream, String(partition)]));
}

/** With the group, so that no consumer can name an attempt of the gateway's, or another group's. */
export function attemptIn(group: string, id: string): ReturnType<typeof attemptId> {
  return attemptId(`${group}:${id}`);
}

async function actOf(wish: RequestedClaim, lockMs: number): Promise<ClaimAct> {
  switch (wish.verb) {
    case "claim":
      return {
        verb: "claim",
        fingerprint: fingerprint(await digest(["claim", wish.payloadHash])),
        lockMs: durationMs(wish.lockMs ?? lockMs),
        holder: wish.holder,
      };
    case "extend":
      return { verb: "extend" };
    case "complete":
      return { verb: "complete", result: wish.result };
    case "release":
      return { verb: "release", effect: wish.effect, reason: wish.reason };
  }
}
