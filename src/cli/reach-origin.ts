// Looks up and connects to an origin from this machine, before a mistyped name becomes a request of unknown outcome. Sends nothing.

import { connect } from "node:net";

const CONNECT_MS = 2_000;

/**
 * `no-such-host`: the name belongs to nobody. `silent`: nothing takes a connection there, as seen from this machine. `null`: something does,
 * or this machine cannot tell.
 */
export type Unreached = "no-such-host" | "silent" | null;

export function reachOrigin({ protocol, hostname, port }: URL): Promise<Unreached> {
  return new Promise((done) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      timeout: CONNECT_MS,
    });
    const end = (found: Unreached): void => {
      socket.destroy();
      done(found);
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end("silent"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(whatItMeans(error.code)));
  });
}

function whatItMeans(code: string | undefined): Unreached {
  if (code === "ENOTFOUND") return "no-such-host";
  // EAI_AGAIN, ENETUNREACH and the like are this machine's own.
  return code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EHOSTUNREACH" ? "silent" : null;
}
