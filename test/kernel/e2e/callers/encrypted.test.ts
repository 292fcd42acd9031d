// `encrypt_responses = true`: with the whole state of a gateway and all of its secrets in hand, nothing of a response can be read, nor of
// the request's key, credential and body. The caller's own retry opens it, byte for byte.

import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyHashOf } from "../../../../src/kernel/record/units.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { askGateway, BASE } from "../../../support/e2e/operator-scene.ts";
import { type Message, until, untilPrinted } from "../../../support/e2e/scene.ts";
import { freshSecret, type EncryptedScene, startEncryptedScene } from "../../../support/e2e/encrypted-scene.ts";
import { shardFiles } from "../../../support/e2e/shard-database.ts";
import { tracesIn } from "../../../support/e2e/traces-in-files.ts";

const FIRST = { ENCRYPTION_SECRET: freshSecret() };
const LARGE_BYTES = 300_000;

const ROUTES = [
  { path: "/retry", unknown: "retry" },
  { path: "/attach", duplicate: "attach", wait: "10s" },
  { path: "/open", encrypt_responses: false },
  { path: "/brief", timeout: "10s", lock: "11s", retention: "12s", remember: "1h" },
  { path: "/*" },
];

let scene: EncryptedScene;
beforeAll(async () => {
  // Only the attempt that the crash ends has a short lock; whatever must succeed has time, also on a slow machine.
  scene = await startEncryptedScene(FIRST, [
    { path: "/retry", unknown: "retry", timeout: "1s", lock: "2s" },
    ...ROUTES.slice(1),
  ]);
});
afterAll(() => scene.close());

/** Texts that nothing else has. */
function marker(of: string): string {
  return `${of}-${randomBytes(12).toString("hex")}`;
}

interface Case {
  readonly message: Message;
  /** What must not be found, besides the key. */
  readonly marks: readonly string[];
}

function caseOf(path: string, size: "small" | "large" | "streamed", status = 271): Case {
  const key = freshKey();
  const [credential, asked, header, text] = ["credential", "request", "header", "body"].map(marker);
  const large = `${text} `.repeat(Math.ceil(LARGE_BYTES / 40));
  const content = {
    small: { body: `{"made":"${text}"}` },
    large: { body: large },
    streamed: { chunks: Array.from({ length: 4 }, (_, at) => ({ text: `id: ${at}\ndata: ${text}\n\n`, pauseMs: 60 })) },
  }[size];
  const type = size === "streamed" ? "text/event-stream" : "application/json";
  const headers: [string, string][] = [
    ["X-Made", header ?? ""],
    ["Content-Type", type],
  ];
  return {
    message: {
      path,
      key,
      headers: [["Authorization", `Bearer ${credential}`]],
      body: `{"asked":"${asked}"}`,
      behave: { status, statusText: `Made ${header}`, headers, ...content },
    },
    marks: [credential, asked, header, text].filter((one) => one !== undefined),
  };
}

function keyOf({ key = "" }: Message): string {
  return key;
}

function codeOf({ body }: RawResponse): string | null {
  return /"code":"([a-z-]+)"/.exec(body.toString())?.[1] ?? null;
}

function expectReplay(again: RawResponse, first: RawResponse): void {
  expect([again.status, headerValue(again, "idempotent-replayed")]).toEqual([first.status, "true"]);
  expect(headerValue(again, "x-made")).toBe(headerValue(first, "x-made"));
  expect(again.body.equals(first.body)).toBe(true);
}

const SIZES = ["small", "large", "streamed"] as const;

describe.each(SIZES)("a %s response", (size) => {
  it("leaves no trace of the caller, the request or the response, and is replayed to its caller", async () => {
    const { message, marks } = caseOf("/pay", size);
    const first = await scene.send(message);
    expect([first.status, codeOf(first)]).toEqual([271, null]);
    expect(tracesIn(scene.gateway.stateDir, [...marks, keyOf(message)])).toEqual([]);
    expectReplay(await scene.send(message), first);
    await scene.again();
    expectReplay(await scene.send(message), first);
    expect(tracesIn(scene.gateway.stateDir, [...marks, keyOf(message)])).toEqual([]);
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
  });

  it("leaves its traces on a route that is not encrypted, where the same search finds them", async () => {
    const { message, marks } = caseOf("/open", size);
    await scene.send(message);
    const found = new Set(tracesIn(scene.gateway.stateDir, [...marks, keyOf(message)]).map(([text]) => text));
    const [, , header = "", text = ""] = marks;
    expect(found).toEqual(new Set([header, text, keyOf(message)]));
  });
});

