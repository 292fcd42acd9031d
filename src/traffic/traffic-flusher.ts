// Exchanges that the Worker answers alone are counted in its isolate, which may end at any time and cannot be queried. So the
// isolate hands its counts over to a shard, all in one call: soon after the first, and seldom after that. Requests never wait for it.

import type { ReplayCounts } from "./replay-counts.ts";
import { type Traffic, TRAFFIC_URL } from "./traffic.ts";

/** The delay of the first call. */
const FIRST_MS = 1000;

/** The time between two calls: a busy isolate costs six object requests a minute. Below the platform's 30 s for `waitUntil`. */
const EVERY_MS = 10_000;

export interface TrafficFlusherPorts {
  /** The shard that takes the counts. */
  readonly shard: () => DurableObjectStub;
  readonly traffic: Traffic;
  /** Those of the traffic. */
  readonly replays: ReplayCounts;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

export class TrafficFlusher {
  readonly #ports: TrafficFlusherPorts;
  /** When the next call is due; a call that is more than EVERY_MS late was lost with its request. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #isDue = false;

  constructor(ports: TrafficFlusherPorts) {
    this.#ports = ports;
  }

  /** To be called when something has been counted. */
  counted(): void {
    const now = performance.now();
    if (this.#isDue && now < this.#dueAt + EVERY_MS) return;
    const afterMs = Math.max(FIRST_MS, this.#dueAt + EVERY_MS - now);
    this.#isDue = true;
    this.#dueAt = now + afterMs;
    this.#ports.waitUntil(
      new Promise((resolve) => setTimeout(resolve, afterMs)).then(() => {
        this.#isDue = false;
        return this.flush();
      }),
    );
  }

  /** Hands over the counts; if that fails, they are kept for the next call. Never rejects. */
  async flush(): Promise<void> {
    const { shard, traffic, replays } = this.#ports;
    if (traffic.isEmpty) return;
    const batch = { ...traffic.take(), replays: replays.take() };
    try {
      const { ok, status } = await shard().fetch(TRAFFIC_URL, { method: "POST", body: JSON.stringify(batch) });
      if (!ok) throw new Error(`status ${status}`);
    } catch (error) {
      console.warn({ message: "counts could not be handed over", reason: String(error) });
      traffic.add(batch, Date.now());
    }
  }
}
