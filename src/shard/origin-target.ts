// Where a route's requests go: the network for a URL and for the zone's own origin, otherwise a binding. What a binding
// is follows from the configuration alone: asking one for its methods tells nothing (platform rule).

import type { Origin } from "../config/resolved.ts";
import type { Fetcher } from "../http/pass-through.ts";

const NETWORK: Fetcher = { fetch: (request, init) => fetch(request, init) };

/** `null` when the origin names a binding that is not there. */
export function originTarget(origin: Origin, env: Readonly<Record<string, unknown>>): Fetcher | null {
  switch (origin.kind) {
    case "url":
    case "zone":
      return NETWORK;
    case "binding": {
      const binding = env[origin.binding];
      return isBinding(binding) ? binding : null;
    }
  }
}

function isBinding(value: unknown): value is Fetcher {
  return typeof value === "object" && value !== null;
}