describe("somebody else", () => {
  it("gets another record with the same key, and learns nothing of the first", async () => {
    const { message, marks } = caseOf("/pay", "small");
    await scene.send(message);
    const other = { ...message, headers: [["Authorization", "Bearer other"] as const], behave: { status: 204 } };
    const answer = await scene.send(other);
    expect([answer.status, headerValue(answer, "idempotent-replayed")]).toEqual([204, null]);
    expect(marks.some((text) => answer.headers.flat().join("\n").includes(text))).toBe(false);
    expect(await scene.origin.effects(keyOf(message))).toBe(2);
  });

  it("who sends another body with the caller's key and credential gets 422", async () => {
    const { message } = caseOf("/pay", "small");
    await scene.send(message);
    const other = await scene.send({ ...message, body: '{"asked":"something else"}' });
    expect([other.status, codeOf(other)]).toEqual([422, "key-reused"]);
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
  });

  it("with the operators' token sees that it is encrypted, and no more", async () => {
    const { message, marks } = caseOf("/pay", "small");
    await scene.send(message);
    const ask = (path: string) => askGateway(`${scene.gateway.url}${BASE}${path}`, "GET", {});
    const list = await ask(`/records?key=${keyOf(message)}`);
    const [id = ""] = /[0-9a-f]{64}/.exec(list.text) ?? [];
    const record = await ask(`/records/${id}`);
    const body = await ask(`/records/${id}/body`);
    expect(record.json).toMatchObject({
      key: `sha256:${keyHashOf(id)}`,
      state: "completed",
      encrypted: true,
      status: null,
      response: null,
      responseKept: true,
    });
    expect(body.status).toBe(404);
    const reported = [list.text, record.text, body.text].join("\n");
    expect([...marks, keyOf(message)].filter((text) => reported.includes(text))).toEqual([]);
    // Its status. Digits of an id, a digest or a time may be the same.
    expect(reported).not.toMatch(/(?<![0-9a-f.])271(?![0-9a-f])/);
  });
});

describe("what is stored for a while", () => {
  it("hides the body of a large request, while the origin has it and afterwards", async () => {
    const { message, marks } = caseOf("/pay", "small");
    const asked = marker("upload");
    const body = `${asked} `.repeat(50_000);
    const held = { ...message, body, behave: { status: 271, hold: true } };
    const open = scene.open(held);
    await scene.origin.arrived(keyOf(message));
    expect(tracesIn(scene.gateway.stateDir, [asked, ...marks, keyOf(message)])).toEqual([]);
    await scene.origin.release(keyOf(message));
    const first = await open.response;
    const [request] = await scene.origin.requests(keyOf(message));
    expect([first.status, request?.body?.bytes]).toEqual([271, body.length]);
    expectReplay(await scene.send(held), first);
    expect(tracesIn(scene.gateway.stateDir, [asked, ...marks, keyOf(message)])).toEqual([]);
  });

  it.each([
    ["/pay", false],
    ["/open", true],
  ])("hides an answer that is only passed on (%s: has traces: %s)", async (path, hasTraces) => {
    const { message, marks } = caseOf(path, "streamed", 503);
    const answer = await scene.send(message);
    expect([answer.status, answer.body.includes(marks.at(-1) ?? "")]).toEqual([503, true]);
    expect(tracesIn(scene.gateway.stateDir, marks.slice(-1)).length > 0).toBe(hasTraces);
  });

  it("hides half a body after a crash, and the next attempt's is replayed", async () => {
    const { message, marks } = caseOf("/retry", "large");
    const text = marks.at(-1) ?? "";
    const half = { status: 271, generated: { seed: text, bytes: 2_000_000 }, chunked: true, holdBody: 10 };
    await scene.origin.behave({ key: keyOf(message) }, { sequence: [half, { status: 272, body: text }] });
    const { behave: _, ...plain } = message;
    const lost = scene.open(plain);
    await lost.head;
    await scene.again({ routes: ROUTES });
    await lost.response.catch(() => undefined);
    await scene.origin.release(keyOf(message));
    const first = await until(
      async () => {
        const answer = await scene.send(plain);
        return codeOf(answer) === "in-flight" ? null : answer;
      },
      "the lock ends",
      60_000,
    );
    expect([first.status, first.body.toString()]).toEqual([272, text]);
    expectReplay(await scene.send(plain), first);
    expect(tracesIn(scene.gateway.stateDir, [...marks, keyOf(message)])).toEqual([]);
    expect(await scene.origin.effects(keyOf(message))).toBe(2);
  });
});

