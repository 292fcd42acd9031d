// Answers that exist before the request's body has been read reach every client: one that sends everything before it reads,
// and one that sends until it gets an answer. Above a limit the connection may break.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { type DeafRequest, sendDeaf } from "../../../support/e2e/deaf-client.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
/** How much the gateway reads at most after an answer (src/kernel/request/drain.ts). */
const DRAINED_BYTES = 100 * MIB;
const TIMES = 20;
/** More at once would only wait for each other. */
const AT_ONCE = 4;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1 }, [
    { path: "/bounded", max_request_body: 3 * MIB },
    { path: "/tiny", max_request_body: KIB },
    { path: "/flows", fingerprint: { body: "none" } },
  ]);
});
afterAll(() => scene.close());

/** Sends as many as there are requests, a few at once. */
async function sendAll(requests: readonly DeafRequest[]): Promise<readonly (RawResponse | null)[]> {
  const waiting = requests.entries();
  const answers: (RawResponse | null)[] = requests.map(() => null);
  const work = async (): Promise<void> => {
    for (const [index, request] of waiting) answers[index] = await sendDeaf(scene.gateway.url, request);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

function times(make: () => DeafRequest): readonly DeafRequest[] {
  return Array.from({ length: TIMES }, make);
}

describe("A client that sends everything before it reads", () => {
  const tooMany = [
    { path: "/tiny", bytes: 5 * MIB, chunked: false },
    { path: "/bounded", bytes: 5 * MIB, chunked: true },
    { path: "/bounded", bytes: 5 * MIB, chunked: false },
    { path: "/bounded", bytes: 60 * MIB, chunked: false },
    { path: "/tiny", bytes: 5 * MIB, chunked: true },
    { path: "/bounded", bytes: 60 * MIB, chunked: true },
  ];
  it.each(tooMany)("is told each time that $bytes bytes on $path are too many (chunked: $chunked)", async (row) => {
    const requests = times(() => ({ ...row, key: freshKey() }));
    const answers = await sendAll(requests);
    expect(answers.map((answer) => answer?.complete)).toEqual(requests.map(() => true));
    for (const [index, answer] of answers.entries()) {
      const echo = requests[index]?.key ?? null;
      if (answer !== null) expectProblem(answer, { code: "body-too-large", status: 413, retryable: false, echo });
    }
    const heard = await Promise.all(requests.map(({ key }) => scene.origin.requests(key)));
    expect(heard.flat()).toEqual([]);
  });

  it("is told each time that its key is not valid, before its body is read", async () => {
    const requests = times(() => ({ path: "/bounded", bytes: 5 * MIB, chunked: false, key: "two words" }));
    const answers = await sendAll(requests);
    expect(answers.map((answer) => answer?.complete)).toEqual(requests.map(() => true));
    for (const answer of answers) {
      if (answer !== null) expectProblem(answer, { code: "key-invalid", status: 400, retryable: false, echo: null });
    }
  });

  const answersToUploads = [
    { name: "an answer", behave: { status: 201, body: "kept" } },
    { name: "an answer in chunks", behave: { status: 201, chunks: ["ke", "pt"] } },
    { name: "an answer without a body", behave: { status: 204 } },
  ];
  it.each(answersToUploads)("gets each replay of $name to an upload of 50 MiB", async ({ behave }) => {
    const upload: DeafRequest = { path: "/flows", key: freshKey(), bytes: 50 * MIB };
    await scene.origin.behave({ key: upload.key }, behave);
    const first = await sendDeaf(scene.gateway.url, upload);
    expect([first?.status, first?.complete]).toEqual([behave.status, true]);
    const replays = await sendAll([...times(() => upload), { ...upload, chunked: true }]);
    for (const replay of replays) {
      expect([replay?.status, replay?.complete, replay?.body.toString()]).toEqual([
        behave.status,
        true,
        first?.body.toString(),
      ]);
      expect(replay && headerValue(replay, "idempotent-replayed")).toBe("true");
    }
    expect(await scene.origin.effects(upload.key)).toBe(1);
  });

  it("gets in-flight while the first request runs", async () => {
    const upload: DeafRequest = { path: "/flows", key: freshKey(), bytes: 20 * MIB };
    await scene.origin.behave({ key: upload.key }, { status: 201, hold: true });
    const first = sendDeaf(scene.gateway.url, upload);
    await scene.origin.arrived(upload.key);
    const [refused] = await sendAll([upload]);
    expect([refused?.status, refused?.complete]).toEqual([409, true]);
    expect(refused?.body.toString()).toContain('"in-flight"');
    await scene.origin.release(upload.key);
    expect((await first)?.status).toBe(201);
    expect(await scene.origin.effects(upload.key)).toBe(1);
  });

  it("may lose the answer above the limit, but nothing is forwarded, and its key stays free", async () => {
    const over: DeafRequest = { path: "/bounded", key: freshKey(), bytes: DRAINED_BYTES + 60 * MIB };
    const answer = await sendDeaf(scene.gateway.url, over);
    expect([undefined, 413]).toContain(answer?.status);
    expect(await scene.origin.requests(over.key)).toEqual([]);
    expect((await sendDeaf(scene.gateway.url, { ...over, bytes: MIB }))?.status).toBe(201);
  });
});

describe("A client that sends until it gets an answer", () => {
  const piece = "x".repeat(KIB);

  it.each([
    { path: "/bounded", framing: ["Content-Length", String(60 * MIB)] as const, before: "" },
    { path: "/tiny", framing: ["Transfer-Encoding", "chunked"] as const, before: "" },
    { path: "/bounded", framing: ["Transfer-Encoding", "chunked"] as const, before: chunkOf("x".repeat(4 * MIB)) },
  ])("gets the head while it sends, and the rest when it stops: $path, $framing", async ({ path, framing, before }) => {
    const key = freshKey();
    const request = scene.open({ path, key, body: null, headers: [framing] });
    await request.sent;
    request.write(before);
    let reported = false;
    void request.head.then(() => (reported = true));
    // The client never pauses for long: if the answer waited for the rest of the body, it would not come in this time.
    await until(async () => {
      request.write(framing[1] === "chunked" ? chunkOf(piece) : piece);
      return reported ? true : null;
    }, "the answer to a request that goes on");
    expectProblem(await request.response, { code: "body-too-large", status: 413, retryable: false, echo: key });
    expect(await scene.origin.requests(key)).toEqual([]);
  });
});

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
