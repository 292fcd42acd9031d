// One run: the gateway and the origin in separate processes, clients that retry, faults that strike. Then a calm phase in
// which every key is requested until it is settled, and a look at the disk. Everything goes into the history, in order.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { startIssuer } from "../support/issuer.ts";
import { startAgents } from "./agents.ts";
import { STRANGER } from "./keys.ts";
import { SCOPES } from "./operation.ts";
import { makeStateDir, type WorkerdOptions } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { showNothing, type ShowPhase } from "../support/progress.ts";
import { runClient, settleAll } from "./clients.ts";
import type { Run } from "./clients.ts";
import { startBucket } from "./bucket.ts";
import { runProducer, settleMessages, startQueues } from "./deliveries.ts";
import type { Dimensions } from "./dimensions.ts";
import { strike, strikeBucket } from "./faults.ts";
import { CONSUMER_TOKENS, GROUP_POLICIES, GROUPS, Partition, runConsumer, settleClaims } from "./consumers.ts";
import { runFloods } from "./floods.ts";
import { runCarefulClient } from "./careful-clients.ts";
import { bucketAt, startGatewayBox } from "./gateway-box.ts";
import type { HistoryEvent } from "../guarantees/history.ts";
import { eventsIn } from "../guarantees/recorders/broker-journal.ts";
import { watchLag, watchPulse } from "../guarantees/recorders/lag.ts";
import { ALARMS_MS, awaitAlarms, lookAtLedger, NO_BUCKET } from "../guarantees/recorders/ledger.ts";
import { finishObserved, runObserved } from "./observed.ts";
import { ADMIN_TOKEN, runOperator, runQueueOperator } from "./operators.ts";
import { startChaosOrigin } from "./origin-client.ts";
import { relayAll, runOutboxOperator } from "./outbox.ts";
import { LETTER_DESTINATION, QUEUE_SECRETS } from "./queues.ts";
import { DESTINATIONS, HOOK_SECRET, startReceiver } from "./receiver-client.ts";
import { createRandom } from "./random.ts";
import { AMBIGUOUS, gatewayVars, policiesOf, REFUSED, SAID } from "./routes.ts";

/** 1 puts all keys into one object; "per-key" gives each key its own. */
const SHARDS: readonly (number | "per-key")[] = [1, 4, 16, "per-key"];
const WATCHED_SHARDS = 50;
const LOOK_EVERY_MS = 3_000;
const OPERATORS = 2;
const CONSUMERS_OF_GROUP = 2;
const PRODUCERS = 2;
const CAREFUL_CLIENTS = 6;
const OBSERVED_CLIENTS = 3;

export interface RunOptions {
  readonly seed: string;
  /** Length of the phase with faults. */
  readonly seconds: number;
  readonly clients: number;
  readonly dimensions: Dimensions;
  /** The history is written here, one JSON object per line. */
  readonly file: string;
  readonly showPhase?: ShowPhase;
}

