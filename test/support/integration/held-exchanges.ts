// The exchanges of one shard on the storage of a real object, with everything else under the test's control: when the origin
// answers, whether it is reachable, when a client leaves.

import { objectFeatures, objectFunctions } from "../../../src/features/object.ts";
import type { Due } from "../../../src/kernel/due.ts";
import type { StepHook } from "../../../src/kernel/step-hook.ts";
import { connect } from "cloudflare:sockets";
import { env, runInDurableObject } from "cloudflare:test";
import { epochMs } from "../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../src/kernel/request/message.ts";
import { ObjectAlarm } from "../../../src/kernel/object/alarm.ts";
import { ExchangeRunner } from "../../../src/kernel/object/exchanges.ts";
import { IsolateWork } from "../../../src/kernel/object/isolate-work.ts";
import { AttemptHeartbeat } from "../../../src/kernel/object/heartbeat.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { OriginReachability } from "../../../src/kernel/object/reachability.ts";
import type { RecordSteps } from "../../../src/kernel/object/record-steps.ts";
import { storeSync } from "../../../src/kernel/store/store-error.ts";
import { ObjectTimers } from "../../../src/kernel/object/timers.ts";
import { bytesBody } from "../../../src/kernel/body/request-body.ts";
import { TrafficCounters } from "../../../src/kernel/traffic/traffic.ts";
import { ExchangeReporter } from "../../../src/kernel/traffic/exchange-reporter.ts";

/** Network calls go nowhere. The test answers whether the origin is reachable. */
class HeldReachability extends OriginReachability {
  readonly #asked: () => Promise<boolean>;

  constructor(asked: () => Promise<boolean>, timers: ObjectTimers) {
    super(new Map(), { has: () => false, add: () => undefined }, timers, connect);
    this.#asked = asked;
  }

  override isReachable(): Promise<boolean> {
    return this.#asked();
  }
}

export interface HeldWorld {
  /** What the origin does with a call. */
  origin: (url: string) => Promise<Response>;
  /** Whether an origin on the network can be connected to. */
  isReachable: () => Promise<boolean>;
  /** What the rate limiter says of a caller's new key. */
  limit: (caller: string) => Promise<{ readonly success: boolean }>;
  /** Whether the store is full: no record can be changed. */
  isFull: boolean;
  /** Called when it has refused a change for that. */
  refused: () => void;
}

export interface HeldExchanges {
  readonly world: HeldWorld;
  readonly steps: RecordSteps;
  readonly dues: readonly Due[];
  readonly hooks: readonly StepHook[];
  readonly ledger: Ledger;
  readonly traffic: TrafficCounters;
  /** One request; `caller` is its client, who may leave. */
  readonly run: (head: ExchangeHead, caller?: AbortController) => Promise<Response>;
}

export async function withExchanges(
  test: (exchanges: HeldExchanges) => Promise<void>,
  setAlarm: (storage: DurableObjectStorage, time: number) => Promise<void> = (storage, time) => storage.setAlarm(time),
): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, async (_instance, state) => {
    const { storage } = state;
    const world: HeldWorld = {
      origin: () => Promise.resolve(new Response("done", { status: 201 })),
      isReachable: () => Promise.resolve(true),
      limit: () => Promise.resolve({ success: true }),
      isFull: false,
      refused: () => undefined,
    };
    const exec: SqlStorage["exec"] = (query, ...values) => {
      if (world.isFull && /^UPDATE OR \w+ records/.test(query)) {
        world.refused();
        throw new Error("database or disk is full");
      }
      return storage.sql.exec(query, ...values);
    };
    const transactionSync = <T>(run: () => T): T => storage.transactionSync(run);
    const ledger = new Ledger({ sql: { exec }, transactionSync }, null, (afterMs) =>
      alarm.moveTo(epochMs(Date.now() + afterMs)),
    );
    const alarm = new ObjectAlarm(
      { setAlarm: (time) => setAlarm(storage, time), getAlarm: () => storage.getAlarm() },
      () => exchanges.nextDeadline(),
    );
    const timers = new ObjectTimers();
    const traffic = new TrafficCounters();
    const exchanges = new ExchangeRunner(
      {
        ledger,
        alarm,
        reachability: new HeldReachability(() => world.isReachable(), timers),
        target: () => ({ fetch: (url: string) => world.origin(url) }),
        sync: storeSync(() => storage.sync()),
        waitUntil: (promise) => {
          state.waitUntil(promise);
        },
        isolate: new IsolateWork(),
        heartbeat: new AttemptHeartbeat(timers, () => Promise.resolve()),
        timers,
        reporter: new ExchangeReporter("shard", traffic),
        limiter: () => ({ limit: ({ key }) => world.limit(key) }),
        shard: "shard",
        env: {},
        storage: { sql: { exec }, transactionSync },
      },
      objectFeatures,
      objectFunctions,
    );
    await test({
      world,
      steps: exchanges.steps,
      dues: exchanges.dues,
      hooks: exchanges.hooks,
      ledger,
      traffic,
      run: (head, caller) => exchanges.run(head, bytesBody(new Uint8Array()), caller ?? null),
    });
  });
}
