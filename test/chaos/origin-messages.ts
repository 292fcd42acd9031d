// What the run and its origin say to each other. The channel keeps the order, so a `done` comes after every event that
// was reported before it.

import type { Arrival, Effect, Outage, Question } from "./history.ts";

/** `refuse`: stop listening and reset what is open. `finish`: report whatever is still open. */
export type ToOrigin = "refuse" | "listen" | "calm" | "finish";

export type FromOrigin =
  | { readonly type: "ready" }
  | { readonly type: "done"; readonly message: ToOrigin }
  | { readonly type: "event"; readonly event: Arrival | Effect | Outage | Question };