describe("a caller who is forgotten", () => {
  it("leaves no encrypted record, under a newer secret neither, and nobody else is forgotten", async () => {
    const secrets = { ...FIRST, ENCRYPTION_SECRET_2: freshSecret() };
    const [older, newer, others] = [caseOf("/pay", "small"), caseOf("/pay", "large"), caseOf("/pay", "small")];
    const [credential = ""] = older.marks;
    const authorization = `Bearer ${credential}`;
    const second = { ...newer.message, headers: [["Authorization", authorization] as const] };
    await scene.send(older.message);
    const kept = await scene.send(others.message);
    await scene.again({ secrets });
    await scene.send(second);
    const forget = (how: object) =>
      askGateway(`${scene.gateway.url}${BASE}/scopes/forget`, "POST", {
        body: { scope: { "header:authorization": authorization }, reason: "asked to be erased", ...how },
      });
    expect((await forget({ preview: true })).json).toMatchObject({ forgotten: 2 });
    expect((await forget({ confirm: true })).json).toMatchObject({ forgotten: 2, cursor: null });
    expect((await forget({ preview: true })).json).toMatchObject({ forgotten: 0 });
    expectReplay(await scene.send(others.message), kept);
    await scene.again({ secrets: FIRST });
  });
});

describe("an encrypted record that is only remembered", () => {
  it("does not say that its response was lost, nor what its status was", async () => {
    const { message, marks } = caseOf("/brief", "small");
    expect((await scene.send(message)).status).toBe(271);
    const late = await until(
      async () => {
        const answer = await scene.send(message);
        return answer.status === 409 ? answer : null;
      },
      "the response expires",
      60_000,
    );
    expect(codeOf(late)).toBe("key-expired");
    expect(late.body.toString()).not.toMatch(/(?<![0-9a-f.])271(?![0-9a-f])|was lost/);
    expect(tracesIn(scene.gateway.stateDir, [...marks, keyOf(message)])).toEqual([]);
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
  });
});

function countOf(database: DatabaseSync): number {
  return Number(database.prepare("SELECT count(*) AS n FROM records").get()?.["n"]);
}

/** Another byte, whichever is there. */
function changeByte(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return changed;
}

describe("a changed byte", () => {
  it.each([
    ["the head", "headers", (bytes: Buffer) => changeByte(bytes, 40)],
    ["the body", "body", (bytes: Buffer) => changeByte(bytes, 0)],
    ["the end of the body", "body", () => Buffer.alloc(0)],
  ])("of %s: 409, and never another effect", async (_, column, change) => {
    const { message } = caseOf("/pay", "small");
    await scene.send(message);
    // The operators' object has a file, too, and no records.
    const databases = shardFiles(scene.gateway).map((file) => new DatabaseSync(file, { timeout: 5_000 }));
    const [database, ...others] = databases.toSorted((one, other) => countOf(other) - countOf(one));
    for (const other of others) other.close();
    if (database === undefined) throw new Error("no shard has been used");
    const row = database.prepare(`SELECT id, ${column} AS bytes FROM records ORDER BY started_at DESC LIMIT 1`).get();
    if (!(row?.["bytes"] instanceof Uint8Array)) throw new Error(`${column} is not bytes`);
    const changed = change(Buffer.from(row["bytes"]));
    database.prepare(`UPDATE records SET ${column} = ? WHERE id = ?`).run(changed, String(row["id"]));
    database.close();
    await scene.again();
    const answer = await scene.send(message);
    expect([answer.status, codeOf(answer)]).toEqual([409, "response-not-kept"]);
    await untilPrinted(scene.gateway, "an encrypted response does not open");
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
  });
});

