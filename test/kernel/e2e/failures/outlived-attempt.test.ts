// An attempt that outlives its record: a body that is too large to keep settles its record when the limit is passed, and may
// continue for longer than the retention. Its end must not affect the attempt that follows.

import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { isReplay, problemCode, startStreamScene, untilTrue } from "../../../support/e2e/stream-scene.ts";

it("ends without disturbing the duplicates that wait for the attempt after it", async () => {
  const scene = await startStreamScene([
    {
      path: "/outlived",
      max_response_body: "300kB",
      timeout: "3s",
      idle_timeout: "30s",
      lock: "4s",
      retention: "5s",
      duplicate: "wait",
      wait: "3s",
    },
  ]);
  try {
    const { key, first, streaming } = await scene.start("/outlived");
    streaming.begin([["Content-Type", "text/plain"]]);
    await streaming.write(Buffer.alloc(400_000));
    await untilTrue(() => scene.storage().states().join() === "completed", "the result that is not kept");

    const following = scene.origin.take(key);
    let newer = scene.open({ path: "/outlived", key });
    for (;;) {
      const reported = await Promise.race([following.then(() => null), newer.head]);
      if (reported === null) break;
      expect(problemCode({ ...reported, ...(await newer.end) })).toBe("response-not-kept");
      await pause(20);
      newer = scene.open({ path: "/outlived", key });
    }
    const second = await following;
    await streaming.end();
    expect(await first.end).toMatchObject({ complete: true, size: 400_000 });

    const waiting = scene.open({ path: "/outlived", key });
    // Answered at once when no attempt is known to run; later requests have overtaken it.
    const passed = scene.read({ path: "/outlived", key, body: "another" });
    expect(problemCode(await passed)).toBe("key-reused");
    second.begin([["Content-Length", "6"]], 201);
    await second.write("second");
    await second.end();
    expect({ ...(await newer.head), text: (await newer.end).bytes.toString() }).toMatchObject({
      status: 201,
      text: "second",
    });
    const replay = await waiting.head;
    expect([replay.status, isReplay(replay), (await waiting.end).bytes.toString()]).toEqual([201, true, "second"]);
    expect(scene.origin.effects(key)).toBe(2);
  } finally {
    await scene.close();
  }
});
