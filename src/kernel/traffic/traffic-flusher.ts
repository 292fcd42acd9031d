// Exchanges that the Worker answers alone are counted in its isolate, which may end at any time and cannot be queried. So the
// isolate hands its counts over to an object, all in one call: soon after the first, and seldom after that. Requests never wait for it.

import { type SentBatch, type TrafficCounters, TRAFFIC_CALL } from "./traffic.ts";

/** The delay of the first call. */
const FIRST_MS = 1000;

/** The time between two calls: a busy isolate costs six object requests a minute. Below the platform's 30 s for `waitUntil`. */
const EVERY_MS = 10_000;

export interface TrafficFlusherPorts {
  /** The object that takes the counts. */
  readonly counting: () => DurableObjectStub;
  readonly traffic: TrafficCounters;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

export class TrafficFlusher {
  readonly #ports: TrafficFlusherPorts;
  /** When the next call is due; a call that is more than EVERY_MS late was lost with its request. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #isDue = false;
  /** Sent, and perhaps counted. Sent again under the same id until the object has said that it has it. */
  #sent: Omit<SentBatch, "isUrgent"> | null = null;

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
        return this.#handOver(false);
      }),
    );
  }

  /** Hands over all that has been counted until now, because somebody wants to see it. Never rejects. */
  async flush(): Promise<void> {
    const isOver = await this.#handOver(true);
    // What was counted while an earlier batch was on its way.
    if (isOver && !this.#ports.traffic.isEmpty) await this.#handOver(true);
  }

  /** Whether the object has the counts; if not, they are sent again. */
  async #handOver(isUrgent: boolean): Promise<boolean> {
    const { counting, traffic } = this.#ports;
    if (this.#sent === null && traffic.isEmpty) return true;
    const sent = (this.#sent ??= { id: crypto.randomUUID(), ...traffic.take() });
    try {
      const body = JSON.stringify({ ...sent, isUrgent } satisfies SentBatch);
      const { ok, status } = await counting().fetch(TRAFFIC_CALL.url, { method: "POST", body });
      if (!ok) throw new Error(`status ${status}`);
      if (this.#sent === sent) this.#sent = null;
      return true;
    } catch (error) {
      console.warn({ message: "counts could not be handed over", reason: String(error) });
      // Also if nothing is counted any more. Within the time that the platform leaves a request that has been answered.
      this.counted();
      return false;
    }
  }
}
