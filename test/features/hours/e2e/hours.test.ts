// What operators see of a day: requests, duplicates prevented and times by route, and the replays of a record, whoever gave them.

import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";

const REPLAYS = 5;

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 2, scope: ["none"] }, [{ path: "/pay/*" }]);
});
afterAll(() => scene.close());

const hoursOf = v.object({
  hours: v.array(
    v.object({
      routes: v.array(
        v.object({
          route: v.string(),
          requests: v.number(),
          prevented: v.number(),
          origin: v.looseObject({ count: v.number() }),
        }),
      ),
    }),
  ),
  unreachable: v.array(v.string()),
});
const recordsOf = v.object({ records: v.tuple([v.looseObject({ id: v.string() })]) });
const replaysIn = v.looseObject({ replays: v.nullable(v.object({ count: v.number(), lastAt: v.string() })) });

it("counts what the shards and the Workers' memories have answered", async () => {
  const key = freshKey();
  expect((await scene.send({ path: "/pay/1", key })).status).toBe(201);
  const begun = Date.now();
  for (let sent = 0; sent < REPLAYS; sent += 1) await scene.send({ path: "/pay/1", key });
  const { records } = v.parse(recordsOf, (await scene.ask("GET", `/records?key=${key}`)).json);
  // A Worker hands over what it has answered alone within ten seconds.
  const replays = await until(async () => {
    const { json } = await scene.ask("GET", `/records/${records[0].id}`);
    const reported = v.parse(replaysIn, json).replays;
    return reported?.count === REPLAYS ? reported : null;
  }, "every replay is counted");
  expect(Date.parse(replays.lastAt)).toBeGreaterThanOrEqual(begun - 1);
  const { hours, unreachable } = v.parse(hoursOf, (await scene.ask("GET", "/hours")).json);
  expect(unreachable).toEqual([]);
  const routes = hours.flatMap((hour) => hour.routes);
  expect(routes.every(({ route }) => route === "/pay/*")).toBe(true);
  const sum = (of: (route: (typeof routes)[number]) => number): number =>
    routes.reduce((total, route) => total + of(route), 0);
  expect(sum(({ requests }) => requests)).toBe(1 + REPLAYS);
  expect(sum(({ prevented }) => prevented)).toBe(REPLAYS);
  expect(sum(({ origin }) => origin.count)).toBe(1);
});
