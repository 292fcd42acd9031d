// Whatever the log says of one exchange, in the object and in the Worker, has the key's hash and the exchange's instance, which a problem's
// client gets too: one search finds all of it. What is said of a monitor has the key's hash.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import type { Script } from "../../../support/origin.ts";
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
const LINE = /\{\s*(?:message: '|"message":")([^'"]+)['"][^}]*\}/g;

const NAMES = { keyHash: /"?keyHash"?: ?['"]([0-9a-f]{32})/, instance: /"?instance"?: ?['"](urn:uuid:[0-9a-f-]{36})/ };

/** The messages by the value of this member, in order. */
function linesBy(name: keyof typeof NAMES): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>();
  for (const [line, message = ""] of scene.gateway.output().matchAll(LINE)) {
    const value = NAMES[name].exec(line)?.[1];
    if (value !== undefined) lines.set(value, [...(lines.get(value) ?? []), message]);
  }
  return lines;
}

function instanceIn({ body }: RawResponse): unknown {
  return JSON.parse(body.toString()).instance;
}

const TRIES = ["shard call failed, trying again", "shard call failed, trying again", "shard unavailable"];

/** Of an accepted request whose next attempt is an hour away. */
async function waitingMonitor(): Promise<Message> {
  const behave: Script = { status: 503, headers: [["Retry-After", "3600"]] };
  const { headers } = await scene.send({ path: "/accepted", key: freshKey(), behave });
  const path = headers.find(([name]) => name.toLowerCase() === "location")?.[1] ?? "";
  const monitor = { method: "GET", path, body: null };
  const isWaiting = async (): Promise<true | null> =>
    (await scene.send(monitor)).body.includes('"waiting"') ? true : null;
  await until(isWaiting, "an accepted request that waits");
  return monitor;
}

it("has the key's hash and the instance in every line of an exchange", async () => {
  const dropped = { behave: { drop: "after-effect" } } as const;
  const first = await scene.send({ path: "/closed", key: freshKey(), ...dropped });
  const monitor = await waitingMonitor();
  const key = freshKey();
  let problems: readonly unknown[] = [];
  const database = openShardDatabase(scene.gateway);
  database.lock();
  try {
    const unavailable = await scene.send({ path: "/closed", key: freshKey() });
    await scene.send({ path: "/open", key });
    const forwarded = await scene.send({ path: "/open", key, ...dropped });
    problems = [first, unavailable, forwarded].map(instanceIn);
    await scene.send({ ...monitor, method: "DELETE" });
  } finally {
    database.unlock();
    database.close();
  }
  const areAll = (): boolean =>
    [...linesBy("instance").values()].filter((messages) => messages.includes("exchange")).length === 5;
  await until(() => Promise.resolve(areAll() ? true : null), "five lines of exchanges");
  const unprotected = [...TRIES, "record unreachable, request forwarded UNPROTECTED"];
  const byInstance = linesBy("instance");
  expect([...byInstance.values()]).toEqual([
    ["origin call failed", "exchange"],
    ["exchange"],
    [...TRIES, "exchange"],
    [...unprotected, "exchange"],
    [...unprotected, "unprotected call failed", "exchange"],
  ]);
  // Of the three whose clients got a problem.
  expect(problems).toEqual([0, 2, 4].map((at) => [...byInstance.keys()][at]));
  expect([...linesBy("keyHash").values()]).toEqual([
    ["origin call failed", "exchange"],
    ["exchange", ...TRIES],
    [...TRIES, "exchange"],
    [...unprotected, "exchange", ...unprotected, "unprotected call failed", "exchange"],
  ]);
});
