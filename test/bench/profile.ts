// Where the gateway's time goes: V8's profile of the isolate under load, as rankings of functions, in µs per request.
// `npm run bench -- profile [--replay] [--path /v1/payments] [--main FILE] [--seconds 5] [--save FILE.cpuprofile]`.
// "(program)" is the runtime's own code outside any function: HTTP, the hop to the object, much of SQLite.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startWorkerd } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { showPhase } from "../support/progress.ts";
import { rankings, profileWhile } from "./cpu-profile.ts";
import { startOrigin } from "./processes.ts";
import { BODY } from "./requests-of-load.ts";
import { type Load, runWrk } from "./wrk.ts";

const { values: options } = parseArgs({
  options: {
    replay: { type: "boolean", default: false },
    path: { type: "string", default: "/v1/payments" },
    main: { type: "string" },
    seconds: { type: "string", default: "5" },
    save: { type: "string" },
  },
});

const SHOWN = 45;
const { replay, path, main, save } = options;
const stateDir = await mkdtemp("/dev/shm/onceway-profile-");
const origin = await startOrigin();
const inspectorPort = await freePort();
const gateway = await startWorkerd({
  stateDir: join(stateDir, "state"),
  inspectorPort,
  // A Worker of the benchmark itself reads ORIGIN.
  vars: { ORIGIN: origin.url, IDEMPOTENCY: { origin: origin.url, shards: 64 }, ROUTES: [{ path: "/v1/*" }] },
  ...(main === undefined ? {} : { main }),
});
try {
  const load: Omit<Load, "prefix"> = {
    url: gateway.url,
    path,
    keys: replay ? 5000 : "new",
    body: BODY,
    connections: 16,
    seconds: Number(options.seconds),
  };
  await showPhase("warm up", load.seconds, () => runWrk({ ...load, prefix: "warm" }));
  const measured = await showPhase("profile", load.seconds, () =>
    profileWhile(inspectorPort, () => runWrk({ ...load, prefix: replay ? "warm" : "run" })),
  );
  const { requests } = measured.result;
  const { bySelf, byTotal } = rankings(measured.profile);
  const line = ([name, us]: readonly [string, number]): string => `${(us / requests).toFixed(1).padStart(8)} ${name}`;
  console.log(`${requests} requests, ${measured.result.not2xx} not 2xx\n\nµs per request in the function itself`);
  console.log(bySelf.slice(0, SHOWN).map(line).join("\n"));
  console.log("\nµs per request in the function and what it calls");
  console.log(byTotal.slice(0, SHOWN).map(line).join("\n"));
  if (save !== undefined) await writeFile(save, JSON.stringify(measured.profile));
} finally {
  await gateway.stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
