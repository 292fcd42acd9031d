// Whatever the log says of one exchange, in the object and in the Worker, has the key's hash, which the line of the exchange has too: one
// search finds all of it. So has what is said of its monitor.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { type Message, type Scene, startScene, until } from "../../../support/e2e/scene.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1, scope: ["none"], log: "all" }, [
    { path: "/closed" },
    { path: "/open", on_store_failure: "open" },
    { path: "/accepted", async: "always" },
  ]);
});
afterAll(() => scene.close());

/** An object as workerd prints it, or a line of JSON. */
const LINE = /(?:message: '|"message":")([^'"]+)['"],?\s*(?:"?keyHash"?: ?['"]([0-9a-f]{32}))?/g;

/** The messages by key, in order. */
function linesByKey(): readonly (readonly string[])[] {
  const byKey = new Map<string, string[]>();
  for (const [, message = "", keyHash] of scene.gateway.output().matchAll(LINE)) {
    if (keyHash !== undefined) byKey.set(keyHash, [...(byKey.get(keyHash) ?? []), message]);
  }
  return [...byKey.values()];
}

const TRIES = ["shard call failed, trying again", "shard call failed, trying again", "shard unavailable"];

/** Of an accepted request whose next attempt is an hour away. */
async function waitingMonitor(): Promise<Message> {
  const later = { behave: { status: 503, headers: [["Retry-After", "3600"]] } } as const;
  const { headers } = await scene.send({ path: "/accepted", key: freshKey(), ...later });
  const path = headers.find(([name]) => name.toLowerCase() === "location")?.[1] ?? "";
  const monitor = { method: "GET", path, body: null };
  const isWaiting = async (): Promise<true | null> =>
    (await scene.send(monitor)).body.includes('"waiting"') ? true : null;
  await until(isWaiting, "an accepted request that waits");
  return monitor;
}

it("has the key's hash in every line of an exchange", async () => {
  const dropped = { behave: { drop: "after-effect" } } as const;
  await scene.send({ path: "/closed", key: freshKey(), ...dropped });
  const monitor = await waitingMonitor();
  const database = openShardDatabase(scene.gateway);
  database.lock();
  try {
    await scene.send({ path: "/closed", key: freshKey() });
    await scene.send({ path: "/open", key: freshKey() });
    await scene.send({ path: "/open", key: freshKey(), ...dropped });
    await scene.send({ ...monitor, method: "DELETE" });
  } finally {
    database.unlock();
    database.close();
  }
  const areAll = (): boolean => linesByKey().filter((messages) => messages.includes("exchange")).length === 5;
  await until(() => Promise.resolve(areAll() ? true : null), "five lines of exchanges");
  const unprotected = [...TRIES, "record unreachable, request forwarded UNPROTECTED"];
  expect(linesByKey()).toEqual([
    ["origin call failed", "exchange"],
    ["exchange", ...TRIES],
    [...TRIES, "exchange"],
    [...unprotected, "exchange"],
    [...unprotected, "unprotected call failed", "exchange"],
  ]);
});
