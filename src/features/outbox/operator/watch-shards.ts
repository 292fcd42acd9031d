// Notices objects that do not answer, from outside: each pass asks all that can be enumerated, and reports to an object that keeps what
// operators had an alert. The first object hears of all others, and the second one of the first.

import type { AlertReport } from "../../../kernel/record/alerts.ts";
import { ALERTS_CALL } from "../object/outbox-calls.ts";
import { OPERATOR_CALLS } from "../../../kernel/object/operator-calls.ts";
import { askObject, shardStub } from "../../../kernel/object/call-shard.ts";
import { type ShardAddress, shardTitle } from "../../../kernel/object/shard-address.ts";
import { askObjects, namesOf, unlessSilent } from "../../../operator/ask-shards.ts";
import { ALL_ASKABLE, type ShardDirectory } from "../../../operator/shards.ts";

/** One pass, for the Worker's cron trigger. */
export async function watchShards(
  namespace: DurableObjectNamespace,
  directory: Pick<ShardDirectory, "listed" | "askedAlone" | "gatherings" | "operators"> &
    Partial<Pick<ShardDirectory, "askable">>,
): Promise<void> {
  const { operators } = directory;
  const isAskable = (await directory.askable?.()) ?? ALL_ASKABLE;
  const listed = directory.listed.filter(isAskable);
  const [first, second = operators] = listed;
  if (first === undefined) return;
  // As a scrape does: an object that cannot read its records is of no use either.
  const { unreachable } = await askObjects(namespace, directory, (shard) => shard(OPERATOR_CALLS).counts());
  const silent = new Set(namesOf(unreachable));
  const reportTo = async (keeper: ShardAddress, watched: readonly string[]): Promise<void> => {
    await reportAlert(namespace, keeper, {
      alert: "silent-shard",
      watched,
      silent: watched.filter((shard) => silent.has(shard)),
    });
  };
  const [its, ...others] = [...listed, ...directory.gatherings.map(({ address }) => address)].map(shardTitle);
  await Promise.all([reportTo(first, others), reportTo(second, its === undefined ? [] : [its])]);
}

/** Never rejects: what cannot be reported is in the log. */
export async function reportAlert(
  namespace: DurableObjectNamespace,
  keeper: ShardAddress,
  report: AlertReport,
): Promise<void> {
  const call = askObject(shardStub(namespace, keeper), ALERTS_CALL, report).then(() => true);
  if ((await unlessSilent(keeper, call)) === true) return;
  console.error({ message: "an alert could not be stored", alert: report.alert, keeper: shardTitle(keeper) });
}
