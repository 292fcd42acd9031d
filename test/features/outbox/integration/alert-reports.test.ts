// What Workers report to the objects that keep what operators are told: dead letters, and objects that do not answer.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { AlertReport } from "../../../../src/kernel/record/alerts.ts";
import { ALERTS_CALL } from "../../../../src/features/outbox/object/outbox-calls.ts";
import { watchShards } from "../../../../src/features/outbox/operator/watch-shards.ts";
import { ShardBench } from "../../../support/integration/shard-bench.ts";
import { Hooks } from "./hooks.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

async function report(bench: ShardBench, what: AlertReport): Promise<number> {
  return (await bench.stub.fetch(ALERTS_CALL.url, { method: "POST", body: JSON.stringify(what) })).status;
}

describe("operators", () => {
  it("are told of a dead letter with its record, once however often the message comes", async () => {
    const bench = new ShardBench();
    const hooks = new Hooks(bench);
    const recordId = "a".repeat(64);
    const letter = {
      alert: "dead-letter",
      queue: "orders",
      messageId: "m1",
      reason: "outcome-unknown",
      recordId,
    } as const;
    expect([await report(bench, letter), await report(bench, letter)]).toEqual([200, 200]);
    await eventually(() => expect(hooks.of("ops")).toHaveLength(1));
    expect(hooks.of("ops")).toMatchObject([
      {
        id: "alert-dead-letter-orders/m1",
        event: {
          type: "dev.onceway.alert.dead-letter",
          subject: recordId,
          data: {
            queue: "orders",
            reason: "outcome-unknown",
            link: `https://ops.example/_onceway/console/records/${recordId}`,
          },
        },
      },
    ]);
  });

  it("are told of an object that cannot read its records, and that it answers again, also of the one that keeps this", async () => {
    const hooks = new Hooks(new ShardBench());
    const set = crypto.randomUUID();
    const places = ["a", "b", "c"].map((name) => {
      return { name: `${name}-${set}`, jurisdiction: null, locationHint: null, layout: "three" };
    });
    const [a, b] = places;
    if (a === undefined || b === undefined) throw new Error("no places");
    const watch = (): Promise<void> =>
      watchShards(env.KEY_SHARD, { listed: places, askedAlone: places, gatherings: [], operators: a });
    const change = (name: string, statement: string): Promise<unknown> =>
      runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.idFromName(name)), (_instance, { storage }) =>
        storage.sql.exec(statement),
      );
    await watch();
    for (const { name } of [a, b]) await change(name, "ALTER TABLE records RENAME TO hidden");
    for (let passes = 0; passes < 3; passes += 1) await watch();
    await eventually(() => expect(hooks.of("ops")).toHaveLength(2));
    for (const { name } of [a, b]) await change(name, "ALTER TABLE hidden RENAME TO records");
    for (let passes = 0; passes < 2; passes += 1) await watch();
    await eventually(() => expect(hooks.of("ops")).toHaveLength(4));
    const said = hooks.of("ops").map(({ event }) => {
      return /"phase":"(\w+)","shards":\["(\w)-/.exec(JSON.stringify(event))?.slice(1).join(" ");
    });
    expect(new Set(said)).toEqual(new Set(["begun a", "begun b", "ended a", "ended b"]));
  });
});
