// Whether an origin can be reached at all, where that can be known before anything is sent. A failed `fetch` looks the
// same whether the connection was refused or lost after sending (platform rule); a failed `connect` sent nothing for
// certain. So after a call broke, the next ones to that origin open a connection first, until one succeeds; as long as
// the origin answers, this costs nothing.
//
// `connect` is not possible everywhere (not to Cloudflare's own addresses). A failure therefore counts only once a
// `connect` to the same address has succeeded; that is tried after the first answers, and remembered in the ledger. An
// isolate that has just begun may have begun in an outage: it opens a connection before its first call.

import { connect } from "cloudflare:sockets";
import { bookkeep } from "../traffic/bookkeep.ts";
import type { Timers } from "./timers.ts";

/** What is known of one address. */
export interface Reach {
  /** Whether a failed `connect` to the address would mean anything. */
  canProbe: boolean;
  /** Whether the last call broke, or there was none yet. */
  doubtful: boolean;
  /** How often more it may be tried whether `connect` works at all. */
  trialsLeft: number;
}

/** The addresses that could once be connected to, as a shard remembers them. */
export interface KnownAddresses {
  has(address: string): boolean;
  add(address: string): void;
}

/** What an isolate knows of its origins. */
export type Origins = Map<string, Reach>;

export class Reachability {
  readonly #origins: Origins;
  readonly #known: KnownAddresses;
  readonly #timers: Timers;
  /** The addresses that this object has asked its ledger about, and those that it has noted there. */
  readonly #asked = new Set<string>();
  readonly #remembered = new Set<string>();

  constructor(origins: Origins, known: KnownAddresses, timers: Timers) {
    this.#origins = origins;
    this.#known = known;
    this.#timers = timers;
  }

  /** `false` only when it is certain that the origin cannot be reached within `timeoutMs`, so that nothing needs to be sent. */
  async isReachable(url: string, timeoutMs: number): Promise<boolean> {
    const address = addressOf(url);
    const { canProbe, doubtful } = this.#reach(address);
    return !canProbe || !doubtful || (await canConnect(address, timeoutMs, this.#timers));
  }

  /** The origin answered. */
  answered(url: string): void {
    const address = addressOf(url);
    const reach = this.#reach(address);
    reach.doubtful = false;
    if (reach.canProbe) this.#remember(address);
    if (reach.canProbe || reach.trialsLeft === 0) return;
    reach.trialsLeft -= 1;
    void this.#tryConnect(reach, address);
  }

  /** A call to the origin broke. */
  broke(url: string): void {
    this.#reach(addressOf(url)).doubtful = true;
  }

  #reach(address: string): Reach {
    const reach = this.#origins.get(address) ?? { canProbe: false, doubtful: true, trialsLeft: TRIALS };
    this.#origins.set(address, reach);
    if (!reach.canProbe && !this.#asked.has(address)) {
      this.#asked.add(address);
      bookkeep("reading the known addresses", () => (reach.canProbe = this.#known.has(address)));
    }
    return reach;
  }

  /** Nothing waits for it, and it cannot reject. */
  async #tryConnect(reach: Reach, address: string): Promise<void> {
    if (!(await canConnect(address, TRIAL_MS, this.#timers))) return;
    reach.canProbe = true;
    this.#remember(address);
  }

  /** Once in the life of an object. */
  #remember(address: string): void {
    if (this.#remembered.has(address)) return;
    this.#remembered.add(address);
    bookkeep("remembering an address", () => this.#known.add(address));
  }
}

/** More than one, since an object that is reset takes its trial with it; few, since some addresses never can. */
const TRIALS = 3;

/** Long enough for a connection to any origin that answers requests at all. */
const TRIAL_MS = 5000;

async function canConnect(address: string, timeoutMs: number, timers: Timers): Promise<boolean> {
  try {
    const socket = connect(address);
    // A socket that fails rejects here as well; `opened` has told already.
    socket.closed.catch(() => undefined);
    const opened = await timers.firstOf(socket.opened, timeoutMs);
    void socket.close().catch(() => undefined);
    return opened !== null;
  } catch {
    return false;
  }
}

/** By scheme and authority: as many as there are origins. */
const addresses = new Map<string, string>();

/** A query may follow at once: what differs from record to record must not count as another origin. */
const ORIGIN = /^[^:]+:\/\/[^/?]+/;

/** A URL is parsed once for each origin, not for each call. */
function addressOf(url: string): string {
  const [origin = url] = ORIGIN.exec(url) ?? [];
  const known = addresses.get(origin);
  if (known !== undefined) return known;
  const { protocol, hostname, port } = new URL(url);
  const address = `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
  addresses.set(origin, address);
  return address;
}
