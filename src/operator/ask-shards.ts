// Asks each shard one question and continues without those that do not answer: when one fails, an operator needs the others
// most. The caller names the unreachable ones, so that a missing count is never shown as zero.

import { firstOf } from "../kernel/request/first-of.ts";
import type { JsonCall } from "../kernel/call.ts";
import { type CallsOf, callsOf } from "../kernel/object/itty.ts";
import { type ShardAddress, shardTitle } from "../kernel/object/shard-address.ts";
import { askObject, shardStub } from "../kernel/object/call-shard.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import type { RouteNumbers } from "../kernel/traffic/route-counters.ts";
import { TOTALS_CALL } from "../kernel/object/shard-traffic.ts";
import { GATHER_CALL, type GatherAnswer, type GatherWants } from "../kernel/object/gathering.ts";
import { type CallBudget, HALF_BUDGET, planAsking, type PlannedGathering } from "./asking-plan.ts";
import type { NotAskedView } from "./schema-members.ts";
import {
  gatheredAddress,
  type IsAskable,
  type LayoutShardAddress,
  narrowedGathering,
  type ShardDirectory,
} from "./shards.ts";

/** One shard's answer; `null` when it failed or did not answer in time. */
export interface ShardAnswer<T> {
  readonly shard: string;
  readonly layout: string;
  readonly answer: T | null;
}

/** Objects asked at the same time: enough to be fast, few enough for one Worker. */
const SHARDS_AT_ONCE = 64;

/** Even a busy shard answers within a fraction of this, and no operator should have to wait longer. */
export const SILENT_AFTER_MS = 5_000;

/** A gathering object asks for three seconds, and waits for an object as long (gatherer.ts). */
const GATHERING_SILENT_AFTER_MS = 8_000;

/** Asks one shard the questions of a table. */
export type AskShard = <Table extends Readonly<Record<string, JsonCall>>>(table: Table) => CallsOf<Table>;

export interface AskedShard<T> extends ShardAnswer<T> {
  readonly address: LayoutShardAddress;
}

