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
  OPERATOR_CALLS,
} from "../kernel/object/operator-calls.ts";
import { TRAFFIC_CALLS } from "../kernel/object/shard-traffic.ts";
import type { Actor } from "./access/auth.ts";
import { addUp, askObjects, namesOf, type ShardAnswer, unlessSilent, firstWith } from "./ask-shards.ts";
import {
  type CountedObjects,
  type LayoutSummary,
  leftCounts,
  objectsIn,
  routeViews,
  summarizeLayouts,
} from "./layouts.ts";
import type { AskForList } from "./list.ts";
import { LAST_PAGE } from "./list-cursor.ts";
import { listInGroups } from "./list-groups.ts";
import { boundedPlaces, NOTHING_LISTED, silentOnes, usedObjects } from "./asked-places.ts";
import type {
  ChangeRequest,
  ChangeResult,
  CountsOptions,
  Operator,
  RecordDetail,
  RecordFilter,
  RecordPage,
  RecordSummary,
  AllCounts,
} from "./operator.ts";
import { eventOf, openCounts } from "./operator.ts";
import { type RecordReplays, sumOfReplays } from "../kernel/traffic/replay-counts.ts";
import { detailOf, summaryOf } from "./seen-record.ts";
import { viewGatheredShard, viewShard } from "./views.ts";
import { OLDEST } from "../kernel/object/gathering.ts";
import { type ShardAddress, shardTitle } from "../kernel/object/shard-address.ts";
import { askObject, shardStub } from "../kernel/object/call-shard.ts";
import { ALL_ASKABLE, gatheredAddress, type IsAskable, type LayoutShardAddress, ShardDirectory } from "./shards.ts";

type Calls = CallsOf<typeof OPERATOR_CALLS>;

