// Two processes with one configuration while `shards` changes: each speaks only for its own records, so the older number may go
// only when both say so.

import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CommandOutcome } from "../../support/command-line.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { freshKey } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { isReplay, send } from "../../support/e2e/guarantees-client.ts";
import { ADMIN_TOKEN } from "../../support/e2e/operator-scene.ts";
import { cleanUp, serve, type ServeProcess, writeDeployment } from "../../support/e2e/serve-process.ts";

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(async () => {
  await cleanUp();
  await origin.close();
});

interface Place {
  readonly stateDir: string;
  readonly port: number;
  readonly operatorPort: number;
}

/** A configuration file, with these layouts. */
async function fileWith(shards: object): Promise<string> {
  const IDEMPOTENCY = { origin: origin.url, trust_forwarded: true, ...shards };
  return join((await writeDeployment({ vars: { IDEMPOTENCY, ROUTES: [{ path: "/pay" }] } })).dir, "wrangler.toml");
}

async function start(file: string, { stateDir, port, operatorPort }: Place): Promise<ServeProcess> {
  const ports = ["--port", String(port), "--operator-port", String(operatorPort)];
  const started = serve(["--config", file, "--state", stateDir, ...ports, "--secret", "ADMIN_TOKEN"], { ADMIN_TOKEN });
  await started.listening();
  return started;
}

async function stop(running: readonly ServeProcess[]): Promise<void> {
  for (const one of running) one.signal("SIGTERM");
  expect(await Promise.all(running.map(({ exited }) => exited))).toEqual(running.map(() => 0));
}

function onceway(...args: readonly string[]): Promise<CommandOutcome> {
  return callOnceway(args, { ONCEWAY_TOKEN: ADMIN_TOKEN });
}

it("a previous number that one process has done with stays as long as another one has records of it", async () => {
  const before = await fileWith({ shards: 1 });
  const states = await writeDeployment({});
  const placeOf = async (name: string): Promise<Place> => ({
    stateDir: join(states.dir, name),
    port: await freePort(),
    operatorPort: await freePort(),
  });
  const places = [await placeOf("00"), await placeOf("01")] as const;
  const [idle, busy] = places;
  const urls = places.map(({ operatorPort }) => `http://127.0.0.1:${operatorPort}`);
  const both = urls.flatMap((url) => ["--url", url]);

  const first = await Promise.all(places.map((place) => start(before, place)));
  const key = freshKey();
  const clients = `http://127.0.0.1:${busy.port}`;
  expect((await send(clients, { path: "/pay", key })).status).toBe(201);
  await stop(first);

  const changed = await fileWith({ shards: 2, previous_shards: [1] });
  const second = await Promise.all(places.map((place) => start(changed, place)));
  expect((await onceway("layouts", "close", "1", ...both)).code).toBe(0);
  const alone = await onceway("layouts", "list", "--url", `http://127.0.0.1:${idle.operatorPort}`);
  expect(alone.stdout).toContain("1: Closed and empty: take it out of previous_shards.");
  const { code, stdout } = await onceway("layouts", "list", ...both);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`1: ${urls[1]}/: 1 object still holds 1 record.`)]);
  expect(stdout).not.toContain("take it out");

  const dropped = await fileWith({ shards: 2 });
  expect((await onceway("check", dropped, "--against", urls[0] ?? "")).code).toBe(0);
  expect((await onceway("check", dropped, "--against", urls[1] ?? "")).code).toBe(1);
  expect(isReplay(await send(clients, { path: "/pay", key }))).toBe(true);
  expect(await origin.effects(key)).toBe(1);

  // On the clients' port there are no operators, and the message says where they are.
  const elsewhere = await onceway("check", changed, "--against", clients);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining("--operator-port")]);
  await stop(second);
});
