// An origin, a receiver of webhooks and the gateway in processes of their own, and what the gateway's database says about its events.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HistoryEvent, RoutePolicy } from "../../guarantees/history.ts";
import { metaOf, policyWith } from "../../guarantees/policy.ts";
import { type Operation, RecordingClient } from "../../guarantees/recorders/client.ts";
import { STEP } from "../../guarantees/recorders/event-tries.ts";
import { watchLag } from "../../guarantees/recorders/lag.ts";
import { awaitAlarms } from "../../guarantees/recorders/ledger.ts";
import { type EffectsOrigin, startEffects } from "../effects.ts";
import { type Gateway, type GatewayVars, startWorkerd } from "../gateway.ts";
import { type Hook, startHook } from "../hook.ts";
import { freePort } from "../ports.ts";
import { until } from "./guarantees-client.ts";
import { type Row, rowsIn, shardFiles } from "./shard-database.ts";

const PATH = "/orders";
const TIMEOUT_MS = 2000;
const LOCK_MS = TIMEOUT_MS + 500;
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
  /** Sends each key's request once more, and says what clients, origin, receiver and database have seen. */
  history(): Promise<readonly HistoryEvent[]>;
  readonly hook: Hook;
  /** SIGKILL to the gateway; `whileDown` is called before it starts again. */
  crash(whileDown?: () => void): Promise<void>;
  /** Sends a request with this key until its result is there. */
  complete(key: string): Promise<void>;
  /** The ids of all completed records. */
  completed(): ReadonlySet<string>;
  /** How many events of a destination the gateway still has. */
  waiting(destination: string): number;
  close(): Promise<void>;
}

export async function startOutboxScene(destinations: readonly SceneDestination[]): Promise<OutboxScene> {
  const folder = await mkdtemp(join(tmpdir(), "onceway-outbox-"));
  const stateDir = join(folder, "state");
  const origin = await startEffects({
    port: await freePort(),
    journal: join(folder, "origin.journal"),
    workMs: 5,
  });
  const hook = await startHook({
    port: await freePort(),
    journal: join(folder, "hook.journal"),
    secrets: [SECRETS.NEW, SECRETS.OLD],
  });
  const vars = varsOf(origin.url, hook.url, destinations);
  let gateway: Gateway = await startWorkerd({ stateDir, vars, bindings: { ...SECRETS } });
  const recorded: HistoryEvent[] = [];
  const report = (event: HistoryEvent): void => void recorded.push(event);
  const client = new RecordingClient(() => gateway.url, report);
  const stopWatching = watchLag(report);
  const rows = (columns: string, table: string, where: string): readonly Row[] =>
    shardFiles({ stateDir }).flatMap((file) => rowsIn(file, columns, table, where));
  return {
    origin,
    hook,
    async history() {
      for (const key of new Set(recorded.flatMap((event) => (event.type === "exchange" ? [event.key] : []))))
        await client.send(operationOf(key), true);
      return [
        metaOf("outbox", { policies: { [PATH]: policyOf(destinations) } }),
        ...recorded,
        ...(await origin.readJournal()),
        ...(await hook.readJournal()).flatMap(({ event }) => event ?? []),
        { type: "outbox", at: Date.now(), left: rows("id", "outbox", "TRUE").map(({ id }) => String(id)) },
        await awaitAlarms(stateDir),
      ];
    },
    async crash(whileDown = () => undefined) {
      const from = Date.now();
      await gateway.kill9();
      whileDown();
      gateway = await gateway.restart();
      report({ type: "outage", kind: "killed", from, to: Date.now() });
    },
    async complete(key) {
      await until(
        () => client.send(operationOf(key)),
        ({ ending }) => ending.kind === "answer" && (ending.status === 201 || ending.status === 200),
        COMPLETED_MS,
      );
    },
    completed: () => new Set(rows("id", "records", "state = 'completed'").map(({ id }) => String(id))),
    waiting: (destination) => rows("id", "outbox", `destination = '${destination}'`).length,
    async close() {
      stopWatching();
      await Promise.all([origin.close(), hook.close(), gateway.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function operationOf(key: string): Operation {
  return { path: PATH, key, body: "{}", credential: "" };
}

/** Each destination's path at the receiver is its name. */
function policyOf(destinations: readonly SceneDestination[]): RoutePolicy {
  const publishes = destinations.map(({ name }) => ({ to: name }));
  return policyWith({ unknown: "verify", timeoutMs: TIMEOUT_MS, lockMs: LOCK_MS, publishes });
}

function varsOf(origin: string, hook: string, destinations: readonly SceneDestination[]): GatewayVars {
  return {
    IDEMPOTENCY: {
      origin,
      shards: 3,
      timeout: `${TIMEOUT_MS}ms`,
      lock: `${LOCK_MS}ms`,
      scope: ["none"],
      unknown: "verify",
      verify: "/by-key/{key}",
    },
    ROUTES: [
      {
        path: PATH,
        publish: destinations.map(({ name }) => ({ to: name, type: "order.created", data: "response", step: STEP })),
      },
    ],
    DESTINATIONS: destinations.map(({ name, url, secret = ["NEW"] }) => ({ name, url: url(hook), secret })),
  };
}