describe("the secrets", () => {
  it("are rotated: older responses open as long as theirs is there, and nothing takes effect twice", async () => {
    const older = caseOf("/pay", "small").message;
    const before = await scene.send(older);
    const both = { ...FIRST, ENCRYPTION_SECRET_2: freshSecret() };
    await scene.again({ secrets: both });
    const newer = caseOf("/pay", "large").message;
    const after = await scene.send(newer);
    expectReplay(await scene.send(older), before);
    expectReplay(await scene.send(newer), after);
    await scene.again({ secrets: { ENCRYPTION_SECRET_2: both.ENCRYPTION_SECRET_2 } });
    expectReplay(await scene.send(newer), after);
    const lost = await scene.send(older);
    expect([lost.status, codeOf(lost)]).toEqual([409, "response-not-kept"]);
    await untilPrinted(scene.gateway, "its secret is not configured");
    await scene.again({ secrets: both });
    expectReplay(await scene.send(older), before);
    expect([await scene.origin.effects(keyOf(older)), await scene.origin.effects(keyOf(newer))]).toEqual([1, 1]);
    await scene.again({ secrets: FIRST });
  });
});

describe("a route that is encrypted or opened later", () => {
  afterAll(() => scene.again({ routes: ROUTES }));

  const withEncrypted = (encrypted: boolean | "past") => ({ routes: [{ path: "/*", encrypt_responses: encrypted }] });

  it("replays what it has, whichever way it was stored", async () => {
    const encrypted = caseOf("/change", "small").message;
    const before = await scene.send(encrypted);
    await scene.again(withEncrypted("past"));
    expectReplay(await scene.send(encrypted), before);
    const open = caseOf("/change", "small");
    const plain = await scene.send(open.message);
    expect(tracesIn(scene.gateway.stateDir, open.marks)).not.toEqual([]);
    await scene.again(withEncrypted(true));
    expectReplay(await scene.send(open.message), plain);
    expectReplay(await scene.send(encrypted), before);
    expect((await scene.send({ ...encrypted, body: "{}" })).status).toBe(422);
    expect((await scene.send({ ...open.message, body: "{}" })).status).toBe(422);
    expect(await scene.origin.effects(keyOf(encrypted))).toBe(1);
    expect(await scene.origin.effects(keyOf(open.message))).toBe(1);
  });

  it('without "past" tells that it took effect, and sends nothing', async () => {
    const { message } = caseOf("/change", "small");
    await scene.send(message);
    await scene.again(withEncrypted(false));
    const answer = await scene.send(message);
    expect([answer.status, codeOf(answer)]).toEqual([409, "response-not-kept"]);
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
    await untilPrinted(scene.gateway, "an encrypted record does not open");
  });

  it('without "past" answers retries of an unfinished record with 503, until it is "past"', async () => {
    await scene.again(withEncrypted(true));
    const { message, marks } = caseOf("/change", "small");
    const { behave: _, ...plain } = message;
    const lost = await scene.send({ ...plain, behave: { drop: "after-effect" } });
    expect(lost.status).toBe(502);
    await scene.again(withEncrypted(false));
    const answer = await scene.send(plain);
    expect([answer.status, codeOf(answer)]).toEqual([503, "store-unavailable"]);
    const reported = await untilPrinted(scene.gateway, "an encrypted record does not open");
    expect([...marks, keyOf(message)].filter((text) => reported.includes(text))).toEqual([]);
    await scene.again(withEncrypted("past"));
    const unknown = await scene.send(plain);
    expect([unknown.status, codeOf(unknown)]).toEqual([409, "outcome-unknown"]);
    expect(await scene.origin.effects(keyOf(message))).toBe(1);
  });
});
