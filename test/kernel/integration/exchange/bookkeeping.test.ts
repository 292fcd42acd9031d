// Bookkeeping that fails while an operation runs: counters, logs, caches. The operation took effect, so its client gets the
// answer, and a retry gets the same answer without a second call.

import { env, runInDurableObject } from "cloudflare:test";
import { connect } from "cloudflare:sockets";
import { expect, it, vi } from "vitest";
import { ObjectAlarm, type AlarmStorage } from "../../../../src/kernel/object/alarm.ts";
import { ExchangeRunner } from "../../../../src/kernel/object/exchanges.ts";
import { IsolateWork } from "../../../../src/kernel/object/isolate-work.ts";
import { AttemptHeartbeat } from "../../../../src/kernel/object/heartbeat.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import {
  type KnownAddresses,
  type KnownOrigins,
  OriginReachability,
} from "../../../../src/kernel/object/reachability.ts";
import { bytesBody, type RequestBody } from "../../../../src/kernel/body/request-body.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { again, headOf } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { nextDeadline } from "../../../support/integration/records.ts";

const ORIGIN = { kind: "url", url: "http://127.0.0.1:9" } as const;
const CALL = { origin: ORIGIN, method: "POST", url: "http://127.0.0.1:9/act", headers: [], hasBody: true } as const;

/** The parts of a shard that do bookkeeping. */
interface Parts {
  readonly traffic: TrafficCounters;
  readonly known: KnownAddresses;
  readonly origins: KnownOrigins;
  readonly heartbeat: AttemptHeartbeat;
  readonly body: RequestBody;
  readonly alarmStorage: AlarmStorage;
  readonly ledger: Ledger;
}

const fail = (): never => {
  throw new Error("bookkeeping failed");
};

const FAULTS: readonly (readonly [what: string, breakPart: (parts: Parts) => unknown])[] = [
  ["the address that could be connected to is not remembered", ({ known }) => vi.spyOn(known, "add")],
  [
    "the addresses cannot be read",
    ({ known, origins }) => {
      origins.clear();
      return vi.spyOn(known, "has");
    },
  ],
  ["the attempt is not counted", ({ traffic }) => vi.spyOn(traffic, "attempt")],
  ["its verdict is not counted", ({ traffic }) => vi.spyOn(traffic, "verdict")],
  ["the exchange is not counted", ({ traffic }) => vi.spyOn(traffic, "exchange")],
  ["its heart does not beat", ({ heartbeat }) => vi.spyOn(heartbeat, "begin")],
  ["its body is not released", ({ body }) => vi.spyOn(body, "release")],
  ["the alarm is not set", ({ alarmStorage }) => vi.spyOn(alarmStorage, "setAlarm")],
  ["the next deadline cannot be read", ({ ledger }) => vi.spyOn(ledger.lockEnds, "next")],
];

interface Seen {
  readonly answers: readonly string[];
  readonly calls: number;
  readonly faults: number;
}

/** One operation and its retry in a separate shard, one part of which always fails. */
function runWith(breakPart: (parts: Parts) => unknown, answer: () => Response): Promise<Seen> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const timers = new ObjectTimers();
    const origins: KnownOrigins = new Map([["127.0.0.1:9", { canProbe: true, uncertain: false, trialsLeft: 0 }]]);
    const parts: Parts = {
      traffic: new TrafficCounters(),
      known: { has: () => false, add: () => undefined },
      origins,
      heartbeat: new AttemptHeartbeat(timers, () => Promise.resolve()),
      body: bytesBody(new Uint8Array([1])),
      alarmStorage: { setAlarm: (time) => storage.setAlarm(time), getAlarm: () => storage.getAlarm() },
      ledger: new Ledger(storage),
    };
    let faults = 0;
    const broken = breakPart(parts);
    if (!vi.isMockFunction(broken)) throw new TypeError("a fault is a part that is spied on");
    broken.mockImplementation(() => {
      faults += 1;
      return fail();
    });
    let calls = 0;
    const target = {
      fetch: () => {
        calls += 1;
        return Promise.resolve(answer());
      },
    };
    const exchanges = new ExchangeRunner(
      {
        ledger: parts.ledger,
        alarm: new ObjectAlarm(parts.alarmStorage, () => nextDeadline(parts.ledger)),
        reachability: new OriginReachability(origins, parts.known, timers, connect),
        target: () => target,
        sync: () => storage.sync(),
        waitUntil: () => undefined,
        isolate: new IsolateWork(),
        heartbeat: parts.heartbeat,
        timers,
        reporter: new ExchangeReporter("shard", parts.traffic),
        limiter: () => null,
        shard: "shard",
        env: {},
        storage: storage,
      },
      [],
    );
    const head = headOf({ call: CALL }, "hold");
    const answers: string[] = [];
    for (const each of [head, again(head)]) {
      const response = await exchanges.run(each, parts.body, null);
      const isReplay = response.headers.has("Idempotent-Replayed");
      answers.push(`${response.status} ${await response.text()}${isReplay ? " again" : ""}`);
      // The attempt has ended by now.
      await scheduler.wait(0);
    }
    return { answers, calls, faults };
  });
}

silence();

it.each(FAULTS)("an operation that took effect is answered, and never repeated, when %s", async (_what, breakPart) => {
  const seen = await runWith(
    breakPart,
    () => new Response("done", { status: 201, headers: { "content-length": "4" } }),
  );
  expect(seen).toMatchObject({ answers: ["201 done", "201 done again"], calls: 1 });
  expect(seen.faults).toBeGreaterThan(0);
});

it.each(FAULTS)("an answer that comes in pieces is whole when %s", async (_what, breakPart) => {
  const seen = await runWith(breakPart, () => new Response("done", { status: 201 }));
  expect(seen).toMatchObject({ answers: ["201 done", "201 done again"], calls: 1 });
});
