// A real gateway with two groups of consumers, and what a consumer sends it.

import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { type Gateway, makeStateDir, startWorkerd } from "./gateway.ts";

export const BILLING_TOKEN = "b".repeat(40);
export const MAIL_TOKEN = "m".repeat(40);
export const OPERATOR_TOKEN = "a".repeat(40);

export interface ClaimsAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly text: string;
  readonly headers: Headers;
  readonly claims: readonly Readonly<Record<string, unknown>>[];
}

export interface ClaimScene {
  readonly gateway: () => Gateway;
  ask(path: string, body?: unknown, init?: Ask): Promise<ClaimsAnswer>;
  /** Kills the gateway and starts it again on its state. `settings`: of all routes and groups. */
  crash(settings?: Settings): Promise<void>;
  close(): Promise<void>;
}

interface Ask {
  readonly token?: string | null;
  readonly method?: string;
  /** From where, because wrong tokens are counted by address. A new one by default. */
  readonly address?: string;
}

type Settings = Readonly<Record<string, string | number | readonly number[]>>;

/** What the group publishes to, beside the settings of the group. */
export interface ScenePublishing {
  readonly publish: readonly Readonly<Record<string, string>>[];
  readonly destinations: readonly Readonly<Record<string, string>>[];
  readonly secrets: Readonly<Record<string, string>>;
}

const optionsOf = (stateDir: string, group: Settings, settings: Settings = {}, publishing?: ScenePublishing) => ({
  stateDir,
  vars: {
    IDEMPOTENCY: { origin: "http://127.0.0.1:9", shards: 4, ...settings },
    ROUTES: [{ path: "/protected" }],
    CONSUMERS: [
      { name: "billing", token: "BILLING_TOKEN", max_lock: "5m", publish: publishing?.publish ?? [], ...group },
      { name: "mail", token: "MAIL_TOKEN", unknown: "retry" },
    ],
    DESTINATIONS: publishing?.destinations ?? [],
  },
  bindings: { BILLING_TOKEN, MAIL_TOKEN, ADMIN_TOKEN: OPERATOR_TOKEN, ...publishing?.secrets },
});

export async function startClaimScene(group: Settings = {}, publishing?: ScenePublishing): Promise<ClaimScene> {
  const stateDir = await makeStateDir();
  let gateway = await startWorkerd(optionsOf(stateDir, group, {}, publishing));
  return {
    gateway: () => gateway,
    async ask(path, body, { token = BILLING_TOKEN, method = "POST", address = randomUUID() } = {}) {
      const from = { "cf-connecting-ip": address };
      const response = await fetch(`${gateway.url}/_claims/${path}`, {
        method,
        headers: token === null ? from : { ...from, authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const json: { readonly claims?: ClaimsAnswer["claims"]; readonly code?: string } = JSON.parse(text);
      const { status, headers } = response;
      return { status, headers, text, code: json.code ?? null, claims: json.claims ?? [] };
    },
    async crash(settings) {
      await gateway.kill9();
      gateway = await gateway.restart(optionsOf(stateDir, group, settings, publishing));
    },
    async close() {
      await gateway.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

export const freshClaim = (
  key: string = randomUUID(),
): { readonly key: string; readonly attemptId: string; readonly payloadHash: string } => ({
  key,
  attemptId: randomUUID(),
  payloadHash: "h",
});
