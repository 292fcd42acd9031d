// The edge of the window, with time under control: when an equal request is another operation, also when the clock goes back; and that a doubt does
// not end with the window.

import { describe, expect, it, vi } from "vitest";
import { Deployments, type Deployment } from "../../../support/integration/deployments.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

standStill(["warn", "error"]);

const WINDOW_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly isReplay: boolean;
}

function deployed(all: Deployments, repeat: "replay" | "refuse", more: object = {}): Deployment {
  const content = { digest: ["json:/id"], window: "1m", repeat };
  return all.deploy(1, [], { key_from: ["header:Idempotency-Key", content], timeout: "10s", lock: "20s", ...more });
}

async function sendTo(deployment: Deployment, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const sent = { authorization: "Bearer a", "content-type": "application/json", ...headers };
  const answer = await deployment.fetch("/act", { method: "POST", headers: sent, body: '{"id":7}' });
  return { status: answer.status, text: await answer.text(), isReplay: answer.headers.has("Idempotent-Replayed") };
}

describe("the window", () => {
  it("ends when it says, counted from the answer", async () => {
    const all = new Deployments();
    const deployment = deployed(all, "replay");
    const begunAt = Date.now();
    all.origin = (number) => {
      if (number === 1) vi.setSystemTime(begunAt + 5000);
      return new Response(`answer ${number}`, { status: 201 });
    };
    expect(await sendTo(deployment)).toMatchObject({ text: "answer 1", isReplay: false });
    for (const at of [begunAt + 5000, begunAt + WINDOW_MS, begunAt + 5000 + WINDOW_MS - 1]) {
      vi.setSystemTime(at);
      expect(await sendTo(deployment)).toMatchObject({ text: "answer 1", isReplay: true });
    }
    vi.setSystemTime(begunAt + 5000 + WINDOW_MS);
    expect(await sendTo(deployment)).toMatchObject({ text: "answer 2", isReplay: false });
    expect(all.calls).toHaveLength(2);
  });

  it.each(["replay", "refuse"] as const)("is never shorter because a clock goes back (%s)", async (repeat) => {
    const all = new Deployments();
    const deployment = deployed(all, repeat);
    const now = Date.now();
    await sendTo(deployment);
    const repeated = repeat === "replay" ? { status: 201, isReplay: true } : { status: 409 };
    for (const at of [now - HOUR_MS, now - 1, now, now + WINDOW_MS - 1, now - HOUR_MS, now + WINDOW_MS - 1]) {
      vi.setSystemTime(at);
      expect(await sendTo(deployment)).toMatchObject(repeated);
    }
    vi.setSystemTime(now + WINDOW_MS);
    expect(await sendTo(deployment)).toMatchObject({ status: 201, isReplay: false });
    // The clock was ahead when this was answered: it repeats until that clock's time is reached, and is never done twice before.
    vi.setSystemTime(now);
    for (const at of [now, now + WINDOW_MS, now + 2 * WINDOW_MS - 1]) {
      vi.setSystemTime(at);
      expect(await sendTo(deployment)).toMatchObject(repeated);
    }
    vi.setSystemTime(now + 2 * WINDOW_MS);
    expect(await sendTo(deployment)).toMatchObject({ status: 201, isReplay: false });
    expect(all.calls).toHaveLength(3);
  });

  it("holds in another instance of the object", async () => {
    const all = new Deployments();
    const deployment = deployed(all, "replay");
    const answer = await deployment.fetch("/act", {
      method: "POST",
      headers: { authorization: "Bearer a", "content-type": "application/json" },
      body: '{"id":7}',
    });
    expect(await answer.text()).toBe("answer 1");
    await all.evict(1, answer.headers.get("Idempotency-Key") ?? "");
    expect(await sendTo(deployment)).toMatchObject({ text: "answer 1", isReplay: true });
  });
});

describe("an unknown outcome", () => {
  it.each(["replay", "refuse"] as const)(
    "blocks equal content beyond the window, and nothing else (%s)",
    async (repeat) => {
      const all = new Deployments();
      const deployment = deployed(all, repeat);
      all.origin = () => Promise.reject(new Error("connection lost"));
      const now = Date.now();
      expect((await sendTo(deployment)).status).toBe(502);
      all.origin = (number) => new Response(`answer ${number}`, { status: 201 });
      for (const at of [now, now + WINDOW_MS, now + 10 * WINDOW_MS, now + 30 * DAY_MS, now - HOUR_MS]) {
        vi.setSystemTime(at);
        const blocked = await sendTo(deployment);
        expect([blocked.status, JSON.parse(blocked.text)]).toMatchObject([
          409,
          { code: "outcome-unknown", keySource: "content", windowSeconds: 60 },
        ]);
      }
      expect(all.calls).toHaveLength(1);
      expect(await sendTo(deployment, { "idempotency-key": crypto.randomUUID() })).toMatchObject({ status: 201 });
      expect(await sendTo(deployment, { authorization: "Bearer b" })).toMatchObject({ status: 201, isReplay: false });
    },
  );

  it("is not asked about by a key that the origin never got: its 404 would free the content", async () => {
    const all = new Deployments();
    const deployment = deployed(all, "replay", { unknown: "verify", verify: "/asked/{key}" });
    all.origin = () => Promise.reject(new Error("connection lost"));
    const now = Date.now();
    await sendTo(deployment);
    all.origin = () => new Response(null, { status: 404 });
    vi.setSystemTime(now + 10 * WINDOW_MS);
    const blocked = await sendTo(deployment);
    expect([blocked.status, JSON.parse(blocked.text)]).toMatchObject([
      409,
      { code: "outcome-unknown", retryable: false },
    ]);
    expect(all.calls).toHaveLength(1);
  });
});

describe("while the scope changes", () => {
  it("equal content is one operation in both deployments", async () => {
    const all = new Deployments();
    const old = deployed(all, "replay", { scope: ["header:authorization"] });
    const next = deployed(all, "replay", {
      scope: ["header:authorization", "header:x-tenant"],
      previous_scope: [["header:authorization"]],
    });
    const tenant = { "x-tenant": "t" };
    expect(await sendTo(old, tenant)).toMatchObject({ text: "answer 1", isReplay: false });
    expect(await sendTo(next, tenant)).toMatchObject({ text: "answer 1", isReplay: true });
    expect(all.calls).toHaveLength(1);
  });
});
