// What of a request counts when a key comes again: clients that send the same request in another form get the replay, clients that
// change what counts get 422, and the origin acts once. What counts under each rule is tested in unit/http/comparison.test.ts, and in
// property/json-selection.test.ts, form-pairs.test.ts and multipart.test.ts.

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
    { path: "/except", fingerprint: { body: "json", except: ["/timestamp", "/meta/nonce"] } },
    { path: "/form", fingerprint: { body: "form", except: ["/token"] } },
    { path: "/multipart", fingerprint: { body: "multipart", headers: ["content-type"] }, max_request_body: "50MiB" },
    { path: "/sorted", fingerprint: { query: "sorted", query_except: ["t"] } },
  ];
  const vars = { IDEMPOTENCY: { origin: origin.url, scope: ["none"] }, ROUTES: routes };
  gateway = await startWorkerd({ stateDir: await makeStateDir(), inspectorPort, vars });
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

interface Try {
  readonly path: string;
  readonly body?: string | FormData;
  readonly type?: string;
}

/** What the gateway says became of the request. */
async function send(key: string, { path, body = "{}", type }: Try): Promise<string> {
  const headers = { "Idempotency-Key": key, ...(type === undefined ? null : { "Content-Type": type }) };
  const response = await fetch(`${gateway.url}${path}`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.headers.get("idempotency-status") ?? String(response.status);
}

/** Sends the requests one after the other with one key, which takes effect once. */
async function sendAll(...tries: readonly Try[]): Promise<readonly string[]> {
  const key = freshKey();
  const answers: string[] = [];
  for (const one of tries) answers.push(await send(key, one));
  expect(await origin.effects(key)).toBe(1);
  return answers;
}

const json = (path: string, value: unknown): Try => ({ path, body: JSON.stringify(value), type: "application/json" });

describe("JSON with a selection", () => {
  it("except: another timestamp is a retry, another amount is not", async () => {
    const payment = { amount: 1, timestamp: 1, meta: { nonce: "x", by: "me" } };
    const answers = await sendAll(
      json("/except", payment),
      json("/except", { timestamp: { at: 2 }, meta: { by: "me", nonce: "y" }, amount: 1 }),
      json("/except", { amount: 1, meta: { by: "me" } }),
      json("/except", { ...payment, amount: 2 }),
      json("/except", { ...payment, meta: { nonce: "x", by: "you" } }),
    );
    expect(answers).toEqual(["first", "replayed", "replayed", "key-reused", "key-reused"]);
  });
});

describe("a form", () => {
  const form = (body: string): Try => ({ path: "/form", body, type: "application/x-www-form-urlencoded" });

  it("is the same in another order and with other escapes, and a field may be left out of it", async () => {
    const answers = await sendAll(
      form("amount=1&name=A+B&token=x"),
      form("token=y&name=%41%20B&amount=1"),
      form("name=A+B&amount=1"),
      form("name=A+B&amount=2"),
      form("name=A+B&amount=1&amount=1"),
      { path: "/form", body: "name=A+B&amount=1", type: "application/json" },
    );
    expect(answers).toEqual(["first", "replayed", "replayed", "key-reused", "key-reused", "key-reused"]);
  });
});

/** As a client builds it for each try. */
function formData(file: Uint8Array<ArrayBuffer>, amount = "1", fileName = "picture.png"): FormData {
  const form = new FormData();
  form.set("amount", amount);
  form.set("file", new Blob([file], { type: "image/png" }), fileName);
  return form;
}

const upload = (body: FormData): Try => ({ path: "/multipart", body });

describe("a multipart body", () => {
  it("is the same with a new boundary, and another one with another part", async () => {
    const file = new TextEncoder().encode("--\r\n--x");
    const answers = await sendAll(
      upload(formData(file)),
      upload(formData(file)),
      upload(formData(file, "2")),
      upload(formData(file, "1", "other.png")),
      upload(formData(new TextEncoder().encode("--\r\n--y"))),
    );
    expect(answers).toEqual(["first", "replayed", "key-reused", "key-reused", "key-reused"]);
  });

  it("that is large is compared while it streams, and takes little memory", async () => {
    const file = new Uint8Array(20 * MIB);
    for (let at = 0; at < file.length; at += 65_536) crypto.getRandomValues(file.subarray(at, at + 65_536));
    const changed = file.slice();
    changed[10 * MIB] = (changed[10 * MIB] ?? 0) ^ 1;
    let answers: readonly string[] = [];
    const peakMib = await watchIsolate(inspectorPort, async () => {
      answers = await sendAll(upload(formData(file)), upload(formData(file)), upload(formData(changed)));
    });
    expect(answers).toEqual(["first", "replayed", "key-reused"]);
    expect(peakMib).toBeLessThan(40);
  });
});

describe("the query", () => {
  it("sorted: the order of different names does not count, that of one name does", async () => {
    const answers = await sendAll(
      { path: "/sorted?a=1&b=2&b=3&t=1" },
      { path: "/sorted?b=2&t=2&b=3&a=1" },
      { path: "/sorted?b=3&b=2&a=1" },
      { path: "/sorted?a=2&b=2&b=3&t=1" },
    );
    expect(answers).toEqual(["first", "replayed", "key-reused", "key-reused"]);
  });
});
