// What an operator's requests about a layout with 4,096 objects take, in one process: calls to objects (those between objects counted too), milliseconds
// and bytes. First while no object exists yet, then when each has been asked.

import { SHARDS, startLargeScene } from "../support/e2e/large-scene.ts";

const REQUESTS = [
  ["overview", ""],
  ["page of unknown records", "/console/records?state=unknown"],
  ["list of unknown records", "/records?state=unknown"],
  ["scrape", "/metrics"],
  ["/drain", "/drain"],
  ["/hours", "/hours"],
  ["/recent", "/recent"],
  ["/outbox", "/outbox"],
  ["/positions", "/positions"],
] as const;
const ROUNDS = 3;

const scene = await startLargeScene();
try {
  await scene.unknown(3);
  const asked: string[] = [];
  let missing = SHARDS;
  while (missing > 0) {
    const { text, calls, ms } = await scene.ask("/drain");
    const left: unknown = JSON.parse(text).notAsked.missing;
    missing = Number(left);
    asked.push(`${calls} calls, ${ms} ms`);
  }
  console.log(`each of ${SHARDS} objects asked for the first time by ${asked.length} requests: ${asked.join("; ")}`);
  for (const [name, path] of REQUESTS) {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { status, calls, ms, bytes } = await scene.ask(path);
      console.log(`${name}: ${status}, ${calls} calls, ${ms} ms, ${bytes} bytes`);
    }
  }
} finally {
  await scene.close();
}
