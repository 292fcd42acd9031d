// A web shop's page, which asks an API on another origin. It is served from a loopback port of its own, with `onceway/client`
// as npm installs it, and runs in a real browser: what its script cannot read, a test cannot see either.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import type { BrowserContext } from "playwright-core";
import * as v from "valibot";
import { listen } from "../origin-server.ts";

export interface PageServer {
  /** As the browser sends it in `Origin`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** `clientDir` is the folder of the package's compiled client. */
export async function servePage(clientDir: string): Promise<PageServer> {
  const server = createServer((request, response) => {
    const { url = "/" } = request;
    if (!url.startsWith("/client/")) {
      response.writeHead(200, { "Content-Type": url === "/page.js" ? "text/javascript" : "text/html" });
      return void response.end(url === "/page.js" ? SCRIPT : '<script type="module" src="/page.js"></script>');
    }
    readFile(join(clientDir, basename(url))).then(
      (text) => response.writeHead(200, { "Content-Type": "text/javascript" }).end(text),
      () => response.writeHead(404).end(),
    );
  });
  const { port } = await listen(server, 0);
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Sends a request and notes everything that a script may learn of its end. */
const SCRIPT = `
import { createFetch, IdempotencyError } from "/client/index.js";

const asRead = async (response) => ({
  end: "answer",
  status: response.status,
  headers: Object.fromEntries(response.headers),
  body: await response.text(),
});

function withForm({ form, ...init }) {
  if (form === undefined) return init;
  const body = new FormData();
  for (const [name, value] of Object.entries(form)) body.set(name, value);
  return { ...init, body };
}

globalThis.ask = async ({ url, init, client }) => {
  const send = client === null ? fetch : createFetch(client);
  try {
    return await asRead(await send(url, withForm(init)));
  } catch (error) {
    if (!(error instanceof IdempotencyError)) return { end: "failed", reason: String(error) };
    const { outcome, reason, tries, key, problem, response } = error;
    return { end: "gave up", outcome, reason, tries, key, problem, answer: response && (await asRead(response)) };
  }
};
`;

const answer = v.object({
  end: v.literal("answer"),
  status: v.number(),
  headers: v.record(v.string(), v.string()),
  body: v.string(),
});

const end = v.variant("end", [
  answer,
  /** The browser gave the script nothing. */
  v.object({ end: v.literal("failed"), reason: v.string() }),
  v.object({
    end: v.literal("gave up"),
    outcome: v.string(),
    reason: v.string(),
    tries: v.number(),
    key: v.string(),
    problem: v.nullable(v.looseObject({ code: v.string(), detail: v.string(), retryable: v.boolean() })),
    answer: v.nullable(answer),
  }),
]);

export type End = v.InferOutput<typeof end>;

export interface Asked {
  readonly url: string;
  readonly init: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    /** Becomes `FormData`. */
    readonly form?: Readonly<Record<string, string>>;
    readonly credentials?: "include" | "omit" | "same-origin";
  };
  /** Options of `createFetch`; `null`: the browser's `fetch` alone. */
  readonly client: object | null;
}

/** What the script of an open page can do. */
export type Ask = (asked: Asked) => Promise<End>;

export async function openPage(context: BrowserContext, { origin }: PageServer): Promise<Ask> {
  const page = await context.newPage();
  await page.goto(origin);
  await page.waitForFunction("globalThis.ask !== undefined");
  return async (asked) => v.parse(end, await page.evaluate(`ask(${JSON.stringify(asked)})`));
}
