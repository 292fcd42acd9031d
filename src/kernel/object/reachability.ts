// Finds out whether an origin can be reached, before anything is sent. A failed `fetch` looks the same whether the connection was
// refused or lost after sending (platform rule); a failed `connect` has certainly sent nothing. So after a call has broken, the
// next calls to that origin open a connection first, until one succeeds. While the origin answers, this costs nothing.
//
// `connect` does not work everywhere (not to Cloudflare's own addresses). So a failed `connect` counts only if one to the same
// address has succeeded before; that is tried after the first answers, and stored in the ledger. An isolate may start during an
// outage, so it opens a connection before its first call.

import { logFailure } from "../traffic/bookkeep.ts";
import type { ObjectTimers } from "./timers.ts";

/** What is known of one address. */
export interface AddressReach {
  /** Whether a failed `connect` to the address would mean anything. */
  canProbe: boolean;
  /** Whether the last call broke, or there was no call yet. */
  uncertain: boolean;
  /** How many more times `connect` may be tried. */
  trialsLeft: number;
}

/** Opens a connection: `connect` of `cloudflare:sockets`. */
export type OpenConnection = (address: string) => {
  readonly opened: Promise<unknown>;
  readonly closed: Promise<unknown>;
  close(): Promise<unknown>;
};

/** The addresses to which a connection has succeeded, as a shard has stored them. */
export interface KnownAddresses {
  has(address: string): boolean;
  add(address: string): void;
}

/** What an isolate knows about its origins. */
export type KnownOrigins = Map<string, AddressReach>;

export class OriginReachability {
  readonly #origins: KnownOrigins;
  readonly #known: KnownAddresses;
  readonly #timers: ObjectTimers;
  readonly #connect: OpenConnection;
  /** The addresses that this object has looked up in its ledger, and those that it has stored there. */
  readonly #asked = new Set<string>();
  readonly #remembered = new Set<string>();

  constructor(origins: KnownOrigins, known: KnownAddresses, timers: ObjectTimers, connect: OpenConnection) {
    this.#origins = origins;
    this.#known = known;
    this.#timers = timers;
    this.#connect = connect;
  }

  /** `false` only when it is certain that the origin cannot be reached within `timeoutMs`, so that nothing needs to be sent. */
  async isReachable(url: string, timeoutMs: number): Promise<boolean> {
    const address = addressOf(url);
    const { canProbe, uncertain } = this.#reach(address);
    return !canProbe || !uncertain || (await canConnect(this.#connect, address, timeoutMs, this.#timers));
  }

  /** The origin answered. */
  answered(url: string): void {
    const address = addressOf(url);
    const reach = this.#reach(address);
    reach.uncertain = false;
    if (reach.canProbe) this.#remember(address);
    if (reach.canProbe || reach.trialsLeft === 0) return;
    reach.trialsLeft -= 1;
    void this.#tryConnect(reach, address);
  }

  /** A call to the origin broke. */
  broke(url: string): void {
    this.#reach(addressOf(url)).uncertain = true;
  }

  #reach(address: string): AddressReach {
    const reach = this.#origins.get(address) ?? { canProbe: false, uncertain: true, trialsLeft: TRIALS };
    this.#origins.set(address, reach);
    if (!reach.canProbe && !this.#asked.has(address)) {
      this.#asked.add(address);
      logFailure("reading the known addresses", () => (reach.canProbe = this.#known.has(address)));
    }
    return reach;
  }

  /** Runs in the background, and never rejects. */
  async #tryConnect(reach: AddressReach, address: string): Promise<void> {
    if (!(await canConnect(this.#connect, address, TRIAL_MS, this.#timers))) return;
    reach.canProbe = true;
    this.#remember(address);
  }

  /** Writes at most once while the object is in memory. */
  #remember(address: string): void {
    if (this.#remembered.has(address)) return;
    this.#remembered.add(address);
    logFailure("remembering an address", () => this.#known.add(address));
  }
}

/** More than one, since a reset object loses its trial; few, since `connect` never works for some addresses. */
const TRIALS = 3;

/** Long enough for a connection to any origin that answers requests at all. */
const TRIAL_MS = 5000;

async function canConnect(
  connect: OpenConnection,
  address: string,
  timeoutMs: number,
  timers: ObjectTimers,
): Promise<boolean> {
  try {
    const socket = connect(address);
    // A failed socket also rejects `closed`; `opened` already reports the failure.
    socket.closed.catch(() => undefined);
    const opened = await timers.firstOf(socket.opened, timeoutMs);
    void socket.close().catch(() => undefined);
    return opened !== null;
  } catch {
    return false;
  }
}

/** By scheme and authority: one entry for each origin. */
const addresses = new Map<string, string>();

/** Also ends before a query that directly follows the authority: a query differs by record and must not make another origin. */
const ORIGIN = /^[^:]+:\/\/[^/?]+/;

/** The origin that was called last, which is mostly the next one too. */
let latest = { origin: " ", address: "" };

/** A URL is parsed once for each origin, not for each call. */
function addressOf(url: string): string {
  if (url.startsWith(latest.origin) && ["/", "?", ""].includes(url.charAt(latest.origin.length))) return latest.address;
  const [origin = url] = ORIGIN.exec(url) ?? [];
  const address = addresses.get(origin) ?? parseAddress(url);
  addresses.set(origin, address);
  latest = { origin, address };
  return address;
}

function parseAddress(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
