// SIGKILL to the gateway in the middle of a body that it passes on: its client has seen some MiB of it, and they are stored.
// After the restart the route's `unknown` decides, no half body is ever replayed, and the alarm erases what is left of it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { type Behaviour, startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { digestOfGenerated, openTransfer, type Received, transfer } from "../../../support/e2e/bytes-client.ts";
import { openBodies } from "../../../support/e2e/bytes-database.ts";
import { removeGateway, until } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const PIECE = 64 * KIB;
const LOCK_MS = 2_000;

let origin: TestOrigin;
let gateway: Gateway;
beforeAll(async () => {
  origin = await startOrigin();
  const settings = {
    origin: origin.url,
    shards: 1,
    timeout: "1900ms",
    lock: `${LOCK_MS}ms`,
    max_response_body: "100MB",
  };
  const ROUTES = [
    { path: "/retry", unknown: "retry" },
    { path: "/hold", unknown: "hold" },
    { path: "/small", unknown: "retry", max_response_body: "1MiB" },
  ];
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars: { IDEMPOTENCY: settings, ROUTES } });
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

function code({ text }: Received): string | null {
  return /"code":"([^"]+)"/.exec(text)?.[1] ?? null;
}

interface Lost {
  readonly path: string;
  readonly key: string;
  readonly chunked: boolean;
  readonly bytes: number;
  /** What the client sees before the crash. */
  readonly seenBytes: number;
  readonly scripted?: Behaviour;
}

/** An attempt whose origin stalls inside its body, and a gateway that is killed there and restarted. */
async function crashInside({
  path,
  key,
  chunked,
  bytes,
  seenBytes,
}: Lost): Promise<{ lost: Received; attemptEndsMs: number }> {
  const half: Behaviour = { chunked, holdBody: seenBytes / PIECE, generated: { seed: "half", bytes } };
  await origin.behave({ key }, { sequence: [half, { chunked, generated: { seed: "whole", bytes } }] });
  const client = openTransfer(gateway.url, { path, key });
  await client.received(seenBytes);
  await gateway.kill9();
  const lost = await client.response;
  gateway = await gateway.restart();
  await origin.release(key);
  return { lost, attemptEndsMs: Date.now() };
}

/** Sends no request: the alarm alone does it. */
async function untilAlarmErases(): Promise<void> {
  const bodies = openBodies(gateway);
  const erased = async (): Promise<true | null> => (bodies.orphans() === 0 && bodies.discarded() === 0 ? true : null);
  try {
    await until(async () => (bodies.lastRecord() === "started" ? null : erased()), "the alarm erases the lost body");
  } catch (error) {
    throw new Error(
      `${String(error)}: ${bodies.orphans()} orphans, ${bodies.discarded()} discarded, ${bodies.lastRecord()}`,
      { cause: error },
    );
  } finally {
    bodies.close();
  }
}

async function untilNotInFlight(path: string, key: string): Promise<Received> {
  return until(async () => {
    const answer = await transfer(gateway.url, { path, key });
    return code(answer) === "in-flight" ? null : answer;
  }, "the lock ends");
}

describe.each([false, true])("kill -9 inside a streamed body (chunked: %s)", (chunked) => {
  it("with retry: attempt 2 after the lock, and only its whole body is ever replayed", async () => {
    const [path, key, bytes] = ["/retry", freshKey(), 8 * MIB];
    const { lost } = await crashInside({ path, key, chunked, bytes, seenBytes: 3 * MIB });
    expect(lost).toMatchObject({ status: 200, complete: false, bytes: 3 * MIB });
    const second = await untilNotInFlight(path, key);
    const whole = { status: 200, complete: true, bytes, sha256: digestOfGenerated({ seed: "whole", bytes }) };
    expect(second).toMatchObject(whole);
    expect(headerValue(second, "idempotent-replayed")).toBeNull();
    const [first, retry] = await origin.requests(key);
    expect([first?.attempt, retry?.attempt]).toEqual(["1", "2"]);
    const replay = await transfer(gateway.url, { path, key });
    expect(replay).toMatchObject(whole);
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    await untilAlarmErases();
    // Exactly the chunks of the whole body are left of this key.
    expect(await origin.effects(key)).toBe(2);
  });

  it("with hold: outcome-unknown, and no byte of the lost body is ever sent again", async () => {
    const [path, key] = ["/hold", freshKey()];
    const { lost } = await crashInside({ path, key, chunked, bytes: 8 * MIB, seenBytes: 3 * MIB });
    expect(lost).toMatchObject({ status: 200, complete: false, bytes: 3 * MIB });
    expect(code(await untilNotInFlight(path, key))).toBe("outcome-unknown");
    expect(code(await transfer(gateway.url, { path, key }))).toBe("outcome-unknown");
    await untilAlarmErases();
    expect(await origin.effects(key)).toBe(1);
  });

  it.each(["/retry", "/hold"])("on %s the alarm alone erases more chunks than one slice of it", async (path) => {
    const key = freshKey();
    await crashInside({ path, key, chunked, bytes: 40 * MIB, seenBytes: 36 * MIB });
    await untilAlarmErases();
    const bodies = openBodies(gateway);
    expect(bodies.lastRecord()).toBe(path === "/retry" ? "failed" : "unknown");
    bodies.close();
  });

  it("beyond max_response_body the record was completed before the crash, and the stored part of the body is erased", async () => {
    const [path, key] = ["/small", freshKey()];
    const { lost } = await crashInside({ path, key, chunked, bytes: 8 * MIB, seenBytes: 4 * MIB });
    expect(lost).toMatchObject({ status: 200, complete: false });
    const again = await transfer(gateway.url, { path, key });
    expect({ status: again.status, code: code(again) }).toEqual({ status: 409, code: "response-not-kept" });
    await untilAlarmErases();
    expect(await origin.effects(key)).toBe(1);
  });
});

describe("kill -9 inside a large upload", () => {
  it("erases the uploaded part, and the key is free", async () => {
    const key = freshKey();
    await transfer(gateway.url, { path: "/retry", key: freshKey() });
    const upload = { seed: "lost upload", bytes: 9 * MIB, stopAfterBytes: 6 * MIB };
    const client = openTransfer(gateway.url, { path: "/retry", key, upload });
    await client.uploaded;
    const bodies = openBodies(gateway);
    await until(async () => (bodies.discarded() > 0 ? true : null), "chunks of the upload");
    bodies.close();
    await gateway.kill9();
    gateway = await gateway.restart();
    expect(await origin.requests(key)).toEqual([]);
    expect((await transfer(gateway.url, { path: "/retry", key })).status).toBe(201);
    await untilAlarmErases();
    expect(await origin.effects(key)).toBe(1);
  });
});
