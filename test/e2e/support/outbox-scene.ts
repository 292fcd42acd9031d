// An origin, a receiver of webhooks and the gateway in processes of their own, and what the gateway's database says about its events.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EffectsOrigin, startEffects } from "../../support/effects.ts";
import { type Gateway, type GatewayVars, startWorkerd } from "../../support/gateway.ts";
import { type Hook, startHook } from "../../support/hook.ts";
import { freePort } from "../../support/ports.ts";
import { send, until } from "./guarantees-client.ts";
import { type Row, rowsIn, shardFiles } from "./shard-database.ts";

const TIMEOUT_MS = 2000;
/** Calls again after a kill, a lock and a question to the origin. */
const COMPLETED_MS = 60_000;

export const SECRETS = { NEW: `whsec_${btoa("1".repeat(32))}`, OLD: `whsec_${btoa("2".repeat(32))}` } as const;

/** A destination of the scene: a path of its receiver (hook-process.ts), or another URL. */
export interface SceneDestination {
  readonly name: string;
  /** Where the receiver listens. */
  readonly url: (hook: string) => string;
  readonly secret?: readonly (keyof typeof SECRETS)[];
}

export interface OutboxScene {
  readonly origin: EffectsOrigin;
  /** The receiver that runs now. */
  readonly hook: () => Hook;
  /** Starts a receiver on the same port and journal; close the other one first. */
  restartHook(): Promise<void>;
  /** SIGKILL to the gateway; `whileDown` is called before it starts again. */
  crash(whileDown?: () => void): Promise<void>;
  /** Stops the gateway and starts it with other destinations. */
  reconfigure(destinations: readonly SceneDestination[]): Promise<void>;
  /** Sends a request with this key until its result is there; the time of the answer. */
  complete(key: string): Promise<number>;
  /** The ids of all completed records. */
  completed(): ReadonlySet<string>;
  /** The events of a destination that the gateway still has. */
  waiting(destination: string): readonly WaitingEvent[];
  /** Until when a destination rests; `null`: it has not failed. */
  restsUntil(destination: string): number | null;
  close(): Promise<void>;
}

export interface WaitingEvent {
  readonly id: string;
  readonly tries: number;
}

export async function startOutboxScene(destinations: readonly SceneDestination[], shards = 3): Promise<OutboxScene> {
  const folder = await mkdtemp(join(tmpdir(), "onceway-outbox-"));
  const stateDir = join(folder, "state");
  const origin = await startEffects({
    port: await freePort(),
    journal: join(folder, "origin.journal"),
    workMs: 5,
  });
  const options = {
    port: await freePort(),
    journal: join(folder, "hook.journal"),
    secrets: [SECRETS.NEW, SECRETS.OLD],
  };
  let hook = await startHook(options);
  const varsWith = (given: readonly SceneDestination[]): GatewayVars => varsOf(origin.url, hook.url, given, shards);
  let gateway: Gateway = await startWorkerd({ stateDir, vars: varsWith(destinations), bindings: { ...SECRETS } });
  const rows = (columns: string, table: string, where: string): readonly Row[] =>
    shardFiles({ stateDir }).flatMap((file) => rowsIn(file, columns, table, where));
  return {
    origin,
    hook: () => hook,
    async restartHook() {
      hook = await startHook(options);
    },
    async crash(whileDown = () => undefined) {
      await gateway.kill9();
      whileDown();
      gateway = await gateway.restart();
    },
    async reconfigure(given) {
      await gateway.stop();
      gateway = await gateway.restart({ vars: varsWith(given) });
    },
    async complete(key) {
      const call = { path: "/orders", key };
      await until(
        () =>
          send(gateway.url, call)
            .then(({ status }) => status)
            .catch(() => null),
        (status) => status === 201 || status === 200,
        COMPLETED_MS,
      );
      return Date.now();
    },
    completed: () => new Set(rows("id", "records", "state = 'completed'").map(({ id }) => String(id))),
    waiting: (destination) =>
      rows("id, tries", "outbox", `destination = '${destination}'`).map(({ id, tries }) => ({
        id: String(id),
        tries: Number(tries),
      })),
    restsUntil(destination) {
      const [rest] = rows("until", "resting", `destination = '${destination}'`);
      return rest === undefined ? null : Number(rest["until"]);
    },
    async close() {
      await Promise.all([origin.close(), hook.close(), gateway.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function varsOf(origin: string, hook: string, destinations: readonly SceneDestination[], shards: number): GatewayVars {
  return {
    IDEMPOTENCY: {
      origin,
      shards,
      timeout: `${TIMEOUT_MS}ms`,
      lock: `${TIMEOUT_MS + 500}ms`,
      scope: ["none"],
      unknown: "verify",
      verify: "/by-key/{key}",
    },
    ROUTES: [{ path: "/orders", publish: destinations.map(({ name }) => ({ to: name, type: "order.created" })) }],
    DESTINATIONS: destinations.map(({ name, url, secret = ["NEW"] }) => ({ name, url: url(hook), secret })),
  };
}
