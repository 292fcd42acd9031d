// How much of the isolate's memory many clients take. The platform allows 128 MB; the figure beside each case is without the
// bounds. `npm run bench -- streams` prints the whole table.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { manyRequests, unread, waiting } from "../../../bench/crowds.ts";
import { watchIsolate } from "../../../bench/isolate-memory.ts";
import { exchange, MIB } from "../../../bench/requests.ts";
import { makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";
import { removeGateway } from "../../../support/e2e/scene.ts";

const MOST_MIB = 100;

const CROWDS = [
  // 290 MiB.
  waiting("duplicates that wait for the answer to a large request", {
    count: 100,
    requestBytes: 1_000_000,
    answerBytes: 2,
  }),
  // 150 MiB.
  waiting("duplicates that wait for a large answer", { count: 600, requestBytes: 2, answerBytes: 250_000 }),
  // 290 MiB.
  manyRequests("large requests at once", 100, 1_000_000),
  // 110 to 160 MiB.
  unread("replays that nobody reads", { count: 600, bytes: 2 * MIB, keys: 1 }),
];

it.each(CROWDS)(`$name take less than ${MOST_MIB} MiB`, async (scenario) => {
  const source = fork(fileURLToPath(new URL("../../../bench/stream-source.ts", import.meta.url)), [], { execArgv: [] });
  const [origin]: unknown[] = await once(source, "message");
  const inspectorPort = await freePort();
  const bounds = { max_response_body: "200MiB", max_request_body: "90MiB" };
  const gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    inspectorPort,
    vars: {
      IDEMPOTENCY: { origin: String(origin) },
      ROUTES: [{ path: "/*", duplicate: "wait", wait: "30s", ...bounds }],
    },
  });
  try {
    await exchange(gateway.url, { path: "/events" });
    expect(await watchIsolate(inspectorPort, () => scenario.run(gateway.url))).toBeLessThan(MOST_MIB);
  } finally {
    await removeGateway(gateway);
    source.disconnect();
  }
});
