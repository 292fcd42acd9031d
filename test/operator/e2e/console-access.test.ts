// @module-tag needs/chromium
// Access to the console: tokens, sessions, forged forms of other origins, read-only tokens.

import { Agent, createServer, request } from "node:http";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../support/chromium.ts";
import { endpoint, freshKey, type HeaderPair, openRequest, rawRequest } from "../../support/http.ts";
import { freePort } from "../../support/ports.ts";
import { HOLD, openConsole, signIn, startConsoleScene } from "../../support/e2e/console.ts";
import { ADMIN_TOKEN, BASE, type OperatorScene, READ_TOKEN } from "../../support/e2e/operator-scene.ts";

let browser: Browser;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, scene] = await Promise.all([launchChromium(), startConsoleScene()]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
});

const CONSOLE = `${BASE}/console`;

interface Sent {
  readonly cookie?: string;
  readonly origin?: string | null;
  readonly form?: Readonly<Record<string, string>>;
  readonly address?: string;
  readonly url?: string;
}

/** As a browser would send it from the console itself, unless told otherwise. */
async function send(path: string, { cookie, origin, form, address = freshKey(), url = scene.gateway.url }: Sent = {}) {
  const headers = new Headers({ "cf-connecting-ip": address });
  if (cookie !== undefined) headers.set("Cookie", cookie);
  if (origin !== null) headers.set("Origin", origin ?? url);
  const response = await fetch(url + path, {
    headers,
    redirect: "manual",
    ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function session(token = ADMIN_TOKEN, url = scene.gateway.url): Promise<string> {
  const { status, headers } = await send(`${CONSOLE}/sign-in`, { form: { "operator-token": token }, url });
  expect(status).toBe(303);
  return headers.get("set-cookie")?.split(";")[0] ?? "";
}

/** The address and the key of a record with an unknown outcome. */
async function unknownRecord(): Promise<{ readonly path: string; readonly key: string }> {
  const key = freshKey();
  await scene.send({ path: HOLD, key, behave: { drop: "after-effect" } });
  const { text } = await send(`${CONSOLE}/records?key=${key}`, { cookie: await session() });
  const [path = ""] = /\/_onceway\/console\/records\/[0-9a-f]{64}/.exec(text) ?? [];
  return { path, key };
}

async function stateOf(path: string): Promise<string> {
  const { text } = await send(path, { cookie: await session() });
  return /<title>.*: (\w+) · /.exec(text)?.[1] ?? "none";
}

const isSignIn = ({ status, headers }: Awaited<ReturnType<typeof send>>): boolean =>
  status === 303 && (headers.get("location") ?? "").startsWith(`${CONSOLE}/sign-in`);

const formTokenIn = (text: string): string => /name="token" value="([0-9a-f]+)"/.exec(text)?.[1] ?? "";

const RELEASE = { reason: "forged", confirmed: "yes" };

describe("signing in", () => {
  it("sets a cookie that scripts and other sites cannot use, and that is not the token", async () => {
    const { headers } = await send(`${CONSOLE}/sign-in`, { form: { "operator-token": ADMIN_TOKEN } });
    const cookie = headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^onceway=eyJ[\w-]+\.[\w-]+\.[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(ADMIN_TOKEN);
  });

  it("behind a proxy that ends TLS sets a cookie for this host only, and accepts no other", async () => {
    const headers = { "X-Forwarded-Proto": "https", Origin: scene.gateway.url };
    const body = new URLSearchParams({ "operator-token": ADMIN_TOKEN });
    const url = `${scene.gateway.url}${CONSOLE}/sign-in`;
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-onceway=[^;]+; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    const [pair = ""] = cookie.split(";");
    const at = async (Cookie: string) =>
      (await fetch(scene.gateway.url + BASE, { headers: { ...headers, Cookie }, redirect: "manual" })).status;
    expect(await at(pair)).toBe(200);
    expect(await at(pair.replace("__Host-", ""))).toBe(303);
  });

  it("refuses a wrong token and says so", async () => {
    const { page, close } = await openConsole(browser, scene);
    await page.goto(BASE);
    await page.getByLabel("Operator token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    expect(await page.getByRole("alert").textContent()).toBe("This is no operator's token.");
    await close();
  });

  it("counts wrong tokens together with those of the API, and throttles wrong ones alone", async () => {
    const address = freshKey();
    const wrong = { form: { "operator-token": "wrong" }, address };
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await send(`${CONSOLE}/sign-in`, wrong)).status).toBe(403);
      expect((await scene.ask("GET", "/health", { token: "wrong", address })).status).toBe(401);
    }
    const throttled = await send(`${CONSOLE}/sign-in`, wrong);
    expect(throttled.status).toBe(429);
    expect(Number(throttled.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(throttled.text).toContain("Too many wrong tokens");
    const right = await send(`${CONSOLE}/sign-in`, { form: { "operator-token": ADMIN_TOKEN }, address });
    expect(right.status).toBe(303);
  });

  it("leads back to the requested console page, and nowhere else", async () => {
    const to = async (next: string) =>
      (await send(`${CONSOLE}/sign-in`, { form: { "operator-token": ADMIN_TOKEN, next } })).headers.get("location");
    expect(await to(`${CONSOLE}/records?key=a`)).toBe(`${CONSOLE}/records?key=a`);
    for (const elsewhere of [
      "https://evil.example/",
      "//evil.example/_onceway",
      "/v1/payments",
      "\\\\evil.example",
      "javascript:alert(1)",
    ]) {
      expect(await to(elsewhere)).toBe(BASE);
    }
  });

  it("is refused on an unencrypted connection from another machine, before the token is checked", async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const { port } = scene.gateway;
      const headers = {
        Host: "gateway.example",
        Origin: "http://gateway.example",
        "Content-Type": "application/x-www-form-urlencoded",
      };
      const options = {
        port,
        path: `${CONSOLE}/sign-in`,
        method: "POST",
        headers,
        agent: new Agent({ keepAlive: false }),
      };
      request(options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .once("error", reject)
        .end(`operator-token=${ADMIN_TOKEN}`);
    });
    expect(status).toBe(403);
  });
});

describe("a session", () => {
  it("that ends while a page is open is reported, and the page keeps its content", async () => {
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.context().clearCookies();
    await page.getByText("Your session has ended. Reload the page to sign in.").waitFor();
    expect(await page.getByRole("heading", { name: "Overview" }).count()).toBe(1);
    await close();
  });

  it("is needed for everything but the style sheet and the script", async () => {
    const { path } = await unknownRecord();
    for (const one of [BASE, path, `${CONSOLE}/records`, `${CONSOLE}/shards`, `${CONSOLE}/nothing`]) {
      expect(isSignIn(await send(one))).toBe(true);
    }
    expect(isSignIn(await send(`${path}/release`, { form: RELEASE }))).toBe(true);
    expect(await stateOf(path)).toBe("unknown");
  });
});

describe("signing everybody out", () => {
  const areOpen = async (url: string, sessions: readonly string[]): Promise<readonly boolean[]> =>
    Promise.all(sessions.map(async (cookie) => (await send(BASE, { cookie, url })).status === 200));

  it("needs an administrator's form or token, and ends every session for good, after which tokens start new ones", async () => {
    // A scene of its own: every session of the console ends.
    const own = await startConsoleScene();
    const { url } = own.gateway;
    const begin = () => Promise.all([ADMIN_TOKEN, ADMIN_TOKEN, READ_TOKEN].map((token) => session(token, url)));
    const sessions = await begin();
    const path = `${CONSOLE}/sessions`;
    const confirmed = "yes";
    const [admin = "", other = "", reader = ""] = sessions;
    const [adminForm, otherForm, readerForm] = await Promise.all(
      [admin, other, reader].map(async (cookie) => formTokenIn((await send(BASE, { cookie, url })).text)),
    );
    for (const [cookie, token] of [
      [admin, ""],
      [admin, otherForm ?? ""],
      [reader, readerForm ?? ""],
    ] as const) {
      expect((await send(path, { cookie, url, form: { token, confirmed } })).status).toBe(403);
    }
    const form = { token: adminForm ?? "", confirmed };
    expect((await send(path, { cookie: admin, url, origin: null, form })).status).toBe(403);
    expect(isSignIn(await send(path, { url, form }))).toBe(true);
    const unconfirmed = await send(path, { cookie: admin, url, form: { token: adminForm ?? "" } });
    expect([unconfirmed.status, unconfirmed.text.includes("tick the box")]).toEqual([400, true]);
    expect((await send(path, { cookie: reader, url })).text).toContain("You may read only.");
    expect((await own.ask("POST", "/sessions/end", { token: READ_TOKEN })).status).toBe(403);
    expect((await own.ask("POST", "/sessions/end", { token: null })).status).toBe(401);
    expect(await areOpen(url, sessions)).toEqual([true, true, true]);

    expect(await own.ask("POST", "/sessions/end")).toMatchObject({ status: 200, json: { ended: true } });
    expect(await areOpen(url, sessions)).toEqual([false, false, false]);
    expect((await own.ask("GET", "/health")).status).toBe(200);
    expect(own.gateway.output()).toContain("every session of the console was ended");

    const next = await begin();
    const { page, close } = await openConsole(browser, own);
    await signIn(page);
    await page.getByRole("link", { name: "Sign everybody out" }).click();
    await page.getByLabel("Every session of every operator ends, yours too.").check();
    await page.getByRole("button", { name: "Sign everybody out" }).click();
    await page.getByText("All console sessions have ended.").waitFor();
    await page.goto(BASE);
    await page.getByLabel("Operator token").waitFor();
    await close();
    expect(await areOpen(url, next)).toEqual([false, false, false]);
    await own.gateway.kill9();
    const again = await own.gateway.restart();
    expect(await areOpen(again.url, [...sessions, ...next])).toEqual([false, false, false, false, false, false]);
    const fresh = [await session(ADMIN_TOKEN, again.url), await session(READ_TOKEN, again.url)];
    expect(await areOpen(again.url, fresh)).toEqual([true, true]);
    await again.stop();
    await own.close();
  });
});

describe("a forged form", () => {
  it("of another origin is refused, whether the browser sends the cookie with it or not", async () => {
    const { path } = await unknownRecord();
    const { page, close } = await openConsole(browser, scene);
    await signIn(page);
    await page.goto(path);
    const formToken = await page.locator("#release-form input[name=token]").inputValue();
    // The worst case: the attacker even knows the form's token.
    const fields = Object.entries({ ...RELEASE, token: formToken }).map(
      ([name, value]) => `<input name="${name}" value="${value}">`,
    );
    const server = createServer((_asked, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end(
        `<form method="post" action="${scene.gateway.url}${path}/release">${fields.join("")}<button>Win</button></form>`,
      );
    });
    const port = await freePort();
    await new Promise<void>((resolve) => {
      server.listen(port, resolve);
    });
    // The same site (the cookie comes along), and another one.
    for (const host of ["127.0.0.1", "localhost"]) {
      await page.goto(`http://${host}:${port}/`);
      await page.getByRole("button", { name: "Win" }).click();
      await page.getByRole("heading", { name: "Form refused" }).waitFor();
    }
    expect(await stateOf(path)).toBe("unknown");
    await close();
    server.close();
  });

  it("without the session's own form token is refused", async () => {
    const { path } = await unknownRecord();
    const cookie = await session();
    const other = formTokenIn((await send(path, { cookie: await session() })).text);
    for (const form of [RELEASE, { ...RELEASE, token: "" }, { ...RELEASE, token: other }]) {
      expect((await send(`${path}/release`, { cookie, form })).status).toBe(403);
    }
    const headers = { Cookie: cookie, "Content-Type": "application/json" };
    const json = await fetch(`${scene.gateway.url}${path}/release`, { method: "POST", headers, body: "{}" });
    expect(json.status).toBe(415);
    expect(await stateOf(path)).toBe("unknown");
    const token = formTokenIn((await send(path, { cookie })).text);
    expect((await send(`${path}/release`, { cookie, form: { ...RELEASE, token }, origin: null })).status).toBe(403);
    expect((await send(`${path}/release`, { cookie, form: { ...RELEASE, token } })).status).toBe(303);
    expect(await stateOf(path)).toBe("failed");
    // An address cannot make the console say what was not done.
    expect((await send(`${path}?done=release`, { cookie })).text).toContain("Released.");
    expect((await send(`${path}?done=resolve`, { cookie })).text).not.toContain("Resolved.");
  });
});

describe("the read-only token", () => {
  it("shows a record without forms and without its response's body, and cannot change anything", async () => {
    const { path, key } = await unknownRecord();
    const { page, close } = await openConsole(browser, scene);
    await signIn(page, READ_TOKEN);
    await page.goto(path);
    await page.getByRole("heading", { name: key }).waitFor();
    await page.getByText("You are signed in with the read-only token.").waitFor();
    expect(await page.locator("main form").count()).toBe(0);
    const shown = await page.locator("input[name=token]").inputValue();
    await close();

    const cookie = await session(READ_TOKEN);
    const own = formTokenIn((await send(path, { cookie })).text);
    expect(own).not.toBe(shown);
    for (const action of ["release", "resolve", "forget"]) {
      expect((await send(`${path}/${action}`, { cookie, form: { ...RELEASE, token: own } })).status).toBe(403);
    }
    expect(await stateOf(path)).toBe("unknown");
    const done = freshKey();
    await scene.send({ path: HOLD, key: done });
    const { text } = await send(`${CONSOLE}/records?key=${done}`, { cookie });
    const [record = ""] = /\/_onceway\/console\/records\/[0-9a-f]{64}/.exec(text) ?? [];
    expect((await send(record, { cookie })).text).not.toContain('/body"');
    const body = `${record}/body`;
    expect((await send(body, { cookie, form: { token: own } })).status).toBe(403);
    const admin = await session();
    const token = formTokenIn((await send(record, { cookie: admin })).text);
    expect((await send(body, { cookie: admin })).status).toBe(404);
    expect((await send(body, { cookie: admin, form: { token: own } })).status).toBe(403);
    expect((await send(body, { cookie: admin, form: { token } })).status).toBe(200);
  });
});

describe("a form of somebody unknown", () => {
  const send4 = (headers: readonly HeaderPair[], body: string, chunked = false): ReturnType<typeof rawRequest> => {
    const { url } = scene.gateway;
    const own: HeaderPair[] = [["Origin", url], ["Sec-Fetch-Site", "same-origin"], ...headers];
    return rawRequest({ ...endpoint(url), method: "POST", target: `${CONSOLE}/sign-in`, headers: own, body, chunked });
  };
  const FORM: HeaderPair = ["Content-Type", "application/x-www-form-urlencoded"];
  const right = `operator-token=${ADMIN_TOKEN}&next=`;

  it("may have 4 KiB, whatever its length says, and is not read beyond", async () => {
    const large = right + "a".repeat(5000);
    expect((await send4([FORM], right)).status).toBe(303);
    expect([(await send4([FORM], large)).status, (await send4([FORM], large, true)).status]).toEqual([413, 413]);
  });

  it("is read as browsers send it, and in no other way", async () => {
    const multipart = `--x\r\nContent-Disposition: form-data; name="operator-token"\r\n\r\n${ADMIN_TOKEN}\r\n--x--\r\n`;
    expect((await send4([["Content-Type", "multipart/form-data; boundary=x"]], multipart)).status).toBe(415);
    expect((await send4([["Content-Type", "application/json"]], "{}")).status).toBe(415);
    for (const form of [
      `${right}&operator-token=a`,
      `${right}%zz`,
      `${right}%ff`,
      `${right}&a`,
      `${right}${"&a=".repeat(99)}`,
    ]) {
      expect((await send4([FORM], form)).status).toBe(400);
    }
  });

  it("that stands still is given up after some seconds", async () => {
    const { url } = scene.gateway;
    const half = openRequest({
      ...endpoint(url),
      method: "POST",
      target: `${CONSOLE}/sign-in`,
      headers: [["Origin", url], ["Sec-Fetch-Site", "same-origin"], FORM, ["Content-Length", "100"]],
      body: "operator-token=",
    });
    expect((await half.response).status).toBe(408);
  });
});
