// A request that passes after its body has been read for a key, to a Worker behind a binding: there the whole request is copied.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { clientOf, removeGateway } from "../../../support/e2e/scene.ts";

/** Answers with what it got. */
const WORKER = `export default {
  async fetch(request) {
    return new Response(request.method + " " + new URL(request.url).pathname + " " + (await request.text()));
  },
};`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: { binding: "API" }, shards: 1 },
      ROUTES: [{ path: "/optional", key: "optional", key_from: ["json:/id"] }],
    },
    extraBindings: ['(name = "API", service = "api")'],
    extraServices: [
      `(name = "api", worker = (modules = [(name = "api", esModule = ${JSON.stringify(WORKER)})], compatibilityDate = "2026-10-01"))`,
    ],
  });
});
afterAll(() => removeGateway(gateway));

it.each([false, true])("gets it as it came (in chunks: %s)", async (chunked) => {
  const body = '{ "other": "é" }';
  const answer = await clientOf(gateway.url).send({ path: "/optional", body, chunked });
  expect([answer.status, answer.body.toString()]).toEqual([200, `POST /optional ${body}`]);
});
