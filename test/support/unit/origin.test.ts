import { createHash } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoint, freshKey, openRequest, rawRequest } from "../http.ts";
import type { HeaderPair, RawRequest, RawResponse } from "../http.ts";
import { startOrigin } from "../origin.ts";
import type { Behaviour, Script, TestOrigin } from "../origin.ts";

/** The client's error when a connection ends before the answer. */
const LOST = /ECONNRESET|connection ended/;

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

function request(key: string, script: Script | null, extra: Partial<RawRequest> = {}): RawRequest {
  const behave: HeaderPair[] = script === null ? [] : [["x-behave", JSON.stringify(script)]];
  const headers: HeaderPair[] = [["Idempotency-Key", key], ...behave, ...(extra.headers ?? [])];
  return { ...endpoint(origin.url), method: "POST", target: "/things", body: "{}", ...extra, headers };
}

function send(key: string, script: Script | null, extra: Partial<RawRequest> = {}): Promise<RawResponse> {
  return rawRequest(request(key, script, extra));
}

describe("what the origin records", () => {
  it("keeps target, headers in wire order and case, and the body's digest", async () => {
    const key = freshKey();
    const body = Buffer.from([0, 255, 10]);
    await send(key, null, {
      target: "/a/../b?x=%2F",
      body,
      headers: [
        ["X-B", "1"],
        ["x-b", "2"],
      ],
    });
    const [entry] = await origin.requests(key);
    expect(entry).toMatchObject({ key, method: "POST", url: "/a/../b?x=%2F", path: "/a/../b", cutOff: false });
    expect(entry?.headers.filter(([name]) => /^x-b$/i.test(name))).toEqual([
      ["X-B", "1"],
      ["x-b", "2"],
    ]);
    const sha256 = createHash("sha256").update(body).digest("hex");
    expect(entry?.body).toEqual({ bytes: 3, sha256, base64: body.toString("base64") });
  });

  it("treats a quoted and a bare key as the same", async () => {
    const key = freshKey();
    await send(`"${key}"`, null);
    expect(await origin.requests(key)).toHaveLength(1);
  });

  it("counts an effect for each unscripted POST and numbers it in the answer", async () => {
    const key = freshKey();
    const first = await send(key, null);
    const second = await send(key, null);
    expect(first.status).toBe(201);
    expect([first, second].map(({ body }) => JSON.parse(body.toString()).effect)).toEqual([1, 2]);
    expect(await origin.effects(key)).toBe(2);
  });

  it("counts no effect for an unscripted GET, or if the script says so", async () => {
    const key = freshKey();
    await send(key, null, { method: "GET" });
    await send(key, { status: 503, effect: false });
    expect(await origin.effects(key)).toBe(0);
    expect(await origin.requests(key)).toHaveLength(2);
  });
});

describe("scripted answers", () => {
  it("sends status text, ordered and repeated headers, and binary bodies as scripted", async () => {
    const bodyBase64 = Buffer.from([0, 200, 13, 10]).toString("base64");
    const headers: [string, string][] = [
      ["Set-Cookie", "a=1"],
      ["X-Last", "z"],
      ["set-cookie", "b=2"],
    ];
    const response = await send(freshKey(), { status: 299, statusText: "Quite Odd", headers, bodyBase64 });
    expect(response).toMatchObject({ status: 299, statusText: "Quite Odd", complete: true });
    expect(response.headers.slice(0, 3)).toEqual(headers);
    expect(response.body).toEqual(Buffer.from(bodyBase64, "base64"));
  });

  it("sends chunks as chunks, and with a length if scripted", async () => {
    const chunks = ["ab", { text: "cd", pauseMs: 5 }, { base64: "ZWY=" }];
    const chunked = await send(freshKey(), { chunks });
    expect(chunked.body.toString()).toBe("abcdef");
    expect(chunked.headers).toContainEqual(["Transfer-Encoding", "chunked"]);
    const sized = await send(freshKey(), { chunks, chunked: false });
    expect(sized.body.toString()).toBe("abcdef");
    expect(sized.headers).toContainEqual(["Content-Length", "6"]);
  });

  it("takes the steps of a sequence one by one for each key, and repeats the last", async () => {
    const script: Script = { sequence: [{ status: 503, effect: false }, { status: 201 }] };
    const [a, b] = [freshKey(), freshKey()];
    const statuses: number[] = [];
    for (const key of [a, b, a, a, b]) statuses.push((await send(key, script)).status);
    expect(statuses).toEqual([503, 503, 201, 201, 201]);
    expect([await origin.effects(a), await origin.effects(b)]).toEqual([2, 1]);
  });

  it("prefers the header to a key's script, a key's script to a path's, and the longer path", async () => {
    const [key, other] = [freshKey(), freshKey()];
    await origin.behave({ path: "/ranked/deep" }, { status: 202 });
    await origin.behave({ path: "/ranked" }, { status: 203 });
    await origin.behave({ key }, { status: 207 });
    const target = "/ranked/deep/er";
    const statusOf = async (used: string, script: Behaviour | null): Promise<number> =>
      (await send(used, script, { target })).status;
    expect([await statusOf(key, { status: 208 }), await statusOf(key, null), await statusOf(other, null)]).toEqual([
      208, 207, 202,
    ]);
  });

  it("answers 599 without an effect if a script is invalid", async () => {
    const key = freshKey();
    const response = await send(key, null, { headers: [["x-behave", '{"stauts":200}']] });
    expect(response.status).toBe(599);
    expect(await origin.effects(key)).toBe(0);
  });
});

