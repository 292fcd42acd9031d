// `onceway/client` against the gateway: each end that it can come to, with the effects counted at the origin.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createFetch,
  createFollow,
  createGiveUp,
  createLookUp,
  IdempotencyError,
  monitorOf,
} from "../../../src/client/index.ts";
import { freshKey } from "../../support/http.ts";
import { type LossyProxy, startLossyProxy } from "../../support/e2e/lossy-proxy.ts";
import { removeGateway, type Scene, startGateway, startScene, until } from "../../support/e2e/scene.ts";

const ROUTES = [
  { path: "/hold", unknown: "hold" },
  { path: "/retry", unknown: "retry", timeout: "2s", lock: "2500ms" },
  { path: "/verify", unknown: "verify", verify: "/status/{key}", timeout: "2s", lock: "2500ms" },
  { path: "/later", async: "prefer", unknown: "retry", give_up: { attempts: 1 } },
  { path: "/small", max_response_body: 10, max_request_body: 100 },
];

let scene: Scene;
let proxy: LossyProxy;
beforeAll(async () => {
  scene = await startScene({}, ROUTES);
  proxy = await startLossyProxy(scene.gateway.port);
});
afterAll(async () => {
  await proxy.close();
  await scene.close();
});

const send = createFetch({ firstPauseMs: 50 });
const post = (path: string, key: string, body = "{}"): Promise<Response> =>
  send(proxy.url + path, { method: "POST", headers: { "Idempotency-Key": key }, body });

async function failure(promise: Promise<Response>): Promise<IdempotencyError> {
  const end = await promise.catch((error: unknown) => error);
  if (end instanceof IdempotencyError) return end;
  throw new Error(`no IdempotencyError: ${String(end)}`);
}

const sentWith = (key: string): (number | null)[] =>
  proxy
    .passages()
    .filter((passage) => passage.key === key)
    .map(({ status }) => status);

