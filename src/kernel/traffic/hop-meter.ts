// How long the way from the Worker to an object and back takes: the Worker's call less the time that the object says it worked. Measured for every
// request of a route with `server_timing`, and otherwise for one request of a route in a second: each measured answer is copied, to take the object's
// report out of it. The isolate's next call to an object carries what was measured, so that counting it costs no call and no row of its own.

/** A measured way, for the route's histogram. */
export interface MeasuredHop {
  readonly route: string;
  readonly ms: number;
}

/** One call that is to be measured. */
export interface HopTimer {
  /** By the monotonic clock, when the call that was answered was made; `null`: its body was streamed, and would count as way. */
  sentMs: number | null;
}

const EVERY_MS = 1000;

/** More than an isolate measures between two calls to objects. */
const MOST_KEPT = 16;

export class HopMeter {
  readonly #measuredAt = new Map<string, number>();
  #kept: MeasuredHop[] = [];

  /** `null`: this request of the route is not measured. */
  begin({ route, serverTiming }: { readonly route: string; readonly serverTiming: boolean }): HopTimer | null {
    const now = performance.now();
    if (!serverTiming && now < (this.#measuredAt.get(route) ?? Number.NEGATIVE_INFINITY) + EVERY_MS) return null;
    this.#measuredAt.set(route, now);
    return { sentMs: null };
  }

  /** `durationMs`: how long the object worked. Returns the way; `null`: it is not known. */
  end({ sentMs }: HopTimer, route: string, durationMs: number | undefined): number | null {
    if (sentMs === null || durationMs === undefined) return null;
    const ms = Math.max(0, performance.now() - sentMs - durationMs);
    if (this.#kept.length < MOST_KEPT) this.#kept.push({ route, ms });
    return ms;
  }

  /** What was measured since the last time. */
  take(): readonly MeasuredHop[] {
    const kept = this.#kept;
    if (kept.length > 0) this.#kept = [];
    return kept;
  }
}
