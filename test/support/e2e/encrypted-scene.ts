// A gateway with encrypted routes and one shard, an origin behind it, and operators with all their rights.

import { randomBytes } from "node:crypto";
import type { Gateway, GatewayVars } from "../gateway.ts";
import { makeStateDir, startWorkerd } from "../gateway.ts";
import { startOrigin, type TestOrigin } from "../origin.ts";
import { ADMIN_TOKEN } from "./operator-scene.ts";
import { type Client, clientOf, removeGateway } from "./scene.ts";

export function freshSecret(): string {
  return randomBytes(32).toString("hex");
}

export interface EncryptedScene extends Client {
  readonly origin: TestOrigin;
  /** The gateway that runs now. */
  readonly gateway: Gateway;
  /** Ends it like a crash, and starts it on the same state. `secrets` and `routes` replace those of before. */
  again(changes?: {
    readonly secrets?: Secrets;
    readonly routes?: GatewayVars["ROUTES"];
    readonly main?: string;
  }): Promise<void>;
  close(): Promise<void>;
}

export type Secrets = Readonly<Record<string, string>>;

/** `settings` are those of all routes. */
export async function startEncryptedScene(
  secrets: Secrets,
  routes: GatewayVars["ROUTES"],
  settings: GatewayVars["IDEMPOTENCY"] = { encrypt_responses: true },
): Promise<EncryptedScene> {
  const origin = await startOrigin();
  const IDEMPOTENCY = { origin: origin.url, shards: 1, timeout: "20s", lock: "30s", ...settings };
  const varsOf = (ROUTES: GatewayVars["ROUTES"]): GatewayVars => ({ IDEMPOTENCY, ROUTES, ADMIN_TOKEN });
  let gateway = await startWorkerd({ stateDir: await makeStateDir(), vars: varsOf(routes), bindings: secrets });
  return {
    origin,
    get gateway() {
      return gateway;
    },
    open: (message) => clientOf(gateway.url).open(message),
    send: (message) => clientOf(gateway.url).send(message),
    async again({ secrets: others, routes: newRoutes, main } = {}) {
      await gateway.kill9();
      gateway = await gateway.restart({
        ...(others === undefined ? {} : { bindings: others }),
        ...(newRoutes === undefined ? {} : { vars: varsOf(newRoutes) }),
        ...(main === undefined ? {} : { main }),
      });
    },
    async close() {
      await removeGateway(gateway);
      await origin.close();
    },
  };
}