describe("onceway/client", () => {
  it.each(["whole", "half"] as const)("gets an answer that was lost (%s), with one effect", async (how) => {
    const key = freshKey();
    proxy.loseAnswer(how);
    const response = await post("/hold", key);
    expect(response.headers.get("Idempotent-Replayed")).toBe("true");
    expect(await response.json()).toMatchObject({ key, effect: 1 });
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("waits for the first request, which still runs", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { status: 201, body: "first", hold: true });
    const first = post("/hold", key);
    await scene.origin.arrived(key);
    const second = post("/hold", key);
    await until(async () => (sentWith(key).includes(409) ? true : null), "the duplicate is refused");
    await scene.origin.release(key);
    expect(await Promise.all([first, second].map(async (each) => (await each).text()))).toEqual(["first", "first"]);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("waits for the next attempt after one with an unknown outcome", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { sequence: [{ drop: "after-read" }, { status: 201, body: "second" }] });
    expect(await (await post("/retry", key)).text()).toBe("second");
    expect((await scene.origin.requests(key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
  });

  it("waits until the origin can report the outcome", async () => {
    const key = freshKey();
    await scene.origin.behave({ key, path: "/verify" }, { drop: "after-effect" });
    const busy = { status: 503, effect: false };
    await scene.origin.behave(
      { path: `/status/${key}` },
      { sequence: [busy, busy, { status: 200, body: "it happened", effect: false }] },
    );
    expect(await (await post("/verify", key)).text()).toBe("it happened");
    expect(sentWith(key)).toContain(409);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("reports that the operation happened when only its answer was not kept", async () => {
    const key = freshKey();
    proxy.loseAnswer("whole");
    const error = await failure(post("/small", key));
    expect(error).toMatchObject({ outcome: "happened", tries: 2, problem: { originalStatus: 201 } });
    expect(await scene.origin.effects(key)).toBe(1);
  });

  const post202 = async (key: string): Promise<URL> => {
    const headers = { "Idempotency-Key": key, Prefer: "respond-async", Authorization: "Bearer a" };
    const accepted = await send(`${proxy.url}/later`, { method: "POST", headers, body: "{}" });
    const monitor = monitorOf(accepted);
    if (monitor === null) throw new Error(`no monitor: ${accepted.status}`);
    return monitor;
  };
  const follow = createFollow({ firstPauseMs: 50, tries: 3 });
  const asCaller = { headers: { Authorization: "Bearer a", Prefer: "wait=10" } };

  it("follows an accepted request to its result, also when an answer of its monitor is lost", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { status: 201, body: "made later", hold: true });
    const monitor = await post202(key);
    await scene.origin.arrived(key);
    proxy.loseAnswer("whole");
    const followed = follow(monitor, { headers: { Authorization: "Bearer a" } });
    await scene.origin.release(key);
    expect(await (await followed).text()).toBe("made later");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("reports that an accepted request is not tried again, and one that it does not know", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { status: 503, effect: false });
    const monitor = await post202(key);
    const end = await failure(follow(monitor, asCaller));
    expect(end).toMatchObject({ outcome: "no-effect", reason: "final", key, problem: { code: "attempts-exhausted" } });
    const strange = await failure(follow(monitor, { headers: { Authorization: "Bearer b" } }));
    expect(strange).toMatchObject({ outcome: "unknown", reason: "final", problem: { code: "monitor-not-found" } });
  });

  it("survives a gateway that is killed and restarted", async () => {
    const gateway = await startGateway(scene.origin.url, {}, ROUTES);
    const inFront = await startLossyProxy(gateway.port);
    await gateway.kill9();
    const key = freshKey();
    const patient = createFetch({ tries: 100, maxPauseMs: 200 });
    const headers = { "Idempotency-Key": key };
    const promise = patient(`${inFront.url}/hold`, { method: "POST", headers, body: "{}" });
    await until(async () => (inFront.passages().length > 1 ? true : null), "a try and a retry have failed");
    const again = await gateway.restart();
    expect(await (await promise).json()).toMatchObject({ key, effect: 1 });
    expect(new Set(inFront.passages().map((passage) => passage.key))).toEqual(new Set([key]));
    await inFront.close();
    await removeGateway(again);
  });
});

describe("a key whose answer was lost", () => {
  const lookUp = createLookUp({ firstPauseMs: 50 });
  // Nobody without a credential learns anything.
  const OWN = { Authorization: "Bearer one" };
  const look = (path: string, key: string) => lookUp(proxy.url + path, key, { headers: OWN });
  const requestOf = (key: string) => ({ method: "POST", headers: { ...OWN, "Idempotency-Key": key }, body: "{}" });
  const sendOwn = (path: string, key: string) => send(proxy.url + path, requestOf(key));

  /** Gives a key up; `asked` counts the questions. */
  function givingUp(path: string, key: string) {
    const sent = { asked: 0 };
    const counting: typeof fetch = (...request) => {
      sent.asked += 1;
      return fetch(...request);
    };
    const settled = createGiveUp({ firstPauseMs: 50, fetch: counting })(proxy.url + path, key, { headers: OWN });
    return { settled, sent };
  }

  it("is looked up: not known, in flight, completed", async () => {
    const key = freshKey();
    expect(await look("/hold", key)).toEqual({
      state: "not-known",
      next: "send-same",
      safeNewKey: false,
      status: null,
    });
    await scene.origin.behave({ key }, { status: 201, body: "done", hold: true });
    const first = sendOwn("/hold", key);
    await scene.origin.arrived(key);
    expect(await look("/hold", key)).toEqual({ state: "in-flight", next: "wait", safeNewKey: false, status: null });
    await scene.origin.release(key);
    await first;
    expect(await look("/hold", key)).toEqual({ state: "completed", next: "send-same", safeNewKey: false, status: 201 });
  });

  it("is given up before it arrives: a new key is safe, and the late request does nothing", async () => {
    const key = freshKey();
    const end = await givingUp("/hold", key).settled;
    expect(end).toEqual({ outcome: "no-effect", next: "new-key", status: null });
    expect(await failure(sendOwn("/hold", key))).toMatchObject({
      outcome: "no-effect",
      problem: { code: "key-abandoned" },
    });
    expect(await scene.origin.effects(key)).toBe(0);
  });

  it("is not given up while its request runs: that has happened, and its answer is sent again", async () => {
    const key = freshKey();
    await scene.origin.behave({ key }, { status: 201, body: "done", hold: true });
    const impatient = new AbortController();
    const first = fetch(`${proxy.url}/hold`, { ...requestOf(key), signal: impatient.signal }).catch(() => "left");
    await scene.origin.arrived(key);
    impatient.abort();
    expect(await first).toBe("left");
    const { settled, sent } = givingUp("/hold", key);
    await until(() => Promise.resolve(sent.asked >= 2 ? true : null), "it asks again");
    await scene.origin.release(key);
    expect(await settled).toEqual({ outcome: "happened", next: "send-same", status: 201 });
    expect(await (await sendOwn("/hold", key)).text()).toBe("done");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it.each([
    ["/hold", "after-effect", { outcome: "unknown", next: "ask-operator" }],
    ["/retry", "after-effect", { outcome: "unknown", next: "send-same" }],
    ["/verify", "after-effect", { outcome: "happened", next: "send-same" }],
    ["/verify", "before-read", { outcome: "no-effect", next: "new-key" }],
  ] as const)("ends as its route knows: %s, lost %s", async (path, drop, end) => {
    const key = freshKey();
    await scene.origin.behave({ key, path }, { drop });
    const happened = { status: drop === "after-effect" ? 200 : 404, effect: false };
    await scene.origin.behave({ path: `/status/${key}` }, happened);
    await fetch(proxy.url + path, requestOf(key));
    expect(await givingUp(path, key).settled).toMatchObject(end);
  });
});
