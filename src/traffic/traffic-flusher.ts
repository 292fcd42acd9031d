// What the Worker answers alone is counted in its isolate, which may go at any time and which nobody can ask. So it hands its
// counts over to a shard: in one call for all of them, soon after the first and seldom after that. Requests never wait for it.

import { type Traffic, TRAFFIC_URL } from "./traffic.ts";

/** The first counts are handed over after this time. */
const FIRST_MS = 1000;

/** Between two calls, so that a busy isolate costs six object requests a minute; below the platform's 30 s for `waitUntil`. */
const EVERY_MS = 10_000;

export interface TrafficFlusherPorts {
  /** The shard that takes the counts. */
  readonly shard: () => DurableObjectStub;
  readonly traffic: Traffic;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

export class TrafficFlusher {
  readonly #ports: TrafficFlusherPorts;
  /** When the next call is due; one that did not come by twice its time was lost with its request. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #isDue = false;

  constructor(ports: TrafficFlusherPorts) {
    this.#ports = ports;
  }

  /** Something has been counted. */
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

  /** Hands over what there is; what cannot be handed over is kept for the next time. Never rejects. */
  async flush(): Promise<void> {
    const { shard, traffic } = this.#ports;
    if (traffic.isEmpty) return;
    const batch = traffic.take();
    try {
      const { ok, status } = await shard().fetch(TRAFFIC_URL, { method: "POST", body: JSON.stringify(batch) });
      if (!ok) throw new Error(`status ${status}`);
    } catch (error) {
      console.warn({ message: "counts could not be handed over", reason: String(error) });
      traffic.add(batch, Date.now());
    }
  }
}
