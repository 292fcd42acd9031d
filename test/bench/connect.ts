// Measures what it costs to open a connection to the origin before a call (src/kernel/object/origin-call.ts): the first call of an
// isolate does so, and each call after one that broke. `npm run bench -- connect`

import { fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { makeStateDir, startWorkerd } from "../support/gateway.ts";
import { Progress } from "../support/progress.ts";
import { median } from "./quantiles.ts";

const ROUNDS = 500;
const WARM_UP = 100;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function timed(url: string): Promise<number> {
  const begun = performance.now();
  const outgoing = httpRequest(url, { agent });
  outgoing.end();
  const [response] = await once(outgoing, "response");
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
  await text(response);
  return performance.now() - begun;
}

const source = fork(fileURLToPath(new URL("stream-source.ts", import.meta.url)), [], { execArgv: [] });
const [origin]: unknown[] = await once(source, "message");
const stateDir = await makeStateDir();
const main = fileURLToPath(new URL("connect-first/index.ts", import.meta.url));
const worker = await startWorkerd({ stateDir, main, vars: { ORIGIN: String(origin), IDEMPOTENCY: {}, ROUTES: [] } });
try {
  const times = { "/plain": [] as number[], "/connect-first": [] as number[] };
  const progress = new Progress("calls", WARM_UP + ROUNDS, { unit: "rounds" });
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    progress.show(round);
    for (const path of ["/plain", "/connect-first"] as const) {
      const ms = await timed(worker.url + path);
      if (round >= WARM_UP) times[path].push(ms);
    }
  }
  progress.end();
  const plain = median(times["/plain"]);
  const first = median(times["/connect-first"]);
  console.log(`${ROUNDS} interleaved rounds over loopback, medians: a call ${plain.toFixed(2)} ms, with a connection`);
  console.log(
    `opened first ${first.toFixed(2)} ms: ${(first - plain).toFixed(2)} ms more, and one round trip on a network.`,
  );
} finally {
  agent.destroy();
  await worker.stop();
  await rm(stateDir, { recursive: true, force: true });
  source.disconnect();
}
