// Whether an origin can be reached at all, where that can be known before anything is sent. A failed `fetch` looks the
// same whether the connection was refused or lost after sending (platform rule); a failed `connect` sent nothing for
// certain. So after a call broke, the next ones to that origin open a connection first, until one succeeds; as long as
// the origin answers, this costs nothing.
//
// `connect` is not possible everywhere (not to Cloudflare's own addresses). A failure therefore counts only once a
// `connect` to the same address has succeeded in this instance; that is tried once, after the first answer.

import { connect } from "cloudflare:sockets";

interface Reach {
  /** Whether a failed `connect` to the address would mean anything. */
  telling: boolean;
  /** Whether the last call broke. */
  doubtful: boolean;
}

export class Reachability {
  readonly #origins = new Map<string, Reach>();

  /** `false` only when it is certain that the origin cannot be reached, so that nothing needs to be sent. */
  async isReachable(url: string): Promise<boolean> {
    const reach = this.#origins.get(addressOf(url));
    return reach === undefined || !reach.telling || !reach.doubtful || (await canConnect(addressOf(url)));
  }

  /** The origin answered. */
  async answered(url: string): Promise<void> {
    const address = addressOf(url);
    const reach = this.#origins.get(address);
    if (reach !== undefined) {
      reach.doubtful = false;
      return;
    }
    const first = { telling: false, doubtful: false };
    this.#origins.set(address, first);
    first.telling = await canConnect(address);
  }

  /** A call to the origin broke. */
  broke(url: string): void {
    const reach = this.#origins.get(addressOf(url));
    if (reach !== undefined) reach.doubtful = true;
  }
}

async function canConnect(address: string): Promise<boolean> {
  try {
    const socket = connect(address);
    // A socket that fails rejects here as well; `opened` has told already.
    socket.closed.catch(() => undefined);
    await socket.opened;
    await socket.close();
    return true;
  } catch {
    return false;
  }
}

function addressOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
