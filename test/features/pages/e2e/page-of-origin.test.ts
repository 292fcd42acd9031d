// @module-tag needs/chromium
// Pages that are on the console's own host and not the console's: a monitor's answer to a stranger's request, and what the origin itself
// serves, with a service worker. In Chromium, with an operator who is signed in.

import { createServer, type Server } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { freePort } from "../../../support/ports.ts";
import { openConsole, signIn } from "../../../support/e2e/console.ts";
import { BASE, type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";

const CONSOLE = `${BASE}/console`;

/** Does with the console whatever a page of its host can, and says in its title when it has tried everything. */
const ATTACK = `
const read = async (from) => {
  const text = await (await fetch(from)).text();
  return new DOMParser().parseFromString(text, "text/html");
};
const post = (to, fields) => fetch(to, { method: "POST", body: new URLSearchParams(fields) });
const forget = async (key, get = read) => {
  const found = await get("${CONSOLE}/records?key=" + key);
  const links = [...found.querySelectorAll("a")].map((one) => one.getAttribute("href"));
  const link = links.find((one) => /\\/records\\/[0-9a-f]{64}$/.test(one)) ?? null;
  const record = link === null ? null : await get(link);
  const token = record?.querySelector("input[name=token]")?.value ?? "";
  await post(link + "/forget", { token, reason: "attack", confirmed: "yes" });
};
const inFrame = (from) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.addEventListener("load", () => resolve(frame.contentDocument ?? new Document()));
  frame.src = from;
  document.body.append(frame);
});
const inWindow = (from) => new Promise((resolve) => {
  const opened = window.open(from);
  setTimeout(() => {
    try { resolve(opened.document); } catch { resolve(new Document()); }
  }, 1000);
});
`;

const html = (script: string): string => `<!doctype html><title>begun</title><body><script>${ATTACK}
(async () => {
  try { ${script} } catch (error) { console.log(String(error)); }
  document.title = "tried";
})();
</script></body>`;

/** A service worker that reads every page of the host as it passes, also with a navigation preload, and keeps what it finds. */
const WORKER = `
let found = "";
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil((async () => {
  await registration.navigationPreload.enable();
  await clients.claim();
})()));
addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (pathname === "/found") return event.respondWith(new Response(found));
  if (!pathname.startsWith("${BASE}")) return;
  event.respondWith((async () => {
    const ways = [
      () => event.preloadResponse,
      () => fetch(event.request.clone()),
      () => fetch(event.request.url, { credentials: "include" }),
    ];
    for (const way of ways) {
      const response = await way().catch(() => undefined);
      if (response === undefined) continue;
      found += await response.clone().text();
    }
    return fetch(event.request);
  })());
});
`;

/** An origin whose pages attack: those of its GET, and those that it answers to a POST. */
async function startHostileOrigin(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response): void => {
    const url = new URL(request.url ?? "/", "http://origin");
    request.resume();
    if (url.pathname === "/worker.js") {
      response.setHeader("Content-Type", "text/javascript");
      response.end(WORKER);
      return;
    }
    const key = url.searchParams.get("victim") ?? "";
    const ways: Readonly<Record<string, string>> = {
      fetch: `await forget("${key}");`,
      frame: `await forget("${key}", inFrame);`,
      window: `await forget("${key}", inWindow);`,
      image: `for (const way of ["", "/body"]) new Image().src = "${url.searchParams.get("record") ?? ""}" + way;`,
      worker: `await navigator.serviceWorker.register("/worker.js"); await navigator.serviceWorker.ready;`,
      nothing: "",
    };
    const hostile: readonly (readonly [string, string])[] = [
      ["Cache-Control", "public, max-age=600"],
      ["CDN-Cache-Control", "max-age=600"],
      ["Cloudflare-CDN-Cache-Control", "max-age=600"],
      ["Surrogate-Control", "max-age=600"],
      ["Expires", new Date(Date.now() + 600_000).toUTCString()],
      ["Age", "1"],
      ["Clear-Site-Data", '"cookies"'],
      ["Set-Cookie", "session=the-strangers"],
      ["Refresh", "0; url=https://evil.example/"],
      ["Service-Worker-Allowed", "/"],
      ["Strict-Transport-Security", "max-age=31536000"],
      ["Content-Security-Policy", "sandbox allow-scripts allow-same-origin"],
      ["ETag", '"v1"'],
      ["X-Own", "kept"],
    ];
    const way = url.searchParams.get("way") ?? "nothing";
    response.setHeader("Content-Type", "text/html");
    if (way === "nothing") for (const [name, value] of hostile) response.setHeader(name, value);
    if (way === "redirect") response.writeHead(303, { Location: "https://evil.example/" });
    response.end(html(ways[way] ?? ""));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${port}`, server };
}

let browser: Browser;
let hostile: Awaited<ReturnType<typeof startHostileOrigin>>;
let scene: OperatorScene;
beforeAll(async () => {
  [browser, hostile] = await Promise.all([launchChromium(), startHostileOrigin()]);
  scene = await startOperatorScene({ shards: 1, origin: hostile.url, omit_headers: [] }, [
    { path: "/pay" },
    { path: "/jobs", async: "always", cors: { origins: ["https://shop.example"], credentials: true } },
  ]);
});
afterAll(async () => {
  await browser.close();
  await scene.close();
  hostile.server.close();
});

/** A record that nobody may forget. */
async function victim(): Promise<{ readonly key: string; readonly path: string }> {
  const key = freshKey();
  await scene.send({ path: "/pay", key });
  const { text } = await scene.ask("GET", `/records?key=${key}`);
  const [id = ""] = /[0-9a-f]{64}/.exec(text) ?? [];
  return { key, path: `${CONSOLE}/records/${id}` };
}

const isKept = async (key: string): Promise<boolean> =>
  (await scene.ask("GET", `/records?key=${key}`)).text.includes(key);

/** The monitor of a request that a stranger has sent, and whose answer is in. */
async function monitorOf(query: string): Promise<string> {
  const accepted = await scene.send({ path: `/jobs?${query}`, key: freshKey() });
  const monitor = headerValue(accepted, "location") ?? "";
  await until(async () => {
    const { status } = await fetch(scene.gateway.url + monitor, { redirect: "manual" });
    return status === 202 ? null : status;
  }, "the result of the accepted request");
  return monitor;
}

/** Opens `path` from a link on a page of another site, as an operator who is signed in. */
async function follow(path: string, isDone: (page: Page) => Promise<boolean>): Promise<Page> {
  const { page } = await openConsole(browser, scene);
  await signIn(page);
  await page.route("http://stranger.example/", (route) =>
    route.fulfill({ contentType: "text/html", body: `<a href="${scene.gateway.url}${path}">Look</a>` }),
  );
  await page.goto("http://stranger.example/");
  await page.getByRole("link", { name: "Look" }).click();
  await until(async () => ((await isDone(page)) ? true : null), `what the link to ${path} leads to`);
  return page;
}

const isAt = (path: string) => async (page: Page) => page.url().endsWith(path);
const hasTried = async (page: Page): Promise<boolean> => (await page.title()) === "tried";

describe("a monitor whose origin answered with a page", () => {
  it("runs no script on the console's host: a stranger's link makes a signed-in operator forget nothing", async () => {
    const { key } = await victim();
    const monitor = await monitorOf(`way=fetch&victim=${key}`);
    const page = await follow(monitor, isAt(monitor));
    await page.waitForLoadState("networkidle");
    expect(await page.title()).toBe("begun");
    expect(await page.evaluate("origin")).toBe("null");
    expect(await isKept(key)).toBe(true);
    await page.context().close();
  });

  it("leads nobody to another host, and tells a client that reads it where its redirect leads", async () => {
    const monitor = await monitorOf("way=redirect");
    const page = await follow(monitor, isAt(monitor));
    expect(page.url()).toBe(scene.gateway.url + monitor);
    const read = await fetch(scene.gateway.url + monitor, { redirect: "manual" });
    expect([read.status, read.headers.get("location")]).toEqual([303, "https://evil.example/"]);
    await page.context().close();
  });

  it("is neither kept by caches nor allowed to say anything about the host, and keeps what describes the result", async () => {
    const monitor = await monitorOf("");
    const { status, headers } = await fetch(scene.gateway.url + monitor);
    const shown = Object.fromEntries(headers);
    expect(status).toBe(200);
    expect(shown).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "content-type": "text/html",
      etag: '"v1"',
      "x-own": "kept",
    });
    for (const name of [
      "cdn-cache-control",
      "cloudflare-cdn-cache-control",
      "surrogate-control",
      "expires",
      "age",
      "clear-site-data",
      "set-cookie",
      "refresh",
      "service-worker-allowed",
      "strict-transport-security",
    ]) {
      expect(shown).not.toHaveProperty(name);
    }
  });

  it.each(["script", "serviceworker", "worker", "style", "image", "iframe", "object", "embed"])(
    "is no %s of a page, and a look by one asks nobody",
    async (destination) => {
      const monitor = await monitorOf("");
      const headers = { "Sec-Fetch-Dest": destination, "Sec-Fetch-Site": "same-origin" };
      const response = await fetch(scene.gateway.url + monitor, { headers });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("fetch()");
    },
  );
});

describe("a page that the origin serves on the console's host", () => {
  it.each(["fetch", "frame", "window"])("reads nothing of the console and changes nothing, by a %s", async (way) => {
    const { key } = await victim();
    const page = await follow(`/page?way=${way}&victim=${key}`, hasTried);
    expect(await isKept(key)).toBe(true);
    await page.context().close();
  });

  it("makes no operator read a body by an image, and nothing is written in their name", async () => {
    const { path } = await victim();
    const page = await follow(`/page?way=image&record=${path}`, hasTried);
    await page.waitForLoadState("networkidle");
    const { text } = await scene.ask("GET", `/audit?action=read-body`);
    expect(text).not.toContain(path.slice(-64));
    await page.context().close();
  });

  it("reads nothing of the console by a service worker, also while somebody walks through it", async () => {
    const { key, path } = await victim();
    const page = await follow("/page?way=worker", hasTried);
    await page.goto(path);
    await page.goto(BASE);
    const found = await page.evaluate(async () => (await fetch("/found")).text());
    expect(found).not.toContain(key);
    expect(found).not.toContain('name="token"');
    await page.context().close();
  });
});

describe("the console itself", () => {
  it("refreshes its pages, and hands out a body by a form", async () => {
    const { page, close, complaints } = await openConsole(browser, scene);
    await signIn(page);
    const { path } = await victim();
    await page.goto(path);
    const refreshed = await page.waitForResponse((response) => response.url().endsWith(path) && response.ok());
    expect(refreshed.request().headers()["sec-fetch-mode"] ?? "cors").toBe("cors");
    const begun = page.waitForEvent("download");
    await page.getByRole("button", { name: /^Download body/ }).click();
    expect((await begun).suggestedFilename()).toBe("body");
    const { text } = await scene.ask("GET", "/audit?action=read-body");
    expect(text).toContain(path.slice(-64));
    expect(complaints).toEqual([]);
    await close();
  });
});
