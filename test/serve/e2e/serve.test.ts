// The gateway on plain workerd, as `npm run serve` starts it: what its users rely on when processes end in any way.

import { statSync } from "node:fs";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { startOrigin } from "../../support/origin.ts";
import type { TestOrigin } from "../../support/origin.ts";
import { untilRefused } from "../../support/ports.ts";
import { essence, isReplay, open, problemCode, send, until } from "../../support/e2e/guarantees-client.ts";
import { readLedgers } from "../../support/e2e/guarantees-ledger.ts";
import { cleanUp, type Deployment, killNow, serve, writeDeployment } from "../../support/e2e/serve-process.ts";

const LOCK_MS = 2_000;
/** A start, and an alarm that comes late on a busy machine. */
const SLACK_MS = 15_000;

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
afterEach(cleanUp);

function deployment(settings: Readonly<Record<string, string>> = {}): Promise<Deployment> {
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: 2, ...settings },
    ROUTES: [{ path: "/*", unknown: "hold" }],
  };
  return writeDeployment({ vars });
}

it("lets no other user read its state or take its lock, in a directory that was open to all", async () => {
  const { args, stateDir } = await deployment();
  // As systemd makes it without StateDirectoryMode, with what a gateway under the usual umask has left.
  await mkdir(join(stateDir, "objects"), { recursive: true });
  await writeFile(join(stateDir, "lock"), "");
  for (const path of ["", "objects"]) await chmod(join(stateDir, path), 0o755);
  await chmod(join(stateDir, "lock"), 0o644);
  const umask = process.umask(0o022);
  const gateway = serve(args);
  process.umask(umask);
  const { url } = await gateway.listening();
  expect((await send(url, { path: "/pay", key: freshKey() })).status).toBe(201);
  const files = await readdir(stateDir, { recursive: true });
  const readable = ["", ...files].filter((path) => (statSync(join(stateDir, path)).mode & 0o077) !== 0);
  expect(readable).toEqual([]);
  expect(files.some((path) => path.endsWith(".sqlite"))).toBe(true);
});

it("restarts a killed workerd on the same port, and with hold the lost attempt is never repeated", async () => {
  const { args, stateDir } = await deployment({ timeout: "1900ms", lock: `${LOCK_MS}ms` });
  const gateway = serve(args);
  const before = await gateway.listening();
  const call = { path: "/pay", key: freshKey() };
  await origin.behave({ key: call.key }, { status: 201, hold: true });
  open(before.url, call);
  await origin.arrived(call.key);
  killNow(before.workerd);

  const after = await gateway.listening(2);
  expect(after.url).toBe(before.url);
  expect(after.workerd).not.toBe(before.workerd);
  expect(gateway.output()).toContain("workerd ended (SIGKILL); restarting it in 100 ms");
  await until(
    () => readLedgers(stateDir),
    ([row]) => row?.state === "unknown",
    LOCK_MS + SLACK_MS,
  );
  expect(problemCode(await send(after.url, call))).toBe("outcome-unknown");
  expect(await origin.effects(call.key)).toBe(1);
  await origin.release(call.key);
});

/** Not as soon as its port refuses connections: while it ends what it has begun, it still listens. */
function untilNotHealthy(url: string): Promise<number | null> {
  return until(
    () => serve(["health", "--port", new URL(url).port]).exited,
    (code) => code === 1,
    SLACK_MS,
  );
}

