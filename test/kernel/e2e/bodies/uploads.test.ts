// Request bodies reach the origin byte for byte, with their Content-Encoding and length, and only if they are complete. The
// fingerprint covers all bytes. Where bodies are not compared, uploads of any size are streamed through.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import {
  digestOfGenerated,
  openTransfer,
  type Received,
  transfer,
  type TransferRequest,
  type Upload,
} from "../../../support/e2e/bytes-client.ts";
import { openBodies } from "../../../support/e2e/bytes-database.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const SIZES = [0, 1, MIB - 1, MIB, MIB + 1, 2_000_001, 25 * MIB, 50 * MIB];

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1, max_request_body: 50 * MIB }, [
    { path: "/kept" },
    { path: "/bounded", max_request_body: 3 * MIB },
    { path: "/tiny", max_request_body: KIB },
    { path: "/flows", max_request_body: KIB, fingerprint: { body: "none" }, unknown: "retry" },
    { path: "/flows-held", max_request_body: KIB, fingerprint: { body: "none" }, unknown: "hold" },
  ]);
});
afterAll(() => scene.close());

const send = (request: TransferRequest): Promise<Received> => transfer(scene.gateway.url, request);

function code({ text }: Received): string | null {
  return /"code":"([^"]+)"/.exec(text)?.[1] ?? null;
}

/** What the origin has read of the one request with this key. */
async function readByOrigin(key: string): Promise<{ bytes?: number; sha256?: string; headers: Map<string, string> }> {
  const [request, ...more] = await scene.origin.requests(key);
  expect(more).toEqual([]);
  const headers = new Map((request?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));
  return { ...request?.body, headers };
}

const untilNothingIsStored = async (): Promise<void> => {
  const bodies = openBodies(scene.gateway);
  try {
    await until(
      async () => (bodies.chunks() === 0 && bodies.discarded() === 0 ? true : null),
      "all request chunks erased",
    );
  } finally {
    bodies.close();
  }
};