export async function runChaos({
  seed,
  seconds,
  clients,
  dimensions,
  file,
  showPhase = showNothing,
}: RunOptions): Promise<void> {
  const output = createWriteStream(file);
  const report = (event: HistoryEvent): void => void output.write(`${JSON.stringify(event)}\n`);
  const random = createRandom(seed, "run");
  const startedAt = Date.now();
  report({
    type: "meta",
    seed,
    seconds,
    startedAt,
    policies: policiesOf(dimensions),
    groups: GROUP_POLICIES,
    refused: REFUSED,
    ambiguous: AMBIGUOUS,
    byBody: Object.values(SAID),
  });

  const stateDir = await makeStateDir();
  const origin = await startChaosOrigin(await freePort(), report);
  const shards = random.pick(SHARDS);
  const bucket = dimensions.has("bucket")
    ? await startBucket(await freePort(), createRandom(seed, "bucket"), report)
    : null;
  const issuer = dimensions.has("tokens") ? await startIssuer("https://login.example.com") : null;
  const agents = dimensions.has("signatures") ? await startAgents([...SCOPES, STRANGER]) : null;
  // Operators cannot end the rest of a destination in objects that are not listed.
  const isListed = shards !== "per-key";
  const receiver = dimensions.has("events") ? await startReceiver(await freePort(), seed, !isListed, report) : null;
  const queues = dimensions.has("deliveries")
    ? await startQueues(stateDir, createRandom(seed, "broker"), !isListed)
    : null;
  const destinations = [...(receiver === null ? [] : DESTINATIONS), ...(queues === null ? [] : [LETTER_DESTINATION])];
  const vars = {
    ...gatewayVars(origin.url, shards, dimensions, issuer, receiver?.destinations, agents),
    ADMIN_TOKEN,
    HOOK_SECRET,
    ...CONSUMER_TOKENS,
    ...QUEUE_SECRETS,
  };
  const bound = bindAll(queues?.bound, bucket === null ? undefined : bucketAt(bucket.port));
  const gateway = await startGatewayBox({ vars, stateDir, ...bound }, report);
  const stopWatching = watchLag(report);
  const stopPulse = await watchPulse(gateway.port, stateDir, report);
  try {
    const endAt = Date.now() + seconds * 1_000;
    const isOver = (): boolean => Date.now() >= endAt;
    const run: Run = {
      port: () => gateway.port,
      dimensions,
      tasks: [],
      kept: [],
      issuer,
      agents,
      monitors: new Map(),
      report,
      isOver,
    };
    const operators = dimensions.has("operators") ? OPERATORS : 0;
    const partitions = dimensions.has("claims") ? GROUPS.map((group) => new Partition(group)) : [];
    const claims = { port: run.port, report, isOver };
    const careful = dimensions.has("look-ups") ? Array.from({ length: CAREFUL_CLIENTS }, (_, n) => n) : [];
    const observers = dimensions.has("observe") ? Array.from({ length: OBSERVED_CLIENTS }, (_, n) => n) : [];
    const floods = dimensions.has("lanes") ? [createRandom(seed, "floods")] : [];
    const producers = queues === null ? [] : Array.from({ length: PRODUCERS }, () => queues);
    await showPhase("faults strike", seconds, () =>
      Promise.all([
        ...floods.map(async (chance) => void run.tasks.push(...(await runFloods(run, chance)))),
        ...observers.map((n) => runObserved(run, createRandom(seed, `observed ${n}`))),
        ...careful.map((n) => runCarefulClient(run, createRandom(seed, `careful client ${n}`))),
        ...producers.map((of, n) => runProducer({ queues: of, report, isOver }, createRandom(seed, `producer ${n}`))),
        ...producers
          .slice(0, operators)
          .map((of, n) => runQueueOperator(run, of.records, createRandom(seed, `queue operator ${n}`))),
        ...Array.from({ length: clients }, (_, n) => runClient(run, createRandom(seed, `client ${n}`))),
        ...Array.from({ length: operators }, (_, n) => runOperator(run, createRandom(seed, `operator ${n}`))),
        strike({ gateway, origin, report, isOver }, createRandom(seed, "faults")),
        ...partitions.flatMap((one) =>
          Array.from({ length: CONSUMERS_OF_GROUP }, (_, n) =>
            runConsumer(claims, one, createRandom(seed, `consumer ${one.group} ${n}`)),
          ),
        ),
        destinations.length === 0 || !isListed
          ? null
          : runOutboxOperator(run, destinations, createRandom(seed, "outbox")),
        bucket === null ? null : strikeBucket(bucket, isOver, createRandom(seed, "bucket faults")),
        watchLedger(stateDir, report, isOver),
      ]),
    );
    run.tasks.push(...run.kept);
    await origin.tell("calm");
    await receiver?.calm();
    bucket?.calm();
    const calm = `no faults: each of ${run.tasks.length} operations is asked about until it is settled`;
    await showPhase(calm, null, () => settleAll(run, createRandom(seed, "calm")));
    if (observers.length > 0)
      await showPhase("what was observed is counted", null, () => finishObserved(run, createRandom(seed, "observed")));
    for (const partition of partitions) await settleClaims(claims, partition);
    if (queues !== null) {
      await showPhase("messages are settled", null, () =>
        settleMessages({ ...run, queues, stateDir, report }, createRandom(seed, "settling")),
      );
    }
    if (destinations.length > 0) {
      await showPhase("all events are taken", null, () => relayAll(run.port, gateway.stateDir, destinations, report));
    }
    await showPhase(`alarms erase what is due, ${ALARMS_MS / 1000} s at most`, null, async () =>
      report(await awaitAlarms(gateway.stateDir, () => bucket?.names() ?? NO_BUCKET)),
    );
  } finally {
    stopWatching();
    await stopPulse();
    await gateway.close();
    await origin.close();
    await receiver?.close();
    await bucket?.close();
    await issuer?.close();
    await agents?.close();
    await queues?.broker.close();
    for (const event of eventsIn((await queues?.broker.readJournal()) ?? [])) report(event);
    await rm(stateDir, { recursive: true, force: true });
    output.end();
    await finished(output);
  }
}

type Bound = Pick<WorkerdOptions, "extraBindings" | "extraServices" | "extraSockets" | "experimental">;

/** All that the gateway's process needs for others. */
function bindAll(...parts: readonly (Bound | undefined)[]): Required<Bound> {
  return {
    extraBindings: parts.flatMap((part) => part?.extraBindings ?? []),
    extraServices: parts.flatMap((part) => part?.extraServices ?? []),
    extraSockets: parts.flatMap((part) => part?.extraSockets ?? []),
    experimental: parts.some((part) => part?.experimental === true),
  };
}

/** Counts the records that alarms erase from the disk. */
async function watchLedger(
  stateDir: string,
  report: (event: HistoryEvent) => void,
  isOver: () => boolean,
): Promise<void> {
  const seen = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  while (!isOver()) {
    const { names, unread } = await lookAtLedger(stateDir, seen, WATCHED_SHARDS, NO_BUCKET);
    if (unread === 0) {
      report({ type: "erased", count: [...before].filter((name) => !names.has(name)).length });
      before = names;
    }
    await pause(LOOK_EVERY_MS);
  }
}
