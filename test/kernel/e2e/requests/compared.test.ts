// What of a request counts when a key comes again, of the one kind of body that is compared while it streams: a client that sends the same
// parts with another boundary gets the replay, one that changes a part gets 422, and the origin acts once. What counts under each rule is
// tested in unit/request/comparison.test.ts, and in property/json-selection.test.ts, form-pairs.test.ts and multipart.test.ts.

import { watchIsolate } from "../../../bench/isolate-memory.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeStateDir, startWorkerd, type Gateway } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { freePort } from "../../../support/ports.ts";
import { removeGateway } from "../../../support/e2e/scene.ts";

const MIB = 1 << 20;

let gateway: Gateway;
let origin: TestOrigin;
let inspectorPort: number;
beforeAll(async () => {
  origin = await startOrigin();
  inspectorPort = await freePort();
  const routes = [
    { path: "/multipart", fingerprint: { body: "multipart", headers: ["content-type"] }, max_request_body: "50MiB" },
  ];
  const vars = { IDEMPOTENCY: { origin: origin.url, scope: ["none"] }, ROUTES: routes };
  gateway = await startWorkerd({ stateDir: await makeStateDir(), inspectorPort, vars });
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

/** Sends the forms one after the other with one key, which takes effect once. Returns what the gateway says became of each. */
async function sendAll(...forms: readonly FormData[]): Promise<readonly (string | null)[]> {
  const key = freshKey();
  const answers: (string | null)[] = [];
  for (const body of forms) {
    const headers = { "Idempotency-Key": key };
    const response = await fetch(`${gateway.url}/multipart`, { method: "POST", headers, body });
    await response.arrayBuffer();
    answers.push(response.headers.get("idempotency-status"));
  }
  expect(await origin.effects(key)).toBe(1);
  return answers;
}

/** As a client builds it for each try. */
function formData(file: Uint8Array<ArrayBuffer>, amount = "1", fileName = "picture.png"): FormData {
  const form = new FormData();
  form.set("amount", amount);
  form.set("file", new Blob([file], { type: "image/png" }), fileName);
  return form;
}

describe("a multipart body", () => {
  it("is the same with a new boundary, and another one with another part", async () => {
    const file = new TextEncoder().encode("--\r\n--x");
    const answers = await sendAll(
      formData(file),
      formData(file),
      formData(file, "2"),
      formData(file, "1", "other.png"),
      formData(new TextEncoder().encode("--\r\n--y")),
    );
    expect(answers).toEqual(["first", "replayed", "key-reused", "key-reused", "key-reused"]);
  });

  it("that is large is compared while it streams, and takes little memory", async () => {
    const file = new Uint8Array(20 * MIB);
    for (let at = 0; at < file.length; at += 65_536) crypto.getRandomValues(file.subarray(at, at + 65_536));
    const changed = file.slice();
    changed[10 * MIB] = (changed[10 * MIB] ?? 0) ^ 1;
    let answers: readonly (string | null)[] = [];
    const peakMib = await watchIsolate(inspectorPort, async () => {
      answers = await sendAll(formData(file), formData(file), formData(changed));
    });
    expect(answers).toEqual(["first", "replayed", "key-reused"]);
    expect(peakMib).toBeLessThan(40);
  });
});
