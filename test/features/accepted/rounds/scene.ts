// An origin and the gateway in processes of their own, and a client that sends requests that are accepted: what the rounds of evidence
// and the tests of accepted requests share.

import { join } from "node:path";
import type { Outage } from "../../../guarantees/history.ts";
import { type EffectsOrigin, startEffects } from "../../../support/effects.ts";
import { type Gateway, startWorkerd } from "../../../support/gateway.ts";
import { freePort } from "../../../support/ports.ts";

export type UnknownRule = "hold" | "verify" | "retry";

export interface AcceptedSceneOptions {
  /** For the journal and the state. */
  readonly folder: string;
  readonly unknown: UnknownRule;
  readonly timeoutMs: number;
  /** Hears of each kill. */
  readonly report: (outage: Outage) => void;
}

export interface AcceptedScene {
  readonly origin: EffectsOrigin;
  readonly stateDir: string;
  /** Where the gateway is. */
  readonly url: () => string;
  /** SIGKILL to the gateway; `whileDown` is called before it starts again. */
  crash(whileDown?: () => void): Promise<void>;
  output(): string;
  close(): Promise<void>;
}

/** Where the origin takes requests. */
export const PATH = "/orders";
/** How much longer a lock is than the timeout. */
export const LOCK_MARGIN_MS = 500;
/** How many a request gets. */
export const ATTEMPTS = 20;

export async function startAcceptedScene(options: AcceptedSceneOptions): Promise<AcceptedScene> {
  const { folder, unknown, timeoutMs, report } = options;
  const originPort = await freePort();
  const origin = await startEffects({ port: originPort, journal: join(folder, "origin.journal"), workMs: 5 });
  const stateDir = join(folder, "state");
  let gateway: Gateway = await startWorkerd({
    stateDir,
    vars: {
      IDEMPOTENCY: {
        origin: origin.url,
        shards: 3,
        timeout: `${timeoutMs}ms`,
        lock: `${timeoutMs + LOCK_MARGIN_MS}ms`,
        scope: ["header:authorization"],
        unknown,
        ...(unknown === "verify" ? { verify: "/by-key/{key}" } : {}),
      },
      ROUTES: [{ path: PATH, async: "always", give_up: { attempts: ATTEMPTS, after: "10m" } }],
    },
  });
  return {
    origin,
    stateDir,
    url: () => gateway.url,
    async crash(whileDown = () => undefined) {
      const from = Date.now();
      await gateway.kill9();
      whileDown();
      gateway = await gateway.restart();
      report({ type: "outage", kind: "killed", from, to: Date.now() });
    },
    output: () => gateway.output(),
    close: async () => void (await Promise.all([origin.close(), gateway.stop()])),
  };
}
