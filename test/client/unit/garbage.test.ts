// A try ends in time, and when its caller aborts, although the garbage is collected while it waits. In Node 20 and 24, the signal of a
// Request that nobody holds any more aborts nothing.

import { createServer, type Server } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, expect, it } from "vitest";

import { createFetch } from "../../../src/client/index.ts";
import { listen } from "../../support/origin-server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

let server: Server;
let url: string;
let collecting: NodeJS.Timeout;
beforeAll(async () => {
  server = createServer(() => undefined);
  url = `http://127.0.0.1:${(await listen(server, 0)).port}/`;
  if (typeof collectGarbage !== "function") throw new TypeError("this Node collects no garbage on demand");
  collecting = setInterval(() => void Reflect.apply(collectGarbage, undefined, []), 10);
});
afterAll(() => {
  clearInterval(collecting);
  server.closeAllConnections();
  server.close();
});

const send = createFetch({ tries: 1, tryMs: 300, totalMs: 60_000 });

it("ends a try that nobody answers", async () => {
  await expect(send(url, { method: "POST", body: "{}" })).rejects.toMatchObject({ outcome: "unknown", tries: 1 });
});

it("ends when the caller aborts", async () => {
  const controller = new AbortController();
  const patient = createFetch({ tries: 1, tryMs: 60_000, totalMs: 60_000 });
  const sent = patient(url, { method: "POST", body: "{}", signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 300);
  await expect(sent).rejects.toThrow("enough");
});

it("ends when the caller of a Request aborts", async () => {
  const controller = new AbortController();
  const patient = createFetch({ tries: 1, tryMs: 60_000, totalMs: 60_000 });
  const sent = patient(new Request(url, { method: "POST", body: "{}", signal: controller.signal }));
  setTimeout(() => controller.abort(new Error("enough")), 300);
  await expect(sent).rejects.toThrow("enough");
});
