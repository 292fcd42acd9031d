// A limit on the bytes that requests hold in an isolate. It counts bytes that are in memory, never announced lengths. When a client
// disconnects, the runtime may stop its request at any point, and its bytes are then never released. So a lease expires after the
// longest time that a running request can hold it.

export class ByteBudget {
  readonly #mostBytes: number;
  readonly #mostMs: number;
  /** Oldest first. */
  readonly #leases = new Set<Lease>();
  #held = 0;

  constructor(mostBytes: number, mostMs: number) {
    this.#mostBytes = mostBytes;
    this.#mostMs = mostMs;
  }

  /** How many bytes are held now. */
  get heldBytes(): number {
    return this.#held;
  }

  /** A lease for one body. */
  lease(now: number): Lease {
    return new Lease(this, now);
  }

  /** Counts `more` bytes for a lease if there is room. */
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

/** The bytes that one body holds. */
export class Lease {
  readonly #budget: ByteBudget;
  readonly since: number;
  /** Changed only by the budget. */
  bytes = 0;

  constructor(budget: ByteBudget, since: number) {
    this.#budget = budget;
    this.since = since;
  }

  /** Counts more bytes if there is room. */
  take(more: number): boolean {
    return this.#budget.take(this, more);
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
