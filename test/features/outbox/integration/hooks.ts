// The receivers of events in tests within workerd: they answer as the test says, and remember what came.

import type { EventPublication } from "../../../../src/kernel/record/outbox.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { headOf, type ShardBench } from "../../../support/integration/shard-bench.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { eventually } from "../../../support/eventually.ts";

/** As in the test's wrangler.toml. */
export const HOOKS = ["one", "two", "three", "ops"] as const;
export type Hook = (typeof HOOKS)[number];

export interface Received {
  readonly hook: string;
  readonly id: string;
  readonly event: unknown;
}

export class Hooks {
  readonly received: Received[] = [];
  answer: (hook: string) => Response | Promise<Response> = () => new Response(null, { status: 204 });

  /** Takes what goes to the hooks; the bench's origin gets the rest. */
  constructor(bench: ShardBench) {
    const { origin } = bench;
    this.#origin = origin;
    bench.origin = async (request, number) => {
      const { hostname, pathname } = new URL(request.url);
      if (hostname !== "hooks.example") return this.#origin(request, number);
      const hook = pathname.slice(1);
      this.received.push({ hook, id: request.headers.get("webhook-id") ?? "", event: await request.json() });
      return this.answer(hook);
    };
  }

  #origin: ShardBench["origin"];

  set origin(origin: ShardBench["origin"]) {
    this.#origin = origin;
  }

  of(hook: Hook): readonly Received[] {
    return this.received.filter((one) => one.hook === hook);
  }
}

/** A request whose result is published. */
export function publishing(
  to: readonly Hook[],
  changes: Partial<EventPublication> = {},
  head = headOf(),
): ExchangeHead {
  const publish = to.map((hook) => ({
    to: hook,
    type: "done",
    when: ["2xx"] as const,
    data: "response" as const,
    ...changes,
  }));
  return { ...head, rules: { ...head.rules, policy: { ...head.rules.policy, publish } } };
}

/** How many events the object still has, dead ones included. */
export function eventsLeft(bench: ShardBench): Promise<number> {
  return bench.within((ledger, { storage }) =>
    new OutboxStore(ledger.tables).events.exists
      ? Number(storage.sql.exec("SELECT count(*) AS n FROM outbox").one()["n"])
      : 0,
  );
}

export async function untilLeft(bench: ShardBench, count: number): Promise<void> {
  await eventually(async () => {
    const left = await eventsLeft(bench);
    if (left !== count) throw new Error(`${left} events are left, not ${count}`);
  });
}