/** In the order of `addresses`. */
export async function askShards<T>(
  namespace: DurableObjectNamespace,
  addresses: readonly LayoutShardAddress[],
  question: (shard: AskShard) => Promise<T>,
): Promise<readonly AskedShard<T>[]> {
  const answers: AskedShard<T>[] = [];
  for (let at = 0; at < addresses.length; at += SHARDS_AT_ONCE) {
    const some = addresses.slice(at, at + SHARDS_AT_ONCE).map(async (address) => {
      const stub = shardStub(namespace, address);
      const answer = await unlessSilent(
        address,
        question((table) => callsOf(table, stub)),
      );
      return { address, shard: shardTitle(address), layout: address.layout, answer };
    });
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

/** What a request has heard of all objects. */
export interface AskedObjects<T> {
  /** Of objects of small layouts. */
  readonly alone: readonly AskedShard<T>[];
  /** Of gathering objects that answered. */
  readonly gathered: readonly GatheredObjects[];
  readonly unreachable: readonly UnreachableObject[];
  readonly notAsked: NotAskedView;
}

export interface GatheredObjects extends PlannedGathering {
  readonly answer: GatherAnswer;
}

interface AnsweredGathering extends PlannedGathering {
  /** `null`: it did not answer in time. */
  readonly answer: GatherAnswer | null;
}

/** It did not answer, or the object that gathers for it did not. */
export interface UnreachableObject {
  readonly shard: string;
  readonly layout: string;
}

export interface AskingOptions {
  /** False: gathering objects ask nobody, and answer what they know. */
  readonly asksMore?: boolean;
  readonly wants?: GatherWants;
  readonly budget?: CallBudget;
  /** By layout: the numbers of objects that are asked first. */
  readonly first?: ReadonlyMap<string, readonly number[]>;
  /** Which objects are asked: what the directory says, if nothing is said here. */
  readonly isAskable?: IsAskable;
}

/** What is asked of a directory; without `askable` all of it. */
type AskedDirectory = Pick<ShardDirectory, "askedAlone" | "gatherings"> & Partial<Pick<ShardDirectory, "askable">>;

function narrowed(
  { askedAlone, gatherings }: AskedDirectory,
  isAskable: IsAskable,
): Pick<ShardDirectory, "askedAlone" | "gatherings"> {
  return {
    askedAlone: askedAlone.filter(isAskable),
    gatherings: gatherings.flatMap((one) => narrowedGathering(one, isAskable)),
  };
}

/** Asks the objects of small layouts one by one, and gathering objects for what they know of the others (asking-plan.ts). */
export async function askObjects<T>(
  namespace: DurableObjectNamespace,
  directory: AskedDirectory,
  question: (shard: AskShard) => Promise<T>,
  { asksMore = true, wants = {}, budget, first = new Map(), isAskable: given }: AskingOptions = {},
): Promise<AskedObjects<T>> {
  const isAskable = given ?? (await directory.askable?.());
  const plan = planAsking(isAskable === undefined ? directory : narrowed(directory, isAskable), Date.now(), budget);
  const gather = async ({ gathering, ask }: PlannedGathering): Promise<AnsweredGathering> => {
    const { address, layout, from, count, only } = gathering;
    const asked = {
      layout,
      from,
      count,
      ...(only === undefined ? null : { only }),
      ask: asksMore ? ask : 0,
      first: first.get(address.layout) ?? [],
      wants,
    };
    const answered = askObject(shardStub(namespace, address), GATHER_CALL, asked);
    const answer = await unlessSilent(address, answered, GATHERING_SILENT_AFTER_MS);
    return { gathering, ask, answer };
  };
  const [alone, answers] = await Promise.all([
    askShards(namespace, plan.alone, question),
    Promise.all(plan.gatherings.map(gather)),
  ]);
  const gathered = answers.flatMap(({ answer, ...of }) => (answer === null ? [] : [{ ...of, answer }]));
  return { alone, gathered, unreachable: unreachableOf(alone, answers), notAsked: notAskedOf(gathered, plan.missing) };
}

function unreachableOf(
  alone: readonly ShardAnswer<unknown>[],
  gathered: readonly AnsweredGathering[],
): readonly UnreachableObject[] {
  return [
    ...alone.filter(({ answer }) => answer === null),
    ...gathered.flatMap(({ gathering, answer }) => {
      const { address } = gathering;
      const silent = answer?.unreachable.map((number) => gatheredAddress(gathering, number)) ?? [address];
      return silent.map((one) => ({ shard: shardTitle(one), layout: address.layout }));
    }),
  ].map(({ shard, layout }) => ({ shard, layout }));
}

function notAskedOf(gathered: readonly GatheredObjects[], missing: number): NotAskedView {
  const sum = (of: "earlier" | "never"): number => gathered.reduce((all, { answer }) => all + answer[of], 0);
  const oldest = gathered.flatMap(({ answer }) => (answer.earlier === 0 ? [] : (answer.oldestAt ?? [])));
  return {
    earlier: sum("earlier"),
    missing: missing + sum("never"),
    oldestAnswerAt: oldest.length === 0 ? null : new Date(Math.min(...oldest)).toISOString(),
  };
}

/** An object that holds something of a feature's. */
export interface FeatureHolder<T> {
  readonly address: LayoutShardAddress;
  readonly held: T;
}

export interface AskedHolders<T> extends Pick<AskedObjects<T>, "notAsked"> {
  readonly holders: readonly FeatureHolder<T>[];
  readonly unreachable: readonly string[];
}

/** What a feature holds in each object, as its `numbers` have it and `question` asks for it. Rejects when no object answers. */
export async function askHolders<T>(
  namespace: DurableObjectNamespace,
  directory: AskedDirectory,
  feature: string,
  question: (shard: AskShard) => Promise<T>,
): Promise<AskedHolders<T>> {
  const options = { wants: { features: [feature] }, budget: HALF_BUDGET };
  const asked = await askObjects(namespace, directory, question, options);
  const { alone, gathered, notAsked } = asked;
  const unreachable = namesOf(asked.unreachable);
  if (unreachable.length > 0 && gathered.length === 0 && alone.every(({ answer }) => answer === null)) {
    throw new Error(`unreachable: ${unreachable.join(", ")}`);
  }
  const holders = [
    ...alone.flatMap(({ address, answer }) => (answer === null ? [] : [{ address, held: answer }])),
    ...gathered.flatMap(({ gathering, answer: { features } }) =>
      (features[feature] ?? []).map(({ shard, held }) => ({
        address: gatheredAddress(gathering, shard),
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the feature wrote it, in the same form
        held: held as T,
      })),
    ),
  ];
  return { holders, unreachable, notAsked };
}

/**
 * Objects of a layout that may be open: all of a small one. Of a large one, `most` at most that are not known to be closed, and as many of each gathering
 * object as it can ask again within the budget.
 */
export async function askWhichAreOpen(
  namespace: DurableObjectNamespace,
  { askedAlone, gatherings }: Pick<ShardDirectory, "askedAlone" | "gatherings">,
  layout: string,
  budget: CallBudget,
  most: number,
): Promise<readonly NumberedAddress[]> {
  const isWanted = ({ address }: { readonly address: LayoutShardAddress }): boolean => address.layout === layout;
  const asked = gatherings.filter(isWanted);
  const { gathered } = await askObjects(namespace, { askedAlone: [], gatherings: asked }, () => Promise.resolve(null), {
    asksMore: false,
    wants: { open: true },
    budget,
  });
  const share = Math.floor(most / Math.max(1, asked.length));
  return [
    ...askedAlone.map((address, number) => ({ address, number })).filter(isWanted),
    ...gathered.flatMap(({ gathering, ask, answer }) =>
      answer.open
        .slice(0, Math.min(share, ask))
        .map((number) => ({ address: gatheredAddress(gathering, number), number })),
    ),
  ];
}

export interface NumberedAddress {
  readonly address: LayoutShardAddress;
  readonly number: number;
}

/** The names of objects that did not answer. */
export function namesOf(objects: readonly UnreachableObject[]): readonly string[] {
  return objects.map(({ shard }) => shard);
}

/** Has the totals' object remember these numbers, and returns the totals. */
export function addUp(
  namespace: DurableObjectNamespace,
  totals: ShardAddress,
  counted: readonly CountedByShard[],
): Promise<readonly RouteNumbers[]> {
  return askObject(shardStub(namespace, totals), TOTALS_CALL, counted);
}

/** The answer of a shard; `null` when it is unreachable. */
export async function unlessSilent<T>(
  address: ShardAddress,
  answer: Promise<T>,
  silentAfterMs = SILENT_AFTER_MS,
): Promise<T | null> {
  try {
    const heard = await firstOf(
      answer.then((value) => ({ value })),
      silentAfterMs,
    );
    if (heard === null) throw new Error(`no answer within ${silentAfterMs} ms`);
    return heard.value;
  } catch (error) {
    console.warn({ message: "shard unreachable", shard: shardTitle(address), reason: String(error) });
    return null;
  }
}

/** The first of these addresses that has it, asked one after the other; `null`: none has. */
export async function firstWith(
  addresses: Iterable<LayoutShardAddress>,
  has: (address: LayoutShardAddress) => Promise<boolean>,
): Promise<LayoutShardAddress | null> {
  for (const address of addresses) if (await has(address)) return address;
  return null;
}
