// Answers that begin through one layout and are followed, awaited or replayed through the other: the same bytes from the first
// one on, and one effect.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChaosBucket, startBucket } from "../../../chaos/bucket.ts";
import { createRandom } from "../../../chaos/random.ts";
import { type LayoutScene, startLayoutScene } from "../rounds/scene.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { freePort } from "../../../support/ports.ts";
import { openStream, type StreamReader } from "../../../support/e2e/stream-client.ts";
import { startStreamOrigin, type StreamOrigin } from "../../../support/e2e/stream-origin.ts";
import { event, EVENTS, makeLoad } from "../../../support/e2e/stream-scene.ts";

const OLD = { shards: 4 };
const NEW = { shards: 8, previous_shards: [4] };
const ATTACH = { duplicate: "attach", wait: "20s", max_response_body: "40MiB" };
const ROUTES = [
  { path: "/attach", ...ATTACH },
  { path: "/wait", duplicate: "wait", wait: "20s" },
  { path: "/bucket", max_response_body: "1MiB" },
];
const NAMES = ["old", "new"] as const;
type Name = (typeof NAMES)[number];
const STREAM_MIB = 20;
const WAITERS = 50;

let origin: StreamOrigin;
let bucket: ChaosBucket;
let scene: LayoutScene<Name>;

beforeAll(async () => {
  origin = await startStreamOrigin();
  bucket = await startBucket(await freePort(), createRandom("streams", "bucket"), () => undefined);
  bucket.calm();
  const vars = { IDEMPOTENCY: { origin: origin.url }, ROUTES };
  scene = await startLayoutScene({ vars, workers: { old: OLD, new: NEW }, bucketPort: bucket.port });
});
afterAll(async () => {
  await scene.close();
  await bucket.close();
  await origin.close();
});

function open(name: Name, path: string, key: string, digestOnly = false): StreamReader {
  return openStream(scene.url(name), { path, key, digestOnly });
}

/** Every pair of Workers; a key that began in the newer layout is found from the older one too. */
const PAIRS = [
  ["old", "new"],
  ["new", "old"],
] as const;

describe.each(PAIRS)(
  "An answer that begins through the %s Worker and is asked for through the %s one",
  (one, other) => {
    it(`a stream of ${STREAM_MIB} MiB: whole, and from its first byte`, async () => {
      const key = freshKey();
      const load = makeLoad(STREAM_MIB);
      const first = open(one, "/attach", key, true);
      const streaming = await origin.take(key);
      streaming.begin([["Content-Type", "application/octet-stream"]]);
      for (const piece of load.pieces.slice(0, STREAM_MIB / 2)) await streaming.write(piece);
      await first.untilSize(load.size / 2 - 1);
      const attached = open(other, "/attach", key, true);
      await attached.untilSize(1);
      for (const piece of load.pieces.slice(STREAM_MIB / 2)) await streaming.write(piece);
      await streaming.end();
      const late = open(other, "/attach", key, true);
      for (const reader of [first, attached, late]) {
        expect(await reader.end).toMatchObject({ complete: true, size: load.size, sha256: load.sha256 });
      }
      expect(origin.effects(key)).toBe(1);
    });

    it("an event stream: each event reaches both, in order, from the first", async () => {
      const key = freshKey();
      const first = open(one, "/attach", key);
      const streaming = await origin.take(key);
      streaming.begin(EVENTS);
      let text = "";
      let attached: StreamReader | null = null;
      for (let id = 1; id <= 6; id += 1) {
        text += event(key, id);
        await streaming.write(event(key, id));
        await first.untilText(text);
        attached ??= id === 3 ? open(other, "/attach", key) : null;
        if (attached !== null) await attached.untilText(text);
      }
      await streaming.end();
      const sha256 = createHash("sha256").update(text).digest("hex");
      for (const reader of [first, attached ?? first])
        expect(await reader.end).toMatchObject({ complete: true, sha256 });
      expect(origin.effects(key)).toBe(1);
    });

    it("a body in the R2 bucket: the same bytes", async () => {
      const key = freshKey();
      const load = makeLoad(3);
      const first = open(one, "/bucket", key, true);
      const streaming = await origin.take(key);
      streaming.begin([]);
      for (const piece of load.pieces) await streaming.write(piece);
      await streaming.end();
      expect(await first.end).toMatchObject({ complete: true, sha256: load.sha256 });
      const again = open(other, "/bucket", key, true);
      expect(await again.end).toMatchObject({ complete: true, sha256: load.sha256 });
      expect(headerValue(await again.head, "idempotent-replayed")).toBe("true");
      expect(origin.effects(key)).toBe(1);
    });

    it.each(["/wait", "/attach"])(`${WAITERS} duplicates on %s, through both: one effect, one answer`, async (path) => {
      const key = freshKey();
      const first = open(one, path, key);
      const streaming = await origin.take(key);
      const waiters = Array.from({ length: WAITERS }, (_, at) => open(at % 2 === 0 ? one : other, path, key));
      // A request that came after them on another key has been answered, so they wait, or are about to.
      const probe = freshKey();
      const probing = open(other, path, probe);
      const answer = await origin.take(probe);
      answer.begin([]);
      await answer.end();
      await probing.end;
      streaming.begin([]);
      await streaming.write("the only answer");
      await streaming.end();
      for (const reader of [first, ...waiters]) {
        const { bytes, complete } = await reader.end;
        expect([complete, bytes.toString()]).toEqual([true, "the only answer"]);
      }
      expect(origin.effects(key)).toBe(1);
    });
  },
);
