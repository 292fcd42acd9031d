// The Worker's calls to shards about consumers' claims: one for each object that keeps some of their records. What fails for one
// object is no reason to refuse the records of the others.

import type { Layout } from "../../kernel/config/layout.ts";
import { type FindObject, isSameLayout, type PreviousLayouts } from "../../kernel/elsewhere.ts";
import type { Policy } from "../../kernel/record/record.ts";
import { keyHashOf } from "../../kernel/record/units.ts";
import { joinedPosition } from "../../kernel/record/position.ts";
import {
  type AskPosition,
  type CallClaims,
  type ClaimAnswer,
  type ClaimEntry,
  type ClaimReply,
  type ClaimRequest,
  CLAIMS_CALL,
  POSITION_CALL,
} from "./claim-message.ts";
import { recordNames } from "../../kernel/request/read-scopes.ts";
import { placingOf } from "../../kernel/request/message.ts";
import { askObject, keysInLog, locateKey, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { shardAddressOf, type ShardAddress, shardTitle } from "../../kernel/object/shard-address.ts";

const UNAVAILABLE: ClaimAnswer = { state: "unavailable" };

export function claimsCaller(namespace: DurableObjectNamespace, findObject: FindObject): CallClaims {
  return async ({ layouts, rules: { policy } }, requests) => {
    const { own, previous: before } = layouts;
    const calls = new SharedCalls(namespace, policy, requests.length);
    const settle = async (request: ClaimRequest): Promise<ClaimAnswer> => {
      try {
        const answer = await findObject<ClaimAnswer>(placingOf(request.entry.record), layouts, async (at, previous) => {
          const entry = await entryIn(request, at, own, previous, before.length > 0);
          const isForeign = at.jurisdiction !== own.jurisdiction;
          const located = isForeign ? await locateKey(namespace, at, entry) : null;
          if (located !== null) return located;
          const given = await calls.ask(shardAddressOf(placingOf(entry.record), at), entry);
          return "elsewhere" in given ? given.elsewhere : { kind: "given", given };
        });
        return answer ?? UNAVAILABLE;
      } catch (error) {
        const keyHash = keyHashOf(request.entry.record.id);
        console.error({ message: "a claim's record was not found", keyHash, reason: String(error) });
        return UNAVAILABLE;
      } finally {
        calls.leave();
      }
    };
    return Promise.all(requests.map(settle));
  };
}

/** The claim with its record's names in the layout of the object that it goes to. */
async function entryIn(
  { entry, namesIn }: ClaimRequest,
  at: Layout,
  own: Layout,
  previous: PreviousLayouts | undefined,
  isChanging: boolean,
): Promise<ClaimEntry> {
  const { position } = entry;
  if (!isChanging && previous === undefined && isSameLayout(at, own)) return entry;
  return {
    ...entry,
    record: { ...entry.record, ...recordNames(await namesIn(at)) },
    ...(previous === undefined ? null : { previous }),
    // The message before may have been claimed in the object of another layout: nobody waits for it here.
    position: position === null ? null : { ...position, previous: null },
  };
}

interface WaitingEntry {
  readonly entry: ClaimEntry;
  readonly answer: (reply: ClaimReply) => void;
}

/**
 * Claims that go to one object at the same time share a call, so that those of one message are one commit. A call leaves when each claim waits for an
 * answer, or has its own.
 */
class SharedCalls {
  readonly #namespace: DurableObjectNamespace;
  readonly #policy: Policy;
  /** Claims that may still join a call. */
  #walking: number;
  #waiting = new Map<string, { readonly address: ShardAddress; readonly entries: WaitingEntry[] }>();

  constructor(namespace: DurableObjectNamespace, policy: Policy, walking: number) {
    this.#namespace = namespace;
    this.#policy = policy;
    this.#walking = walking;
  }

  ask(address: ShardAddress, entry: ClaimEntry): Promise<ClaimReply> {
    const title = shardTitle(address);
    const call = this.#waiting.get(title) ?? { address, entries: [] };
    this.#waiting.set(title, call);
    return new Promise((answer) => {
      call.entries.push({ entry, answer });
      this.leave();
    });
  }

  /** A claim waits, or is over. */
  leave(): void {
    this.#walking -= 1;
    if (this.#walking > 0) return;
    const calls = this.#waiting;
    this.#waiting = new Map();
    for (const { address, entries } of calls.values()) void this.#send(address, entries);
  }

  async #send(address: ShardAddress, entries: readonly WaitingEntry[]): Promise<void> {
    const message = { policy: this.#policy, entries: entries.map(({ entry }) => entry) };
    const names = keysInLog(message.entries.map(({ record }) => record.id));
    const ask = (): Promise<readonly ClaimReply[]> =>
      askObject(shardStub(this.#namespace, address), CLAIMS_CALL, message);
    const replies = await withRetries(ask, names).catch((error: unknown): readonly ClaimReply[] => {
      console.error({ message: "shard unavailable", ...names, reason: String(error) });
      return [];
    });
    this.#walking += entries.length;
    for (const [index, { answer }] of entries.entries()) answer(replies[index] ?? UNAVAILABLE);
  }
}

export function positionAsker(namespace: DurableObjectNamespace): AskPosition {
  return async ({ layouts: { own, previous } }, placedBy, question) => {
    const parts = [own, ...previous].map((layout) => {
      const address = shardAddressOf(placedBy, layout);
      return withRetries(() => askObject(shardStub(namespace, address), POSITION_CALL, question));
    });
    return joinedPosition(await Promise.all(parts));
  };
}
