// Large bodies that are compared as JSON, in the real gateway: they are read one at a time in the isolate, and a client
// that leaves blocks no other.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WORST_JSON } from "../../../support/worst-json.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ scope: ["none"] }, [{ path: "/json", fingerprint: { body: "json" } }]);
});
afterAll(async () => {
  await scene.close();
});

const KIND = "one object, names in no order";
const disordered = WORST_JSON[KIND] ?? "";
/** The same members the other way round. */
const turned = `{${disordered.slice(1, -1).split(",").toReversed().join(",")}}`;

const send = async (key: string, body: string): Promise<string> => {
  const { status, headers } = await scene.send({ path: "/json", key, body });
  return `${status}${headers.some(([name]) => name.toLowerCase() === "idempotent-replayed") ? " replayed" : ""}`;
};

describe("JSON that is as large as is read", () => {
  it("counts as the same request in another order of members, and as a different one with another member", async () => {
    const key = crypto.randomUUID();
    expect(await send(key, disordered)).toBe("201");
    expect(await send(key, turned)).toBe("201 replayed");
    expect(await send(key, turned.replace('":1,', '":2,'))).toBe("422");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("is compared for many requests at once, each of which is called once", async () => {
    const keys = Array.from({ length: 6 }, () => crypto.randomUUID());
    const answers = await Promise.all(keys.map((key) => send(key, disordered)));
    expect(new Set(answers)).toEqual(new Set(["201"]));
    for (const key of keys) expect(await scene.origin.effects(key)).toBe(1);
  });

  it("of a client that leaves does not delay others", async () => {
    for (let leaver = 0; leaver < 5; leaver++) {
      const gone = scene.open({ path: "/json", key: crypto.randomUUID(), body: disordered });
      void gone.response.catch(() => undefined);
      // Another client's answer comes when the large body has arrived.
      await send(crypto.randomUUID(), "[]");
      gone.reset();
    }
    const key = crypto.randomUUID();
    expect(await send(key, disordered)).toBe("201");
    expect(await send(key, turned)).toBe("201 replayed");
  });
});
