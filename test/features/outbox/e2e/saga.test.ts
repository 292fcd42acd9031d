// A saga: an order, its payment and its shipping, in three services, each a process of its own behind a route of the gateway. The
// outbox carries each result to the next step, with the step's own key. Services and gateway are killed with SIGKILL at each step;
// the verdict is that of the services' journals alone: each step has taken effect once.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EffectsOptions, type EffectsOrigin, startEffects } from "../../../support/effects.ts";
import { type Gateway, type GatewayVars, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { freePort } from "../../../support/ports.ts";
import { send, until } from "../../../support/e2e/guarantees-client.ts";

const TIMEOUT_MS = 2000;
/** A lost relay is repeated by the alarm after 30 seconds, and a destination that has failed rests. */
const SETTLED_MS = 300_000;

/** Each service, and what is added to the key of an order on the way to it. */
const STEPS = { order: "", payment: ":payment", shipping: ":payment:shipping" } as const;
type Service = keyof typeof STEPS;
const SERVICES: readonly Service[] = ["order", "payment", "shipping"];
const POINTS = ["origin-arrived", "origin-acted", "origin-answered"] as const;
const VICTIMS = ["gateway", "service"] as const;

/** How often each process is killed at each point. */
const ROUNDS = Number(process.env["ONCEWAY_ROUNDS"] ?? 1);
const SAGAS = 4;

const HOOK_SECRET = `whsec_${btoa("1".repeat(32))}`;

let folder = "";
let gateway: Gateway;
const services = new Map<Service, { readonly options: EffectsOptions; running: EffectsOrigin }>();

function serviceOf(name: Service): { readonly options: EffectsOptions; running: EffectsOrigin } {
  const service = services.get(name);
  if (service === undefined) throw new Error(`${name} has not been started`);
  return service;
}

function varsFor(port: number): GatewayVars {
  const origin = (name: Service): string => serviceOf(name).running.url;
  const hook = (path: string): object => ({ url: `http://127.0.0.1:${port}${path}`, secret: "HOOK_SECRET" });
  const step = { key_from: ["json:/idempotencykey"] };
  return {
    IDEMPOTENCY: {
      shards: 2,
      timeout: `${TIMEOUT_MS}ms`,
      lock: `${TIMEOUT_MS + 500}ms`,
      scope: ["none"],
      unknown: "verify",
      verify: "/by-key/{key}",
    },
    ROUTES: [
      { path: "/order", origin: origin("order"), publish: [{ to: "payment", type: "ordered", step: "payment" }] },
      {
        path: "/payment",
        origin: origin("payment"),
        publish: [{ to: "shipping", type: "paid", step: "shipping" }],
        ...step,
      },
      { path: "/shipping", origin: origin("shipping"), ...step },
    ],
    DESTINATIONS: [
      { name: "payment", ...hook("/payment") },
      { name: "shipping", ...hook("/shipping") },
    ],
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-saga-"));
  for (const name of SERVICES) {
    const options = { port: await freePort(), journal: join(folder, `${name}.journal`), workMs: 5 };
    services.set(name, { options, running: await startEffects(options) });
  }
  const port = await freePort();
  gateway = await startWorkerd({
    port,
    stateDir: join(folder, "state"),
    vars: varsFor(port),
    bindings: { HOOK_SECRET },
  });
});

afterAll(async () => {
  await Promise.all([...services.values()].map(({ running }) => running.close()));
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Orders, again and again until the order's result is there. */
async function order(key: string): Promise<void> {
  await until(
    () =>
      send(gateway.url, { path: "/order", key })
        .then(({ status }) => status)
        .catch(() => null),
    (status) => status === 201 || status === 200,
    SETTLED_MS,
  );
}

/** Kills a process while a service stands at a point, and starts it again. */
async function kill(victim: (typeof VICTIMS)[number], name: Service, stopped: () => void): Promise<void> {
  if (victim === "gateway") {
    await gateway.kill9();
    stopped();
    gateway = await gateway.restart();
    return;
  }
  const service = serviceOf(name);
  await service.running.close();
  service.running = await startEffects(service.options);
}

/** The keys for which a service has acted, as often as it has. */
async function effectsOf(name: Service): Promise<readonly string[]> {
  const effects = await serviceOf(name).running.effects();
  return effects.map(({ key }) => key).toSorted((one, other) => one.localeCompare(other));
}

it(
  "takes each step once, whichever process is killed at whichever step",
  async () => {
    const keys: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of SERVICES) {
        for (const point of POINTS) {
          for (const victim of VICTIMS) {
            const stopped = serviceOf(name).running.strike(point, 1);
            const own = Array.from({ length: SAGAS }, () => freshKey());
            keys.push(...own);
            const ordered = Promise.all(own.map(order));
            await kill(victim, name, await stopped);
            await ordered;
          }
        }
      }
    }
    for (const name of SERVICES) {
      const expected = keys.map((key) => key + STEPS[name]).toSorted((one, other) => one.localeCompare(other));
      await until(
        async () => new Set(await effectsOf(name)).size,
        (count) => count === expected.length,
        SETTLED_MS,
      );
      expect(await effectsOf(name)).toEqual(expected);
    }
  },
  ROUNDS * 600_000,
);
