// Accepted requests over the wire, with effects counted at the origin: who gets 202, what the monitor says, and to whom.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { withoutInstance } from "../../../support/instance.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ unknown: "retry" }, [
    { path: "/prefer/*", async: "prefer", methods: ["POST", "PUT"] },
    { path: "/always/*", async: "always" },
    { path: "/never/*" },
  ]);
});
afterAll(() => scene.close());

const ASYNC = ["Prefer", "respond-async"] as const;
const ALICE = ["Authorization", "Bearer alice"] as const;
const BOB = ["Authorization", "Bearer bob"] as const;

function status(response: RawResponse): string {
  return `${response.status} ${headerValue(response, "idempotency-status")}`;
}

function look(
  target: string,
  method = "GET",
  ...headers: readonly (readonly [string, string])[]
): Promise<RawResponse> {
  return scene.send({ method, path: target, headers: headers.length === 0 ? [ALICE] : headers, body: null });
}

function monitorOf(response: RawResponse): string {
  return headerValue(response, "location") ?? "";
}

describe("a request whose client prefers an early answer", () => {
  it("acts once, and its monitor gives its result byte for byte", async () => {
    const key = freshKey();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256));
    await scene.origin.behave(
      { key },
      {
        hold: true,
        status: 201,
        headers: [
          ["Content-Type", "application/octet-stream"],
          ["Cache-Control", "max-age=60"],
          ["X-Own", "1"],
        ],
        bodyBase64: bytes.toString("base64"),
      },
    );
    const request = { path: "/prefer/jobs/a%2Fb?x=1", key, headers: [ASYNC, ALICE] };
    const accepted = await scene.send(request);
    expect(status(accepted)).toBe("202 accepted");
    expect(headerValue(accepted, "preference-applied")).toBe("respond-async");
    expect(headerValue(accepted, "idempotency-key")).toBe(key);
    const monitor = monitorOf(accepted);
    expect(monitor).toMatch(
      /^\/\.well-known\/idempotency\/requests\/prefer\/jobs\/a%2Fb\?key=[0-9a-f-]+&print=[0-9a-f]{32}$/,
    );
    expect(JSON.parse(accepted.body.toString())).toEqual({ status: "running", attempt: 1, monitor });
    expect(status(await scene.send({ ...request, headers: [ALICE] }))).toBe("202 accepted");
    expect(status(await look(monitor))).toBe("202 accepted");
    await scene.origin.arrived(key);
    await scene.origin.release(key);
    const result = await look(monitor, "GET", ALICE, ["Prefer", "wait=10"]);
    expect(status(result)).toBe("201 replayed");
    expect(createHash("sha256").update(result.body).digest("hex")).toBe(
      createHash("sha256").update(bytes).digest("hex"),
    );
    expect(headerValue(result, "cache-control")).toBe("no-store");
    expect(headerValue(result, "x-own")).toBe("1");
    const head = await look(monitor, "HEAD");
    expect([status(head), head.body.byteLength, headerValue(head, "x-own")]).toEqual(["201 replayed", 0, "1"]);
    expect([null, String(bytes.byteLength)]).toContain(headerValue(head, "content-length"));
    const retry = await scene.send(request);
    expect([status(retry), retry.body.equals(bytes)]).toEqual(["201 replayed", true]);
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

function anonymous(response: RawResponse): Omit<RawResponse, "body"> & { readonly body: string } {
  return { ...response, body: withoutInstance(response.body.toString()) };
}

describe("a monitor", () => {
  it("lets its caller cancel what waits, and nothing that is in flight", async () => {
    const key = freshKey();
    await scene.origin.behave(
      { key },
      { sequence: [{ status: 503, effect: false, headers: [["Retry-After", "600"]] }, { status: 200 }] },
    );
    const request = { path: "/always/cancelled", key };
    const sent = (seconds: number): Promise<RawResponse> =>
      scene.send({ ...request, headers: [ALICE, ["Prefer", `wait=${seconds}`]] });
    const monitor = monitorOf(await sent(1));
    await expect
      .poll(async () => JSON.parse((await look(monitor)).body.toString()))
      .toMatchObject({ status: "waiting", attempt: 1 });
    expect((await look(monitor, "DELETE")).status).toBe(204);
    expect((await look(monitor)).status).toBe(404);
    // Its 204 may be lost. Sent again it changes nothing, and is told what everybody is.
    const repeated = await look(monitor, "DELETE");
    expect(status(repeated)).toBe("404 monitor-not-found");
    expect(anonymous(repeated).body).toEqual(anonymous(await look(monitor, "DELETE", BOB)).body);
    expect(await scene.origin.effects(key)).toBe(0);
    // The key is free.
    expect(status(await sent(10))).toBe("200 first");
    const running = freshKey();
    await scene.origin.behave({ key: running }, { hold: true });
    const other = monitorOf(await scene.send({ path: "/always/running", key: running, headers: [ALICE] }));
    expect(status(await look(other, "DELETE"))).toBe("409 cancel-refused");
    await scene.origin.arrived(running);
    await scene.origin.release(running);
    expect(status(await look(other, "GET", ALICE, ["Prefer", "wait=10"]))).toBe("200 replayed");
    expect(status(await look(other, "DELETE"))).toBe("409 cancel-refused");
  });
});
