// A try ends in time, and when its caller aborts, although the garbage is collected while it waits. In Node 20 and 24, the signal of a
// Request that nobody holds any more aborts nothing.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, expect, it } from "vitest";

import { createFetch } from "../../../src/client/index.ts";
import { listen } from "../../support/origin-server.ts";

setFlagsFromString("--expose-gc");
const collector: unknown = runInNewContext("gc");

let server: Server;
let url: string;
beforeAll(async () => {
  // It never answers.
  server = createServer(() => undefined);
  url = `http://127.0.0.1:${(await listen(server, 0)).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Once the next request has arrived: its call only waits from then on. */
async function collectGarbage(): Promise<void> {
  if (typeof collector !== "function") throw new TypeError("this Node collects no garbage on demand");
  await once(server, "request");
  // What was reached in a turn is held until its end.
  for (let turns = 0; turns < 5; turns += 1) {
    await turn();
    Reflect.apply(collector, undefined, []);
  }
}

const POST = { method: "POST", body: "{}" };
const patient = createFetch({ tries: 1, tryMs: 60_000, totalMs: 60_000 });

it("ends a try that nobody answers", async () => {
  let giveUp = (): void => undefined;
  const clock = {
    now: Date.now,
    random: Math.random,
    after: (_ms: number, callback: () => void) => {
      giveUp = callback;
      return () => undefined;
    },
  };
  const sent = createFetch({ clock, tries: 1 })(url, POST);
  await collectGarbage();
  giveUp();
  await expect(sent).rejects.toMatchObject({ outcome: "unknown", tries: 1 });
});

it("ends when the caller aborts", async () => {
  const controller = new AbortController();
  const sent = patient(url, { ...POST, signal: controller.signal });
  await collectGarbage();
  controller.abort(new Error("enough"));
  await expect(sent).rejects.toThrow("enough");
});

it("ends when the caller of a Request aborts", async () => {
  const controller = new AbortController();
  const sent = patient(new Request(url, { ...POST, signal: controller.signal }));
  await collectGarbage();
  controller.abort(new Error("enough"));
  await expect(sent).rejects.toThrow("enough");
});
