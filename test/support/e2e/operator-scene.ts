// A gateway with operator tokens, an origin behind it, and a client for the operator API that checks every answer against the
// OpenAPI file.

import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../gateway.ts";
import { startOrigin, type TestOrigin } from "../origin.ts";
import { type Answer, violationOf } from "./openapi.ts";
import { type Client, clientOf } from "./scene.ts";

export const ADMIN_TOKEN = randomBytes(32).toString("hex");
export const READ_TOKEN = randomBytes(32).toString("hex");
export const BASE = "/_onceway";

export interface Ask {
  /** ADMIN_TOKEN by default; `null` for none. */
  readonly token?: string | null;
  /** JSON. */
  readonly body?: unknown;
  /** The caller's address, in the header that Cloudflare sets. */
  readonly address?: string;
}

export interface OperatorAnswer extends Answer {
  readonly text: string;
}

export interface OperatorScene extends Client {
  readonly gateway: Gateway;
  readonly origin: TestOrigin;
  /** `path` begins below the operator path. */
  ask(method: string, path: string, how?: Ask): Promise<OperatorAnswer>;
  close(): Promise<void>;
}

type Vars = Parameters<typeof startWorkerd>[0]["vars"];

export async function startOperatorScene(
  settings: Vars["IDEMPOTENCY"],
  routes: Vars["ROUTES"],
  tokens: Readonly<Record<string, string>> = { ADMIN_TOKEN, READ_TOKEN },
  more: Omit<Vars, "IDEMPOTENCY" | "ROUTES"> = {},
): Promise<OperatorScene> {
  const origin = await startOrigin();
  const vars = { IDEMPOTENCY: { origin: origin.url, ...settings }, ROUTES: routes, ...tokens, ...more };
  const gateway = await startWorkerd({ stateDir: await makeStateDir(), vars });
  return {
    ...clientOf(gateway.url),
    gateway,
    origin,
    async ask(method, path, how = {}) {
      const reported = await askGateway(gateway.url + BASE + path, method, how);
      // If the API is off there are no operations.
      if (tokens["ADMIN_TOKEN"] !== undefined) {
        expect(violationOf(method, path.split("?")[0] ?? "", reported)).toBeNull();
      }
      return reported;
    },
    async close() {
      await gateway.stop();
      await origin.close();
      await rm(gateway.stateDir, { recursive: true, force: true });
    },
  };
}

export async function askGateway(
  url: string,
  method: string,
  { token = ADMIN_TOKEN, body, address = randomUUID() }: Ask,
): Promise<OperatorAnswer> {
  const headers = new Headers({ "cf-connecting-ip": address });
  if (token !== null) headers.set("Authorization", `Bearer ${token}`);
  const response = await fetch(url, {
    method,
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}
