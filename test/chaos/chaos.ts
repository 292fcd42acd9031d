// One run: the gateway and the origin in processes of their own, clients that insist, faults that strike; then a calm phase
// in which every key is asked until it is settled, and a look at the disk. Everything goes into the history, in order.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { makeStateDir } from "../support/gateway.ts";
import { showNothing, type ShowPhase } from "../support/progress.ts";
import { settleAll } from "./calm.ts";
import { runClient } from "./clients.ts";
import type { Desk } from "./clients.ts";
import { startBucket } from "./bucket.ts";
import type { ChaosBucket } from "./bucket.ts";
import type { Dimensions } from "./dimensions.ts";
import { strike, strikeBucket } from "./faults.ts";
import { bucketAt, quietPort, startGatewayBox } from "./gateway-box.ts";
import type { GatewayBox } from "./gateway-box.ts";
import type { HistoryEvent } from "./history.ts";
import { watchLag, watchPulse } from "./lag.ts";
import { lookAtLedger } from "./ledger.ts";
import { ADMIN_TOKEN, runOperator } from "./operators.ts";
import { startChaosOrigin } from "./origin-client.ts";
import { createRandom } from "./random.ts";
import { AMBIGUOUS, gatewayVars, policiesOf, REFUSED } from "./routes.ts";

/** One is all keys in one object; per key is an object for each. */
const SHARDS: readonly (number | "per-key")[] = [1, 4, 16, "per-key"];
const WATCHED_SHARDS = 50;
const SHARDS_AT_THE_END = 1_000;
const LOOK_EVERY_MS = 3_000;
/** The longest that the alarms may take for what is due at the end. */
const ALARMS_MS = 10_000;
const OPERATORS = 2;

export interface RunOptions {
  readonly seed: string;
  /** Of the phase with faults. */
  readonly seconds: number;
  readonly clients: number;
  readonly dimensions: Dimensions;
  /** Where the history goes, one JSON object a line. */
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
    refused: REFUSED,
    ambiguous: AMBIGUOUS,
  });

  const stateDir = await makeStateDir();
  const origin = await startChaosOrigin(await quietPort(), report);
  const shards = random.pick(SHARDS);
  const bucket = dimensions.has("bucket")
    ? await startBucket(await quietPort(), createRandom(seed, "bucket"), report)
    : null;
  const vars = { ...gatewayVars(origin.url, shards, dimensions), ADMIN_TOKEN };
  const bound = bucket === null ? {} : bucketAt(bucket.port);
  const gateway = await startGatewayBox({ vars, stateDir, ...bound }, report);
  const stopWatching = watchLag(report);
  const stopPulse = await watchPulse(gateway.port, stateDir, report);
  try {
    const endAt = Date.now() + seconds * 1_000;
    const isOver = (): boolean => Date.now() >= endAt;
    const desk: Desk = { port: gateway.port, dimensions, errands: [], report, isOver };
    const operators = dimensions.has("operators") ? OPERATORS : 0;
    await showPhase("faults strike", seconds, () =>
      Promise.all([
        ...Array.from({ length: clients }, (_, n) => runClient(desk, createRandom(seed, `client ${n}`))),
        ...Array.from({ length: operators }, (_, n) => runOperator(desk, createRandom(seed, `operator ${n}`))),
        strike({ gateway, origin, report, isOver }, createRandom(seed, "faults")),
        bucket === null ? null : strikeBucket(bucket, isOver, createRandom(seed, "bucket faults")),
        watchLedger(stateDir, report, isOver),
      ]),
    );
    await origin.tell("calm");
    bucket?.calm();
    const calm = `no faults: each of ${desk.errands.length} operations is asked about until it is settled`;
    await showPhase(calm, null, () => settleAll(desk, createRandom(seed, "calm")));
    await showPhase(`alarms erase what is due, ${ALARMS_MS / 1000} s at most`, null, () =>
      awaitAlarms(gateway, bucket, report),
    );
  } finally {
    stopWatching();
    await stopPulse();
    await gateway.close();
    await origin.close();
    await bucket?.close();
    await rm(stateDir, { recursive: true, force: true });
    output.end();
    await finished(output);
  }
}

const NO_BUCKET: ReadonlySet<string> = new Set();

/** Counts what goes from the disk by itself. */
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

/** Nobody asks any more: what is due has to go by itself. */
async function awaitAlarms(
  { stateDir }: GatewayBox,
  bucket: ChaosBucket | null,
  report: (event: HistoryEvent) => void,
): Promise<void> {
  const giveUpAt = Date.now() + ALARMS_MS;
  for (;;) {
    const { names: _, ...look } = await lookAtLedger(
      stateDir,
      new Set(),
      SHARDS_AT_THE_END,
      bucket?.names() ?? NO_BUCKET,
    );
    const isClean = look.overdue + look.orphans + look.strays.length + look.unread === 0;
    if (isClean || Date.now() > giveUpAt) {
      report(look);
      return;
    }
    await pause(500);
  }
}