describe("a body reaches the origin byte for byte", () => {
  const rows = SIZES.flatMap((bytes) => [
    { bytes, chunked: false },
    { bytes, chunked: true },
  ]);
  it.each(rows)("$bytes bytes, chunked: $chunked", async ({ bytes, chunked }) => {
    const key = freshKey();
    const upload: Upload = { seed: `up ${chunked}`, bytes, chunked };
    const request: TransferRequest = { path: "/kept", key, upload, headers: [["Content-Encoding", "zstd"]] };
    const first = await send(request);
    expect(first).toMatchObject({ status: 201, complete: true });
    const read = await readByOrigin(key);
    expect(read).toMatchObject({ bytes, sha256: digestOfGenerated(upload) });
    expect(read.headers.get("content-encoding")).toBe("zstd");
    expect(read.headers.get("content-length")).toBe(String(bytes));

    const replay = await send(request);
    expect(replay).toMatchObject({ status: 201, sha256: first.sha256, complete: true });
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    // The same bytes in the other framing are the same request.
    const reframed = await send({ ...request, upload: { ...upload, chunked: !chunked } });
    expect(headerValue(reframed, "idempotent-replayed")).toBe("true");
    if (bytes > 0) {
      const changed = await send({ ...request, upload: { ...upload, lastByteChanged: true } });
      expect(changed.status).toBe(422);
      expect(code(changed)).toBe("key-reused");
    }
    const shorter = await send({ ...request, upload: { ...upload, bytes: bytes === 0 ? 1 : bytes - 1 } });
    expect(shorter.status).toBe(422);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("and leaves nothing in the shard", async () => {
    await expect(untilNothingIsStored()).resolves.toBeUndefined();
  });
});

describe("a body over max_request_body", () => {
  it.each([
    ["/bounded", 3 * MIB, false],
    ["/bounded", 3 * MIB, true],
    ["/tiny", KIB, false],
    ["/tiny", KIB, true],
  ])("on %s with %i bytes allowed, chunked: %s, is 413, and the origin hears nothing", async (path, most, chunked) => {
    const key = freshKey();
    const upload: Upload = { seed: "over", bytes: most + 1, chunked };
    // A declared size is refused before the body comes.
    const refused = await send({ path, key, upload: chunked ? upload : { ...upload, stopAfterBytes: 512 } });
    expect(refused.status).toBe(413);
    expect(code(refused)).toBe("body-too-large");
    expect(await scene.origin.requests(key)).toEqual([]);
    // Exactly the bound is allowed, and the key is free.
    expect(await send({ path, key, upload: { ...upload, bytes: most } })).toMatchObject({ status: 201 });
    expect(await readByOrigin(key)).toMatchObject({
      bytes: most,
      sha256: digestOfGenerated({ seed: "over", bytes: most }),
    });
    await untilNothingIsStored();
  });
});

describe("a client that leaves", () => {
  it.each([false, true])("inside a large upload (chunked: %s) starts nothing, and its key is free", async (chunked) => {
    const key = freshKey();
    const upload: Upload = { seed: "breaks", bytes: 20 * MIB, chunked, stopAfterBytes: 10 * MIB };
    const broken = openTransfer(scene.gateway.url, { path: "/kept", key, upload });
    await broken.uploaded;
    const bodies = openBodies(scene.gateway);
    // Some of it has come as far as the shard.
    await until(async () => (bodies.chunks() >= 4 ? true : null), "chunks of the upload");
    broken.reset();
    await until(async () => (bodies.chunks() === 0 ? true : null), "the broken upload is erased");
    bodies.close();
    expect(await scene.origin.requests(key)).toEqual([]);
    // Another body under the same key: had the broken one claimed it, this would be a mismatch.
    const other: Upload = { seed: "other", bytes: 5 * MIB };
    expect(await send({ path: "/kept", key, upload: other })).toMatchObject({ status: 201 });
    expect(await readByOrigin(key)).toMatchObject({ bytes: 5 * MIB, sha256: digestOfGenerated(other) });
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("after a complete upload loses nothing: one effect, and the answer is kept", async () => {
    const key = freshKey();
    const upload: Upload = { seed: "leaves", bytes: 20 * MIB };
    await scene.origin.behave({ key }, { status: 201, hold: true, body: "kept for later" });
    const left = openTransfer(scene.gateway.url, { path: "/kept", key, upload });
    await scene.origin.arrived(key);
    left.reset();
    await expect(left.response).rejects.toThrow();
    await scene.origin.release(key);
    const later = await until(async () => {
      const answer = await send({ path: "/kept", key, upload });
      return answer.status === 409 ? null : answer;
    }, "the attempt ends");
    expect(later).toMatchObject({ status: 201, text: "kept for later" });
    expect(headerValue(later, "idempotent-replayed")).toBe("true");
    expect(await readByOrigin(key)).toMatchObject({ bytes: 20 * MIB, sha256: digestOfGenerated(upload) });
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

describe('fingerprint.body = "none"', () => {
  it.each([false, true])(
    "streams 50 MiB beyond max_request_body (chunked: %s), and leaves nothing of it behind",
    async (chunked) => {
      const key = freshKey();
      const upload: Upload = { seed: "flows", bytes: 50 * MIB, chunked };
      const first = await send({ path: "/flows", key, upload });
      expect(first).toMatchObject({ status: 201, complete: true });
      const read = await readByOrigin(key);
      expect(read).toMatchObject({ bytes: 50 * MIB, sha256: digestOfGenerated(upload) });
      expect(read.headers.get("content-length") ?? "chunked").toBe(chunked ? "chunked" : String(50 * MIB));

      expect(await scene.origin.effects(key)).toBe(1);
      await untilNothingIsStored();
    },
  );

  it.each([false, true])("answers a duplicate before its body has arrived (chunked: %s)", async (chunked) => {
    const key = freshKey();
    const upload: Upload = { seed: "again", bytes: 50 * MIB, chunked };
    const first = await send({ path: "/flows", key, upload });
    expect(first).toMatchObject({ status: 201 });
    // It never sends more than the gateway reads before it asks the record: what comes behind an answer, the runtime resets.
    const started = openTransfer(scene.gateway.url, {
      path: "/flows",
      key,
      upload: { ...upload, stopAfterBytes: MIB + 1 },
    });
    const replay = await started.response;
    expect(replay).toMatchObject({ status: 201, sha256: first.sha256, complete: true });
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it.each([
    ["/flows", "failed", false],
    ["/flows", "failed", true],
    ["/flows-held", "unknown", false],
    ["/flows-held", "unknown", true],
  ])(
    "on %s a client that leaves during its upload leaves the record %s, and the origin gets no whole request (chunked: %s)",
    async (path, state, chunked) => {
      const key = freshKey();
      const upload: Upload = { seed: "cut", bytes: 20 * MIB, chunked, stopAfterBytes: 10 * MIB };
      const broken = openTransfer(scene.gateway.url, { path, key, upload });
      await broken.uploaded;
      await until(async () => ((await scene.origin.requests(key)).length > 0 ? true : null), "the origin hears of it");
      broken.reset();
      const bodies = openBodies(scene.gateway);
      await until(async () => (bodies.lastRecord() === state ? true : null), `the record is ${state}`);
      bodies.close();
      expect(await scene.origin.effects(key)).toBe(0);
      expect((await scene.origin.requests(key)).map(({ body }) => body)).toEqual([null]);
    },
  );
});