describe("told to stop in the middle of a call", () => {
  it("gives the client its answer, ends with 0, and replays it later; health says which of both", async () => {
    const { args } = await deployment();
    let gateway = serve(args);
    let { url } = await gateway.listening();
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const { port } = new URL(url);
      expect(await serve(["health", "--port", port]).exited).toBe(0);
      const call = { path: "/pay", key: freshKey() };
      await origin.behave({ key: call.key }, { status: 201, body: "paid", hold: true });
      const waiting = open(url, call);
      await origin.arrived(call.key);
      gateway.signal(signal);
      // The same request to stop, as npm and a terminal both send it.
      gateway.signal(signal);
      const late = send(url, { path: "/pay", key: freshKey() });
      await origin.release(call.key);
      const first = await waiting.response;
      expect(first).toMatchObject({ status: 201, body: Buffer.from("paid") });
      expect(await gateway.exited).toBe(0);
      expect(gateway.output()).toContain("onceway: stopped\n");
      await late.catch(() => undefined);
      expect(await serve(["health", "--port", port]).exited).toBe(1);

      gateway = serve(args);
      ({ url } = await gateway.listening());
      const again = await send(url, call);
      expect([isReplay(again), essence(again)]).toEqual([true, essence(first)]);
      expect(await origin.effects(call.key)).toBe(1);
    }
  });

  it("ends the attempt of a client that has left, ends with 0, and replays its answer later", async () => {
    const { args } = await deployment();
    const gateway = serve(args);
    const { url } = await gateway.listening();
    const call = { path: "/pay", key: freshKey() };
    await origin.behave({ key: call.key }, { status: 201, body: "paid", hold: true });
    const left = open(url, call);
    await origin.arrived(call.key);
    left.reset();
    await expect(left.response).rejects.toThrow();
    gateway.signal("SIGTERM");
    // It takes no more requests, and its attempt is still at the origin.
    await untilNotHealthy(url);
    await origin.release(call.key);
    expect(await gateway.exited).toBe(0);

    const again = await send((await serve(args).listening()).url, call);
    expect([isReplay(again), again.status, again.body.toString()]).toEqual([true, 201, "paid"]);
    expect(await origin.effects(call.key)).toBe(1);
  });

  it("cuts off calls that take longer than --grace, and reports that by its exit code", async () => {
    const { args } = await deployment();
    const gateway = serve([...args, "--grace", "300ms"]);
    const { url } = await gateway.listening();
    const call = { path: "/pay", key: freshKey() };
    await origin.behave({ key: call.key }, { status: 201, hold: true });
    const waiting = open(url, call);
    await origin.arrived(call.key);
    gateway.signal("SIGTERM");
    expect(await gateway.exited).toBe(1);
    expect(gateway.output()).toContain("exchanges in flight were cut off (SIGKILL)");
    await expect(waiting.response).rejects.toThrow();
    await origin.release(call.key);
  });

  it("ends at once at the second signal", async () => {
    const { args } = await deployment();
    const gateway = serve([...args, "--grace", "10m"]);
    const { url } = await gateway.listening();
    const call = { path: "/pay", key: freshKey() };
    await origin.behave({ key: call.key }, { status: 201, hold: true });
    open(url, call);
    await origin.arrived(call.key);
    gateway.signal("SIGTERM");
    await untilNotHealthy(url);
    // A second request is one that comes more than a second after the first, which it has acted on by now.
    await pause(1_100);
    gateway.signal("SIGTERM");
    expect(await gateway.exited).toBe(1);
    expect(gateway.output()).toContain("exchanges in flight were cut off (SIGKILL)");
    await origin.release(call.key);
  });
});

describe("the state directory", () => {
  it("belongs to one gateway at a time, and stays locked while a workerd whose supervisor was killed lives on", async () => {
    const { args } = await deployment();
    const first = serve(args);
    const { url, workerd } = await first.listening();
    const second = serve(args);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`is in use by process ${first.pid} and its workerd, process ${workerd}`);
    first.signal("SIGKILL");
    await first.exited;
    expect((await send(url, { path: "/pay", key: freshKey() })).status).toBe(201);
    expect(await serve(args).exited).toBe(1);
    killNow(workerd);
    await untilRefused(Number(new URL(url).port));
    await serve(args).listening();
  });
});

it("names an address that does not belong to this machine", async () => {
  const { args } = await deployment();
  const nowhere = serve([...args, "--host", "192.0.2.1"]);
  expect(await nowhere.exited).toBe(1);
  expect(nowhere.output()).toContain("192.0.2.1 is not an address of this machine");
});

it("does not retry endlessly when it cannot start", async () => {
  const { port } = new URL(origin.url);
  const { args } = await deployment();
  const second = serve([...args.slice(0, -1), port]);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain("onceway: workerd could not start");
  const what = `port ${port} on 127.0.0.1 is in use by another program: stop it, or choose another port with --port`;
  expect(second.output()).toContain(what);
  expect(second.output()).not.toContain("restarting it");
});
