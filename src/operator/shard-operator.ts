// Implements `Operator` with calls to the shards.

import type { Route } from "../kernel/config/resolved.ts";
import type { LayoutsView } from "./gateway-schema.ts";
import { keyHashOf, type RecordId } from "../kernel/record/units.ts";
import { encodeMessage } from "../kernel/request/message.ts";
import { keyHash } from "../kernel/request/record-name.ts";
import type { JsonCall, RawCall } from "../kernel/call.ts";
import { type CallsOf, callsOf } from "../kernel/object/itty.ts";
import {
  BODY_CALL,
  CHANGE_CALL,
  type ChangeAnswer,
  type ChangeHead,
  type ShardCounts,
  OPERATOR_CALLS,
} from "../kernel/object/operator-calls.ts";
import { TRAFFIC_CALLS } from "../kernel/object/shard-traffic.ts";
import type { Actor } from "./access/auth.ts";
import { eventOf } from "./change-request.ts";
import { addUp, askShards, type ShardAnswer, unlessSilent, firstWith } from "./ask-shards.ts";
import { type LayoutSummary, leftCounts, routeViews, summarizeLayouts } from "./layouts.ts";
import { type AskForList, listRecords } from "./list.ts";
import type {
  ChangeRequest,
  ChangeResult,
  Operator,
  RecordDetail,
  RecordFilter,
  RecordPage,
  AllCounts,
} from "./operator.ts";
import { type RecordReplays, sumOfReplays } from "../kernel/traffic/replay-counts.ts";
import { detailOf, summaryOf } from "./seen-record.ts";
import type { ShardAddress } from "../kernel/object/shard-address.ts";
import { askObject, shardStub } from "../kernel/object/call-shard.ts";
import { type LayoutShardAddress, ShardDirectory } from "./shards.ts";

type Calls = CallsOf<typeof OPERATOR_CALLS>;

export class ShardOperator implements Operator {
  readonly #namespace: DurableObjectNamespace;
  readonly #routes: readonly Route[];
  readonly #directory: ShardDirectory;

  constructor(namespace: DurableObjectNamespace, routes: readonly Route[], directory = new ShardDirectory(routes)) {
    this.#namespace = namespace;
    this.#routes = routes;
    this.#directory = directory;
  }

  get isPerKey(): boolean {
    return this.#directory.listed.length === 0;
  }

  get isChangingLayout(): boolean {
    return this.#directory.layouts.some(({ next }) => next !== null);
  }

