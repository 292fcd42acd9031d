// An operator's browser sends the console's session cookie with every request to the host. It opens the console, so the origin
// never gets it, however a request is forwarded, and no record depends on it.

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { endpoint, freshKey, type HeaderPair, openRequest } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { isReplay } from "../../support/e2e/guarantees-client.ts";
import { type Client, clientOf } from "../../support/e2e/scene.ts";
import { openRefusedStatements, type RefusedStatements } from "../../support/e2e/refused-statements.ts";
import { openVerificationRows, type VerificationRows } from "../../support/e2e/verification-rows.ts";
import { ADMIN_TOKEN, BASE } from "../../support/e2e/operator-scene.ts";

const THEIRS = 'theme="a b"; id=a%20b,c';

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
let refused: RefusedStatements;
let rows: VerificationRows;
/** As a browser has it after signing in. */
let session = "";
beforeAll(async () => {
  origin = await startOrigin();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: 1, scope: ["none"], lock: "3s", timeout: "2s" },
    ROUTES: [
      { path: "/verify/*", unknown: "verify", verify: "/by-key/{key}" },
      { path: "/open/*", on_store_failure: "open" },
      { path: "/bound/pay", origin: { binding: "API" } },
      { path: "/bound/optional", methods: ["POST", "PUT"], origin: { binding: "API" }, key: "optional" },
      { path: "/cookie/*", scope: ["header:cookie"] },
      { path: "/session/*", scope: ["cookie:theme"], fingerprint: { headers: ["cookie"] } },
      { path: "/pay/*" },
    ],
    ADMIN_TOKEN,
  };
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars,
    extraBindings: [`(name = "API", service = "api")`],
    extraServices: [`(name = "api", external = (address = "${origin.url.slice("http://".length)}", http = ()))`],
  });
  client = clientOf(gateway.url);
  await client.send({ path: "/pay/first", key: freshKey() });
  // While there is one object alone: the console has one of its own.
  refused = openRefusedStatements(gateway);
  rows = openVerificationRows(gateway);
  const body = `operator-token=${ADMIN_TOKEN}`;
  const form: HeaderPair[] = [
    ["Content-Type", "application/x-www-form-urlencoded"],
    ["Origin", gateway.url],
  ];
  const { headers } = await client.send({ path: `${BASE}/console/sign-in`, headers: form, body });
  const cookie = headers.find(([name]) => name.toLowerCase() === "set-cookie")?.[1] ?? "";
  session = cookie.split(";")[0] ?? "";
  if (!session.startsWith("onceway=eyJ")) throw new Error(`no session: ${session}`);
});
afterAll(async () => {
  refused.close();
  rows.close();
  await gateway.stop();
  await origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
});

/** Under both names, between others, on a line of its own. */
const lines = (): readonly HeaderPair[] => [
  ["Cookie", `a=1; ${session}; __Host-${session}; ${THEIRS}`],
  ["Cookie", session],
];
const KEPT = `a=1; ${THEIRS}`;

/** What the origin was sent with these keys or at this path since the beginning. */
async function cookiesAt(path: string): Promise<readonly (string | null)[]> {
  const requests = (await origin.requests()).filter((one) => one.path.startsWith(path));
  for (const { headers } of requests) expect(JSON.stringify(headers)).not.toContain(session.slice("onceway=".length));
  return requests.map(({ headers }) => headers.find(([name]) => name.toLowerCase() === "cookie")?.[1] ?? null);
}

// One story: each step goes on where the one before it ended.
describe("the console's session", { shuffle: false }, () => {
  it("opens the console, so it is worth protecting", async () => {
    const reported = await client.send({ method: "GET", path: BASE, headers: [["Cookie", session]], body: null });
    expect(reported.status).toBe(200);
  });

  it("is not sent with a protected call, nor stored with its question", async () => {
    const path = `/verify/${freshKey()}`;
    const key = freshKey();
    await origin.behave({ key, path: `/by-key/${key}` }, { status: 503, effect: false });
    await client.send({ path, key, headers: lines(), behave: { drop: "after-effect" } });
    const { verification } = rows.ofKey(key);
    expect(verification).toContain("theme");
    expect(verification).not.toContain(session.slice("onceway=".length));
    await rows.until(rows.ofKey(key).id, ({ verifications }) => (verifications ?? 0) > 0, "the origin is asked");
    expect(await cookiesAt(path)).toEqual([KEPT]);
    // The first question may break off before the origin has it, on the connection that was dropped.
    await expect.poll(async () => new Set(await cookiesAt(`/by-key/${key}`))).toEqual(new Set([KEPT]));
  });

  it.each([
    ["by its parts", "/else", "GET", null],
    ["by its parts, with a body", "/else", "POST", "text"],
    ["through a binding, where the key is optional", "/bound/optional", "POST", "text"],
    ["through a binding, where the key is optional, by another method", "/bound/optional", "PUT", "text"],
  ])("does not go out with what passes %s", async (_way, begin, method, body) => {
    const path = `${begin}${begin === "/else" ? `/${freshKey()}` : ""}?${freshKey()}`;
    const { status } = await client.send({ method, path, headers: lines(), body });
    expect(status).toBeLessThan(300);
    const arrived = (await origin.requests()).filter(({ url }) => url === path);
    expect(arrived).toHaveLength(1);
    expect(arrived[0]?.body?.bytes ?? 0).toBe(body?.length ?? 0);
    const cookies = arrived[0]?.headers.filter(([name]) => name.toLowerCase() === "cookie");
    expect(cookies?.map(([, value]) => value)).toEqual([KEPT]);
  });

  it("is not sent through a binding with a key", async () => {
    await client.send({ path: "/bound/pay", key: freshKey(), headers: lines() });
    expect(await cookiesAt("/bound/pay")).toEqual([KEPT]);
  });

  it("is not sent with an unprotected request", async () => {
    const path = `/open/${freshKey()}`;
    await refused.while("INSERT", async () => {
      await client.send({ path, key: freshKey(), headers: lines() });
    });
    expect(await cookiesAt(path)).toEqual([KEPT]);
  });

  it("is not sent with a WebSocket, which still opens", async () => {
    const path = `/socket/${freshKey()}`;
    const opened = openRequest({
      ...endpoint(gateway.url),
      method: "GET",
      target: path,
      headers: [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
        ["Sec-WebSocket-Version", "13"],
        ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
        ["Cookie", `${session}; ${THEIRS}`],
      ],
    });
    expect((await opened.head).status).toBe(101);
    opened.reset();
    expect(await cookiesAt(path)).toEqual([THEIRS]);
  });

  it("leaves no empty Cookie header when it was the only cookie", async () => {
    const path = `/else/${freshKey()}`;
    await client.send({ method: "GET", path, headers: [["Cookie", session]], body: null });
    expect(await cookiesAt(path)).toEqual([null]);
  });

  it("changes neither the scope nor the fingerprint of a request", async () => {
    for (const path of ["/cookie/x", "/session/x"]) {
      const key = freshKey();
      const headers: HeaderPair[] = [["Cookie", `theme=dark; ${session}`]];
      const plain: HeaderPair[] = [["Cookie", "theme=dark"]];
      expect(isReplay(await client.send({ path, key, headers }))).toBe(false);
      expect(isReplay(await client.send({ path, key, headers: plain }))).toBe(true);
      expect(isReplay(await client.send({ path, key, headers }))).toBe(true);
      expect(await origin.effects(key)).toBe(1);
    }
  });
});
