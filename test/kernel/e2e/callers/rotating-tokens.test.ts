// @module-tag needs/chromium
// Tokens that expire before their records do, on a route whose scope is the token: operators are told once, in the log, in the health answer
// and in the console.

import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { freshKey } from "../../../support/http.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { expectFirstAnswer } from "../../../support/e2e/problem.ts";
import { until, untilPrinted } from "../../../support/e2e/scene.ts";

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 2, log: "none" }, [{ path: "/rotating" }, { path: "/keys" }]);
});
afterAll(() => scene.close());

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const tokenFor = (seconds: number): string =>
  `${base64url({ alg: "ES256" })}.${base64url({ sub: "alice", exp: Math.floor(Date.now() / 1000) + seconds })}.c2ln`;

it("is told once, with the route, and without any part of a token", async () => {
  const healthy = await scene.ask("GET", "/health");
  expect(healthy.json).toMatchObject({ status: "ok", warnings: [] });

  const send = (path: string, token: string): Promise<unknown> =>
    scene
      .send({ path, key: freshKey(), headers: [["Authorization", `Bearer ${token}`]] })
      .then((answer) => expectFirstAnswer(answer, 201));
  const tokens = [tokenFor(300), tokenFor(600)];
  for (const token of tokens) await send("/rotating", token);
  await send("/keys", "an-api-key");
  await send("/keys", tokenFor(48 * 3600));

  const warnings = await until(async () => {
    const { json } = await scene.ask("GET", "/health");
    const reported: unknown = typeof json === "object" && json !== null && "warnings" in json ? json.warnings : null;
    return Array.isArray(reported) && reported.length > 0 ? reported : null;
  }, "a warning");
  expect(warnings).toEqual([
    {
      route: "/rotating",
      message: expect.stringMatching(
        /^Callers' tokens expire before their records do\. A client that .* Set scope = \["identity:user"\] and describe the identity\.$/,
      ),
    },
  ]);

  const lines = (await untilPrinted(scene.gateway, "tokens expire before their records do")).split("\n");
  expect(lines.filter((line) => line.includes("tokens expire before their records do"))).toHaveLength(1);
  for (const token of tokens) {
    for (const part of token.split(".")) expect(scene.gateway.output()).not.toContain(part);
  }

  const browser = await launchChromium();
  const { page, complaints } = await openConsole(browser, scene);
  await signIn(page);
  expect(await page.locator("#warnings").textContent()).toContain("/rotating: Callers' tokens expire");
  expect(complaints).toEqual([]);
  await browser.close();
});
