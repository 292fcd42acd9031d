// A limit on the bytes that requests hold in an isolate. It counts bytes that are in memory, never announced lengths. A request whose
// client disconnects is stopped at any point and releases nothing itself: its lease ends with the request's signal. Where no signal
// tells (the flag enable_request_signal is off), a lease expires after the longest time that a running request can hold it.

import type { WaitingCaller } from "./time-slicer.ts";

/** How much of a body has to come for its lease to count as moving on. */
const STEP_BYTES = 16 * 1024;

export class ByteBudget {
  readonly #mostBytes: number;
  readonly #mostMs: number;
  /** Oldest first. */
  readonly #leases = new Set<ByteLease>();
  /** Leases of bodies that are still arriving, and can be given up: first the one that has not moved on for the longest time. */
  readonly #arriving = new Set<ByteLease>();
  #held = 0;

  constructor(mostBytes: number, mostMs: number) {
    this.#mostBytes = mostBytes;
    this.#mostMs = mostMs;
  }

  /** How many bytes are held now. */
  get heldBytes(): number {
    return this.#held;
  }

  /** A lease for one body, which ends at the latest when nobody waits for the request's answer. */
  lease(now: number, caller: WaitingCaller | null = null): ByteLease {
    return new ByteLease(this, now, caller);
  }

  /** Counts `more` bytes for a lease if there is room. */
  take(lease: ByteLease, more: number): boolean {
    if (this.#held + more > this.#mostBytes) this.#forget(Date.now() - this.#mostMs);
    if (this.#held + more > this.#mostBytes) return false;
    this.#leases.add(lease);
    lease.bytes += more;
    this.#held += more;
    return true;
  }

  /** The same for a body that is still arriving: to make room, those that came more slowly are given up. */
  takeFromSlower(lease: ByteLease, more: number, giveUp: () => void): boolean {
    const steps = Math.floor((lease.bytes + more) / STEP_BYTES);
    const hasMoved = !this.#arriving.has(lease) || steps > Math.floor(lease.bytes / STEP_BYTES);
    lease.giveUp = giveUp;
    if (hasMoved) {
      this.#arriving.delete(lease);
      this.#arriving.add(lease);
    }
    for (const slowest of this.#arriving) {
      if (this.take(lease, more)) return true;
      if (slowest === lease) break;
      this.#arriving.delete(slowest);
      slowest.giveUp();
      slowest.shrinkTo(0);
    }
    this.#arriving.delete(lease);
    return false;
  }

  /** The body is whole, or is no longer held: it is not given up any more. */
  arrived(lease: ByteLease): void {
    this.#arriving.delete(lease);
  }

  giveBack(lease: ByteLease, bytes: number): void {
    if (!this.#leases.has(lease)) return;
    lease.bytes -= bytes;
    this.#held -= bytes;
    if (lease.bytes > 0) return;
    this.#leases.delete(lease);
    this.#arriving.delete(lease);
  }

  /** A body that is still arriving ends by its pace, however old it is, and holds its bytes until then. */
  #forget(until: number): void {
    for (const lease of this.#leases) {
      if (lease.since > until) return;
      if (!this.#arriving.has(lease)) this.giveBack(lease, lease.bytes);
    }
  }
}

/** The bytes that one body holds. */
export class ByteLease {
  readonly #budget: ByteBudget;
  readonly since: number;
  /** Changed only by the budget. */
  bytes = 0;
  /** Frees the body's memory at once, for one that comes faster. */
  giveUp: () => void = () => undefined;
  #caller: WaitingCaller | null;

  constructor(budget: ByteBudget, since: number, caller: WaitingCaller | null) {
    this.#budget = budget;
    this.since = since;
    this.#caller = caller;
  }

  /** Counts more bytes if there is room. `giveUp`: bodies that come more slowly make room, as this one does for faster ones. */
  take(more: number, giveUp: (() => void) | null = null): boolean {
    // Only now, because most bodies never count.
    this.#caller?.signal.addEventListener("abort", () => this.shrinkTo(0), { once: true });
    this.#caller = null;
    return giveUp === null ? this.#budget.take(this, more) : this.#budget.takeFromSlower(this, more, giveUp);
  }

  /** The body is no longer arriving. */
  settle(): void {
    this.#budget.arrived(this);
  }

  /** Counts at most this many bytes from now on. */
  shrinkTo(bytes: number): void {
    if (bytes < this.bytes) this.#budget.giveBack(this, this.bytes - bytes);
  }
}

/** Frees the memory of a buffer at once. The buffer must not be used afterwards. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