  get routes(): LayoutsView["routes"] {
    return routeViews(this.#routes);
  }

  async list(
    filter: RecordFilter,
    limit: number,
    cursor: string | null,
    known: readonly string[] = [],
  ): Promise<RecordPage | null> {
    const { states, route, since, until, key, idPrefix, caller = null, status = null } = filter;
    const begin = key === null ? idPrefix : await keyHash(key);
    const query = {
      states,
      keyHash: begin,
      route,
      since,
      until,
      caller,
      status,
    };
    const addresses = begin === null ? this.#directory.listed : this.#directory.of(begin);
    const ask: AskForList = (address, asked) =>
      unlessSilent(address, this.#calls(address).list({ ...query, ...asked }));
    const listed = await listRecords(addresses, cursor, limit, ask, known);
    if (listed === null) return null;
    const { unreachable } = listed;
    // A list's first page fails when no shard answers. A partial answer for one key would look like "not found".
    const isBlind =
      begin === null ? cursor === null && unreachable.length === addresses.length : unreachable.length > 0;
    if (isBlind && unreachable.length > 0) throw new Error(`unreachable: ${unreachable.join(", ")}`);
    return { ...listed, records: listed.records.map(summaryOf) };
  }

  async inspect(id: RecordId): Promise<RecordDetail | null> {
    const found = await this.#find(id);
    return found === null ? null : { ...found.detail, replays: await this.#replaysOf(id, found.address) };
  }

  async body(id: RecordId): Promise<ReadableStream<Uint8Array> | null> {
    const found = await this.#find(id);
    if (found === null) return null;
    const response = await this.#fetch(found.address, BODY_CALL, id);
    return response.status === 200 ? (response.body ?? new Blob([]).stream()) : null;
  }

  async change(id: RecordId, change: ChangeRequest): Promise<ChangeResult> {
    const address = await firstWith(this.#directory.of(keyHashOf(id)), (one) => this.#calls(one).has(id));
    if (address === null) return { kind: "refused", why: "none" };
    // A preview gives nobody the response, so no object gets it.
    const { headers = [], body = new Uint8Array() } = (change.isPreview ? null : change.response) ?? {};
    const { isPreview } = change;
    const head: ChangeHead = { id, event: eventOf(change), headers, isPreview };
    const response = await this.#fetch(address, CHANGE_CALL, encodeMessage({ head, body }));
    const { why, detail } = await response.json<ChangeAnswer>();
    if (why === "none" || why === "completed" || why === "remembered") return { kind: "refused", why };
    const record = detail === null ? null : detailOf(detail, address);
    if (why === "in-flight") {
      return { kind: "refused", why, retryAfterMs: Math.max(0, (record?.lockedUntil ?? 0) - Date.now()) };
    }
    return record === null ? { kind: "forgotten" } : { kind: "changed", record };
  }

  async counts(): Promise<AllCounts> {
    const asked = await askShards(this.#namespace, this.#directory.listed, (shard) => shard(OPERATOR_CALLS).counts());
    return {
      shards: asked.flatMap(({ shard, layout, answer }) => {
        if (answer === null) return [];
        const { inFlight, failed, unknown, atLeast, bytes, waiting, oldestWaitingMs, placesTaken } = answer;
        return [{ shard, layout, inFlight, failed, unknown, waiting, oldestWaitingMs, placesTaken, atLeast, bytes }];
      }),
      layouts: await this.#summaries(asked),
      unreachable: asked.filter(({ answer }) => answer === null).map(({ shard }) => shard),
    };
  }

  /** Hands over what a layout leaves behind before it says that the layout may go. */
  async #summaries(asked: readonly ShardAnswer<ShardCounts>[]): Promise<readonly LayoutSummary[]> {
    const { layouts, totals } = this.#directory;
    const left = leftCounts(layouts, asked);
    const answer = left.length === 0 ? [] : await unlessSilent(totals, addUp(this.#namespace, totals, left));
    return summarizeLayouts(layouts, asked, answer !== null);
  }

  omittedHeaders(route: string): readonly string[] {
    return this.#routes.filter(({ path }) => path === route).flatMap(({ rules }) => rules.omitHeaders);
  }

  async sessions(): Promise<string> {
    return this.askOperators(OPERATOR_CALLS.sessions, undefined);
  }

  signIn(): Promise<string> {
    return this.sessions();
  }

  async endSessions(by: Actor): Promise<void> {
    await this.askOperators(OPERATOR_CALLS.endSessions, undefined);
    console.warn({ message: "every session of the console was ended", by: by.name });
  }

  /** Asks the operators' object. Rejects without an answer. */
  async askOperators<In, Out>(call: JsonCall<In, Out>, question: In): Promise<Out> {
    const { operators } = this.#directory;
    const asked = askObject(shardStub(this.#namespace, operators), call, question).then((given) => ({ given }));
    const answer = await unlessSilent(operators, asked);
    if (answer === null) throw new Error(`unreachable: ${operators.name}`);
    return answer.given;
  }

  async #find(id: RecordId): Promise<{ readonly address: LayoutShardAddress; readonly detail: RecordDetail } | null> {
    for (const address of this.#directory.of(keyHashOf(id))) {
      const detail = await this.#calls(address).inspect(id);
      if (detail !== null) return { address, detail: detailOf(detail, address) };
    }
    return null;
  }

  /** As far as its own object has counted them, and that which counts for the isolates. */
  async #replaysOf(id: RecordId, own: ShardAddress): Promise<RecordReplays | null> {
    const asked = [own, this.#directory.totals].map((address) =>
      unlessSilent(address, callsOf(TRAFFIC_CALLS, shardStub(this.#namespace, address)).replaysOf(id)),
    );
    return sumOfReplays((await Promise.all(asked)).filter((one) => one !== null));
  }

  #calls(address: ShardAddress): Calls {
    return callsOf(OPERATOR_CALLS, shardStub(this.#namespace, address));
  }

  #fetch(address: ShardAddress, { url }: RawCall, body: BodyInit): Promise<Response> {
    return shardStub(this.#namespace, address).fetch(url, { method: "POST", body });
  }
}
