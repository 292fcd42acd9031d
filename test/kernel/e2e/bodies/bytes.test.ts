// Byte-exactness: the first client and every replay get exactly what the origin sends, with the same Content-Encoding, for
// every size and framing. Uses `workerd serve`, because `wrangler dev` compresses again.

import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdCompressSync,
  zstdDecompressSync,
} from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import type { HeaderPair } from "../../../support/http.ts";
import { isLong } from "../../../support/long.ts";
import { digestOfGenerated, type Generated, transfer } from "../../../support/e2e/bytes-client.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

const ENCODINGS = ["identity", "gzip", "br", "zstd", "deflate"] as const;
type Encoding = (typeof ENCODINGS)[number];

/** What one row holds of a body (src/kernel/store/bodies.ts). */
const CHUNK = 256 * KIB;

/** The platform accepts at most 2,000,000 bytes in one row. */
const SIZES = [0, 1, KIB, CHUNK - 1, CHUNK, CHUNK + 1, MIB - 1, MIB, MIB + 1, 2_000_001];
const HUGE = 100 * MIB;

const LARGE = 25 * MIB;

interface Row extends Generated {
  readonly encoding: Encoding;
  readonly framing: "length" | "chunked";
}

/** Of what takes long, in the short run. */
const FEW_LARGE: readonly Row[] = [
  { encoding: "identity", bytes: LARGE, framing: "length", seed: "large" },
  { encoding: "br", bytes: LARGE, framing: "chunked", seed: "large" },
];

function matrix(): readonly Row[] {
  const sizes = isLong ? [...SIZES, LARGE, HUGE] : SIZES;
  const rows = ENCODINGS.flatMap((encoding) =>
    sizes.flatMap((bytes) =>
      (["length", "chunked"] as const).map((framing): Row => ({
        encoding,
        bytes,
        framing,
        seed: `${encoding} ${framing}`,
      })),
    ),
  );
  return isLong ? rows : [...rows, ...FEW_LARGE];
}

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1, max_response_body: "200MB", timeout: "30s" }, [{ path: "/*" }]);
});
afterAll(() => scene.close());

describe("first answer = replay = origin, by digest", () => {
  // The bytes need not be what the coding says: to a gateway that decodes nothing they are opaque, and one that decodes fails.
  it.each(matrix())("$encoding, $bytes bytes, $framing", async ({ encoding, framing, seed, bytes }) => {
    const key = freshKey();
    const headers: [string, string][] = [["Content-Type", "application/octet-stream"]];
    if (encoding !== "identity") headers.push(["Content-Encoding", encoding]);
    const request = {
      path: "/matrix",
      key,
      headers: [["Accept-Encoding", ENCODINGS.join(", ")] as HeaderPair],
      behave: { headers, generated: { seed, bytes }, chunked: framing === "chunked" },
    };
    const sent = { status: 200, complete: true, bytes, sha256: digestOfGenerated({ seed, bytes }) };
    const first = await transfer(scene.gateway.url, request);
    const replay = await transfer(scene.gateway.url, request);
    expect(first).toMatchObject(sent);
    expect(replay).toMatchObject(sent);
    for (const answer of [first, replay]) {
      expect(headerValue(answer, "content-encoding")).toBe(encoding === "identity" ? null : encoding);
      expect(headerValue(answer, "content-type")).toBe("application/octet-stream");
      if (framing === "length") expect(headerValue(answer, "content-length")).toBe(String(bytes));
    }
    expect(headerValue(first, "idempotent-replayed")).toBeNull();
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

const text = Buffer.from("the same words again and again; ".repeat(200_000));

describe("real codings", () => {
  it.each([
    ["gzip", gzipSync, gunzipSync],
    ["br", brotliCompressSync, brotliDecompressSync],
    ["zstd", zstdCompressSync, zstdDecompressSync],
    ["deflate", deflateSync, inflateSync],
  ] as const)(
    "%s is neither decoded nor encoded again, whatever the client accepts",
    async (coding, encode, decode) => {
      const bytes = encode(text);
      for (const accepted of [coding, "identity", null]) {
        const key = freshKey();
        const message = {
          path: "/real",
          key,
          headers: accepted === null ? [] : ([["Accept-Encoding", accepted]] as const),
        };
        await scene.origin.behave(
          { key },
          { headers: [["Content-Encoding", coding]], bodyBase64: bytes.toString("base64") },
        );
        const first = await scene.send(message);
        expectFirstAnswer(first, 200);
        expect(first.body.equals(bytes)).toBe(true);
        expect(headerValue(first, "content-encoding")).toBe(coding);
        expect(decode(first.body).equals(text)).toBe(true);
        expectReplay(await scene.send(message), first);
      }
    },
  );
});
