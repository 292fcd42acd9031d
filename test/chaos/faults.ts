// The faults that strike the whole run: the gateway is killed, stopped, killed while stopped or just after its start; the
// origin refuses connections, alone or while the gateway restarts. Faults of single requests are planned by their clients.

import { setTimeout as pause } from "node:timers/promises";
import type { ChaosBucket } from "./bucket.ts";
import type { GatewayBox } from "./gateway-box.ts";
import type { Outage } from "../guarantees/history.ts";
import type { ChaosOrigin } from "./origin-client.ts";
import type { Random } from "./random.ts";

interface Victims {
  readonly gateway: GatewayBox;
  readonly origin: ChaosOrigin;
  readonly report: (outage: Outage) => void;
  readonly isOver: () => boolean;
}

/** Strikes until the run is over. Gateway and origin are up again when it resolves. */
export async function strike(victims: Victims, random: Random): Promise<void> {
  const { gateway } = victims;
  const refusal = (): Promise<void> => refuse(victims, random.int(200, 1_500));
  const stop = (): Promise<void> => gateway.stopDuring(() => pause(random.int(50, 2_500)));
  const killStopped = (): Promise<void> =>
    gateway.stopDuring(async () => {
      await pause(random.int(50, 500));
      await gateway.killAndRestart();
    });
  const killTwice = async (): Promise<void> => {
    await gateway.killAndRestart();
    await pause(random.int(0, 300));
    await gateway.killAndRestart();
  };
  const faults = [
    [8, () => gateway.killAndRestart()],
    [5, stop],
    [3, refusal],
    [1, killStopped],
    [2, killTwice],
    [1, () => both(refusal(), gateway.killAndRestart())],
    [1, () => both(refusal(), stop())],
  ] as const;
  while (!victims.isOver()) {
    await pause(random.int(200, 3_000));
    if (victims.isOver()) return;
    await random.weighted(faults)();
  }
}

/** Alternates between phases in which every bucket request fails and phases in which some fail at random. */
export async function strikeBucket(bucket: ChaosBucket, isOver: () => boolean, random: Random): Promise<void> {
  for (let fails = true; !isOver(); fails = !fails) {
    bucket.fail(fails);
    await pause(random.int(200, 2_000));
  }
}

async function refuse({ origin, report }: Victims, ms: number): Promise<void> {
  const from = Date.now();
  await origin.tell("refuse");
  await pause(ms);
  await origin.tell("listen");
  report({ type: "outage", kind: "origin-refuses", from, to: Date.now() });
}

async function both(...strikes: readonly Promise<void>[]): Promise<void> {
  await Promise.all(strikes);
}