/** Of so many shards a page lists the latest unknown records besides its counts; each may be asked twice. */
const MOST_LISTED = 64;

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
    maxCalls?: number,
  ): Promise<RecordPage | null> {
    const { key, idPrefix } = filter;
    const begin = key === null ? idPrefix : await keyHash(key);
    const addresses = begin === null ? this.#directory.listed : this.#directory.of(begin);
    const listed = await this.#listIn(
      addresses,
      { ...filter, key: null, idPrefix: begin },
      limit,
      cursor,
      known,
      maxCalls,
    );
    if (listed === null) return null;
    const { unreachable } = listed;
    // A list's first page fails when no shard answers. A partial answer for one key would look like "not found".
    const isBlind =
      begin === null ? cursor === null && unreachable.length === addresses.length : unreachable.length > 0;
    if (isBlind && unreachable.length > 0) throw new Error(`unreachable: ${unreachable.join(", ")}`);
    return listed;
  }

  async #listIn(
    addresses: readonly LayoutShardAddress[],
    { states, route, since, until, idPrefix, caller = null, status = null }: RecordFilter,
    limit: number,
    cursor: string | null,
    known: readonly string[],
    maxCalls?: number,
  ): Promise<RecordPage | null> {
    const query = { states, keyHash: idPrefix, route, since, until, caller, status };
    const isAskable = await this.#directory.askable();
    const ask: AskForList = (address, asked) =>
      isAskable(address)
        ? unlessSilent(address, this.#calls(address).list({ ...query, ...asked }))
        : Promise.resolve(NOTHING_LISTED);
    const listed = await listInGroups(addresses, cursor, limit, ask, known, maxCalls);
    return listed === null ? null : { ...listed, records: listed.records.map(summaryOf) };
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
    const address = await firstWith(await this.#places(id), (one) => this.#calls(one).has(id));
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

  async counts({ isAll = false, ...options }: CountsOptions = {}): Promise<AllCounts> {
    const isAskable = isAll ? ALL_ASKABLE : await this.#directory.askable();
    const how = { ...options, isAskable };
    const asked = askObjects(this.#namespace, this.#directory, (shard) => shard(OPERATOR_CALLS).counts(), how);
    const { alone, gathered, unreachable, notAsked } = await asked;
    if (isAll) await this.#directory.noteUsed(usedObjects(alone));
    const answers: readonly ShardAnswer<CountedObjects>[] = [
      ...alone.filter(({ answer }) => answer !== null),
      ...gathered.flatMap(({ gathering: { address }, answer: { together } }) =>
        together.map((answer) => ({ shard: shardTitle(address), layout: address.layout, answer })),
      ),
    ];
    const oldest = gathered.flatMap(({ gathering, answer }) =>
      answer.oldest.map(({ shard, ...counts }) => viewGatheredShard(gatheredAddress(gathering, shard), counts)),
    );
    const all = answers.flatMap(({ answer }) => answer ?? []);
    return {
      shards: [
        ...alone.flatMap(({ answer, ...of }) => (answer === null ? [] : [viewShard(of.shard, of.layout, answer)])),
        ...oldest,
      ],
      total: {
        ...openCounts(all),
        objects: all.reduce((sum, one) => sum + objectsIn(one), 0),
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        oldestWaitingMs: Math.max(0, ...all.map(({ oldestWaitingMs }) => oldestWaitingMs)),
      },
      layouts: await this.#summaries([...answers, ...silentOnes(unreachable)], isAskable),
      unreachable: namesOf(unreachable),
      notAsked,
    };
  }

  async oldest(state: "started" | "unknown", { shards, unreachable }: AllCounts): Promise<readonly RecordSummary[]> {
    const age = state === "started" ? "oldestMs" : "oldestUnknownMs";
    const oldest = shards
      .filter((one) => one[age] > 0 || one[state === "started" ? "inFlight" : "unknown"] > 0)
      .toSorted((one, other) => other[age] - one[age])
      .slice(0, OLDEST);
    if (oldest.length === 0) return [];
    const page = await this.#listIn(this.#addressesOf(oldest), inState(state), OLDEST, LAST_PAGE, unreachable);
    return (page?.records ?? []).toReversed();
  }

  async latestUnknown(
    { shards, unreachable }: Pick<AllCounts, "shards" | "unreachable">,
    limit: number,
  ): Promise<readonly RecordSummary[]> {
    const most = shards
      .filter(({ unknown }) => unknown > 0)
      .toSorted((one, other) => other.unknown - one.unknown)
      .slice(0, MOST_LISTED);
    const addresses = this.#addressesOf(most);
    const page = await this.#listIn(addresses, inState("unknown"), limit, null, unreachable, 2 * MOST_LISTED);
    return page?.records ?? [];
  }

  #addressesOf(shards: AllCounts["shards"]): readonly LayoutShardAddress[] {
    const names = new Set(shards.map(({ shard }) => shard));
    return this.#directory.listed.filter((address) => names.has(shardTitle(address)));
  }

  /** Hands over what a layout leaves behind before it says that the layout may go. */
  async #summaries(
    asked: readonly ShardAnswer<CountedObjects>[],
    isAskable: IsAskable,
  ): Promise<readonly LayoutSummary[]> {
    const { layouts, totals } = this.#directory;
    const left = leftCounts(layouts, asked);
    const answer = left.length === 0 ? [] : await unlessSilent(totals, addUp(this.#namespace, totals, left));
    const unused = this.#directory.listed.filter((address) => !isAskable(address));
    return summarizeLayouts(layouts, asked, answer !== null, unused);
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
    for (const address of await this.#places(id)) {
      const detail = await this.#calls(address).inspect(id);
      if (detail !== null) return { address, detail: detailOf(detail, address) };
    }
    return null;
  }

  /** Where the record can be. */
  async #places(id: RecordId): Promise<Iterable<LayoutShardAddress>> {
    return boundedPlaces(this.#directory.of(keyHashOf(id)).filter(await this.#directory.askable()));
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

function inState(state: RecordFilter["states"][number]): RecordFilter {
  return { states: [state], route: null, since: null, until: null, key: null, idPrefix: null };
}
