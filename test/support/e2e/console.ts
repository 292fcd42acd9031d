// An operator at the console: a page of a real browser that records every error.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { freshKey } from "../http.ts";
import type { Behaviour } from "../origin-behaviour.ts";
import { ADMIN_TOKEN, BASE, type OperatorScene, startOperatorScene } from "./operator-scene.ts";

export const HOLD = "/pay";
/** A route whose requests are accepted. */
export const LATER = "/later";
/** The origin refuses, and asks for ten minutes' patience: an accepted request waits for so long. */
export const LATE: Behaviour = { status: 503, headers: [["Retry-After", "600"]], effect: false };

/** An open console page. A page without defects has no complaints. */
export interface Operated {
  readonly page: Page;
  /** Errors of scripts, violations of the content security policy, requests to other hosts. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

/** `lock`: as long as a test keeps a call in flight, and no longer than it waits for the next attempt. */
export function startConsoleScene(
  lock: "6s" | "10m" = "10m",
  settings: Readonly<Record<string, string | string[]>> = {},
  operatorApi: Readonly<Record<string, string>> = {},
): Promise<OperatorScene> {
  const timeout = lock === "6s" ? "5s" : "9m";
  const routes = [
    { path: HOLD, unknown: "hold" },
    { path: "/retry", unknown: "retry" },
    { path: LATER, unknown: "retry", async: "always" },
    { path: "/held", unknown: "hold", async: "always" },
  ];
  const shared = { shards: 4, scope: ["none"], timeout, lock, ...settings };
  return startOperatorScene(shared, routes, undefined, { OPERATOR_API: operatorApi });
}

export async function openConsole(
  browser: Browser,
  scene: OperatorScene,
  options: BrowserContextOptions = {},
): Promise<Operated> {
  const context = await browser.newContext({ baseURL: scene.gateway.url, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("request", (request) => {
    const isOwn = request.url().startsWith(`${scene.gateway.url}/`) || request.url().startsWith("data:");
    if (!isOwn) complaints.push(`asked for ${request.url()}`);
  });
  return { page, complaints, close: () => context.close() };
}

export async function signIn(page: Page, token = ADMIN_TOKEN): Promise<void> {
  await page.goto(BASE);
  await page.getByLabel("Operator token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
}

/** One record in each open state. The call of `started` stays open. */
export async function makeOpenRecords(
  scene: OperatorScene,
  keys: Readonly<Record<"unknown" | "failed" | "waiting" | "started", string>>,
): Promise<void> {
  await scene.send({ path: HOLD, key: keys.unknown, behave: { drop: "after-effect" } });
  await scene.send({ path: "/retry", key: keys.failed, behave: { status: 503 } });
  await scene.send({ path: LATER, key: keys.waiting, behave: LATE });
  scene.open({ path: "/retry", key: keys.started, behave: { hold: true } });
  await scene.origin.arrived(keys.started);
}

/** A key whose attempt was in flight when the origin was killed. */
export async function makeUnknown(scene: OperatorScene, key = freshKey()): Promise<string> {
  const call = scene.open({ path: HOLD, key, behave: { hold: true } });
  await scene.origin.arrived(key);
  await scene.origin.close();
  await call.response;
  return key;
}
