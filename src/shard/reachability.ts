// Whether an origin can be reached at all, where that can be known before anything is sent. A failed `fetch` looks the
// same whether the connection was refused or lost after sending (platform rule); a failed `connect` sent nothing for
// certain. So after a call broke, the next ones to that origin open a connection first, until one succeeds; as long as
// the origin answers, this costs nothing.
//
// `connect` is not possible everywhere (not to Cloudflare's own addresses). A failure therefore counts only once a
// `connect` to the same address has succeeded in this instance; that is tried after the first
// answers.

import { connect } from "cloudflare:sockets";

interface Reach {
  /** Whether a failed `connect` to the address would mean anything. */
  telling: boolean;
  /** Whether the last call broke. */
  doubtful: boolean;
  /** How often more it may be tried whether `connect` works at all. */
  trialsLeft: number;
}

export class Reachability {
  readonly #origins = new Map<string, Reach>();

  /** `false` only when it is certain that the origin cannot be reached within `timeoutMs`, so that nothing needs to be sent. */
  async isReachable(url: string, timeoutMs: number): Promise<boolean> {
    const reach = this.#origins.get(addressOf(url));
    return reach === undefined || !reach.telling || !reach.doubtful || (await canConnect(addressOf(url), timeoutMs));
  }

  /** The origin answered. */
  answered(url: string): void {
    const address = addressOf(url);
    const reach = this.#origins.get(address) ?? { telling: false, doubtful: false, trialsLeft: TRIALS };
    this.#origins.set(address, reach);
    reach.doubtful = false;
    if (reach.telling || reach.trialsLeft === 0) return;
    reach.trialsLeft -= 1;
    void this.#tryConnect(reach, address);
  }

  /** Nothing waits for it, and it cannot reject. */
  async #tryConnect(reach: Reach, address: string): Promise<void> {
    if (await canConnect(address, TRIAL_MS)) reach.telling = true;
  }

  /** A call to the origin broke. */
  broke(url: string): void {
    const reach = this.#origins.get(addressOf(url));
    if (reach !== undefined) reach.doubtful = true;
  }
}

/** More than one, since an object that is reset takes its trial with it; few, since some addresses never can. */
const TRIALS = 3;

/** Long enough for a connection to any origin that answers requests at all. */
const TRIAL_MS = 5000;

async function canConnect(address: string, timeoutMs: number): Promise<boolean> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  try {
    const socket = connect(address);
    // A socket that fails rejects here as well; `opened` has told already.
    socket.closed.catch(() => undefined);
    const opened = await Promise.race([socket.opened, timeUp]);
    void socket.close().catch(() => undefined);
    return opened !== undefined;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function addressOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