describe("faults", () => {
  it.each([
    ["before-read", 0],
    ["after-read", 1],
    ["after-effect", 1],
  ] as const)("loses the connection %s, with %i effects", async (drop, effects) => {
    const key = freshKey();
    await expect(send(key, { drop })).rejects.toThrow(LOST);
    await origin.arrived(key);
    expect(await origin.effects(key)).toBe(effects);
    expect(await origin.requests(key)).toMatchObject([{ answeredAtMs: null }]);
  });

  it("drops after reading, without an effect if scripted", async () => {
    const key = freshKey();
    await expect(send(key, { drop: "after-read", effect: false })).rejects.toThrow(LOST);
    expect(await origin.effects(key)).toBe(0);
  });

  it.each([{ body: "abc" }, { chunks: ["a", "bc"] }, { body: "" }])("cuts the body short: %j", async (answer) => {
    const response = await send(freshKey(), { status: 201, drop: "mid-body", ...answer });
    expect(response).toMatchObject({ status: 201, complete: false });
  });

  it("refuses connections while it does not listen, and comes back on the same port", async () => {
    await origin.stopListening();
    await expect(send(freshKey(), null)).rejects.toThrow("ECONNREFUSED");
    await origin.startListening();
    expect((await send(freshKey(), null)).status).toBe(201);
  });

  it("gives a request that its client resets midway neither an effect nor an arrival", async () => {
    const key = freshKey();
    const open = openRequest(request(key, null, { body: "half", headers: [["Content-Length", "8"]] }));
    await open.sent;
    open.reset();
    await expect(open.response).rejects.toThrow(LOST);
    await expect(origin.arrived(key, 1, 50)).rejects.toThrow("0 of 1");
    expect(await origin.effects(key)).toBe(0);
  });
});

describe("several in one process", () => {
  it("have requests of their own, and one that is closed ends its connections, of WebSockets too", async () => {
    const [other, closed] = await Promise.all([startOrigin(), startOrigin()]);
    await fetch(other.url, { method: "POST" });
    const socket = new WebSocket(closed.url.replace("http", "ws"));
    await once(socket, "open");
    const ended = once(socket, "close");
    await closed.close();
    await ended;
    await expect(fetch(closed.url)).rejects.toThrow("fetch failed");
    expect([await other.effects(), (await other.requests()).length]).toEqual([1, 1]);
    await other.close();
  });
});

describe("holding", () => {
  it("holds the headers until released, with the effect already counted", async () => {
    const key = freshKey();
    const open = openRequest(request(key, { status: 201, hold: true }));
    await origin.arrived(key);
    expect(await origin.effects(key)).toBe(1);
    expect(await origin.requests(key)).toMatchObject([{ answeredAtMs: null }]);
    expect(await origin.release(key)).toBe(1);
    expect((await open.response).status).toBe(201);
  });

  it("sends the headers and holds the body", async () => {
    const key = freshKey();
    const open = openRequest(request(key, { status: 202, holdBody: true, body: "late" }));
    expect((await open.head).status).toBe(202);
    await origin.release(key);
    expect((await open.response).body.toString()).toBe("late");
  });

  it("releases only the key that is named", async () => {
    const [held, free] = [freshKey(), freshKey()];
    const opened = [held, free].map((key) => openRequest(request(key, { hold: true })));
    await Promise.all([origin.arrived(held), origin.arrived(free)]);
    expect(await origin.release(free)).toBe(1);
    await opened[1]?.response;
    expect(await origin.requests(held)).toMatchObject([{ answeredAtMs: null }]);
    await origin.release();
    await opened[0]?.response;
  });

  it("waits for as many arrivals as asked for", async () => {
    const key = freshKey();
    const arrived = origin.arrived(key, 3);
    await Promise.all([send(key, null), send(key, null), send(key, null)]);
    await arrived;
    expect(await origin.requests(key)).toHaveLength(3);
  });
});

describe("WebSocket echo", () => {
  it("answers the handshake and echoes text", async () => {
    const socket = new WebSocket(`${origin.url.replace("http", "ws")}/socket`);
    const echoed = await new Promise((resolve, reject) => {
      socket.addEventListener("open", () => socket.send("h\u00e9llo ".repeat(40)));
      socket.addEventListener("message", (event) => resolve(event.data));
      socket.addEventListener("error", () => reject(new Error("the handshake failed")));
    });
    expect(echoed).toBe("h\u00e9llo ".repeat(40));
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    socket.close(1000, "done");
    await closed;
  });
});
