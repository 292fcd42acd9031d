// What an object counts of its own exchanges, and of those that isolates hand over; in the object that adds up, the counts of all.

import type { RouteNumbers } from "../traffic/route-counters.ts";
import { Traffic, type TrafficBatch } from "../traffic/traffic.ts";
import { Hours } from "./hours.ts";
import { isShared } from "./shard-place.ts";
import type { HourRows } from "./store/hours.ts";

export class ShardTraffic {
  readonly own: Traffic;
  readonly hours: Hours;
  /** The counts of all shards; used only in the object that adds them up. */
  readonly #totals = new Traffic();

  /** The object of a single key keeps no hours: it would write a row for it. */
  constructor(rows: HourRows, name: string | undefined) {
    this.hours = new Hours(rows);
    this.own = new Traffic(isShared(name) ? this.hours : null);
  }

  /** Counts what an isolate has answered alone. */
  async take(request: Request): Promise<Response> {
    this.own.add(await request.json<TrafficBatch>(), Date.now());
    return new Response(null, { status: 204 });
  }

  async addUp(request: Request): Promise<Response> {
    const routes: readonly RouteNumbers[] = await request.json();
    this.#totals.add({ routes, exchanges: [] }, Date.now());
    return Response.json(this.#totals.numbers);
  }
}
