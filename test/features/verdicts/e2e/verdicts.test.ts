// Verdicts from the body over the wire, with effects counted at the origin: an API that answers 200 whatever happens.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { type Message, type Scene, startScene } from "../../../support/e2e/scene.ts";

const VERDICTS = [
  { at: "/data/pay/id", is: "result" },
  { at: "/errors/0/extensions/code", equals: "RATE_LIMITED", is: "refused" },
  { at: "/errors/0/extensions/code", equals: "TIMEOUT", is: "ambiguous" },
];

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ timeout: "5s", lock: "8s", shards: 2 }, [
    { path: "/same", verdicts: VERDICTS },
    { path: "/any", verdicts: VERDICTS, after_refusal: "any" },
    { path: "/plain" },
  ]);
});
afterAll(() => scene.close());

const JSON_TYPE: [string, string][] = [["Content-Type", "application/graphql-response+json"]];
const failed = (code: string, data: object | null = null) => ({
  headers: JSON_TYPE,
  body: JSON.stringify({ data, errors: [{ extensions: { code } }] }),
  effect: data !== null,
});
const paid = { headers: JSON_TYPE, body: '{"data":{"pay":{"id":"1"}}}' };

/** What the origin got with each request that has the key. */
async function sent(key: string, header: string): Promise<readonly (string | undefined)[]> {
  const requests = await scene.origin.requests(key);
  return requests.map(({ headers }) => headers.find(([name]) => name.toLowerCase() === header)?.[1]);
}

describe("an answer 200 whose body says", () => {
  it("that nothing was done is given and not kept: the next try acts, and is kept", async () => {
    const message = { path: "/same", key: freshKey() };
    const first = await scene.send({ ...message, behave: failed("RATE_LIMITED") });
    expect([first.status, headerValue(first, "idempotency-expires")]).toEqual([200, null]);
    expect(first.body.toString()).toContain("RATE_LIMITED");
    const second = await scene.send({ ...message, behave: paid });
    expect(second.body.toString()).toContain('"id":"1"');
    expectReplay(await scene.send(message), second);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("that a part was done is kept, where a rule for that comes first", async () => {
    const message = { path: "/same", key: freshKey() };
    const first = await scene.send({ ...message, behave: failed("RATE_LIMITED", { pay: { id: "2" } }) });
    expectReplay(await scene.send({ ...message, behave: paid }), first);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("that the outcome is open is given, and no other try acts", async () => {
    const message = { path: "/same", key: freshKey() };
    await scene.send({ ...message, behave: failed("TIMEOUT") });
    const refused = { code: "outcome-unknown", status: 409, retryable: false, echo: message.key } as const;
    expectProblem(await scene.send({ ...message, behave: paid }), refused);
    expect(await scene.origin.requests(message.key)).toHaveLength(1);
  });

  it("anything is kept where no rule is written, and the origin is asked as its client asks", async () => {
    const message: Message & { readonly key: string } = {
      path: "/plain",
      key: freshKey(),
      headers: [["Accept-Encoding", "br"]],
    };
    const first = await scene.send({ ...message, behave: failed("RATE_LIMITED") });
    expectReplay(await scene.send({ ...message, behave: paid }), first);
    const judged = { ...message, path: "/same", key: freshKey() };
    await scene.send({ ...judged, behave: paid });
    expect(await sent(message.key, "accept-encoding")).toEqual(["br"]);
    expect(await sent(judged.key, "accept-encoding")).toEqual(["identity"]);
  });
});

describe("a corrected request with the same key", () => {
  const correct = { body: '{"amount":5}' };
  const reused = { code: "key-reused", status: 422, retryable: false } as const;

  it.each([
    ["is taken after a refusal where that is written", "/any", "RATE_LIMITED", true],
    ["is another's after a refusal where it is not", "/same", "RATE_LIMITED", false],
    ["is another's while the outcome is open", "/any", "TIMEOUT", false],
  ] as const)("%s", async (_what, path, code, isTaken) => {
    const message = { path, key: freshKey() };
    await scene.send({ ...message, behave: failed(code) });
    const next = await scene.send({ ...message, ...correct, behave: paid });
    if (!isTaken) {
      expectProblem(next, { ...reused, echo: message.key });
      return;
    }
    expectReplay(await scene.send({ ...message, ...correct }), next);
    expectProblem(await scene.send(message), { ...reused, echo: message.key });
    expect(await sent(message.key, "idempotency-attempt")).toEqual(["1", "2"]);
  });
});
