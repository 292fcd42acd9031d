// A bound on the bytes that requests hold in an isolate. It counts what is there, never what somebody has announced. Whoever
// leaves may be stopped where he stands, and then nobody gives back what he held: so nothing counts for longer than it can
// be held by anyone who still runs.

export class ByteBudget {
  readonly #mostBytes: number;
  readonly #mostMs: number;
  /** The oldest stands first. */
  readonly #leases = new Set<Lease>();
  #held = 0;

  constructor(mostBytes: number, mostMs: number) {
    this.#mostBytes = mostBytes;
    this.#mostMs = mostMs;
  }

  /** How many bytes are held right now. */
  get heldBytes(): number {
    return this.#held;
  }

  /** For one body. */
  lease(now: number): Lease {
    return new Lease(this, now);
  }

  /** Counts `more` bytes for a lease, if there is room for them. */
  take(lease: Lease, more: number): boolean {
    if (this.#held + more > this.#mostBytes) this.#forget(Date.now() - this.#mostMs);
    if (this.#held + more > this.#mostBytes) return false;
    this.#leases.add(lease);
    lease.bytes += more;
    this.#held += more;
    return true;
  }

  giveBack(lease: Lease, bytes: number): void {
    if (!this.#leases.has(lease)) return;
    lease.bytes -= bytes;
    this.#held -= bytes;
    if (lease.bytes === 0) this.#leases.delete(lease);
  }

  #forget(until: number): void {
    for (const lease of this.#leases) {
      if (lease.since > until) return;
      this.giveBack(lease, lease.bytes);
    }
  }
}

/** What one body holds. */
export class Lease {
  readonly #budget: ByteBudget;
  readonly since: number;
  /** The budget's to change. */
  bytes = 0;

  constructor(budget: ByteBudget, since: number) {
    this.#budget = budget;
    this.since = since;
  }

  /** Counts more bytes, if there is room for them. */
  take(more: number): boolean {
    return this.#budget.take(this, more);
  }

  /** Counts no more than this from now on. */
  shrinkTo(bytes: number): void {
    if (bytes < this.bytes) this.#budget.giveBack(this, this.bytes - bytes);
  }
}

/** Gives the memory of a buffer back at once. Nobody may use it any more. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
