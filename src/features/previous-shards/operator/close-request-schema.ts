// The action that closes a layout, as the Worker parses it, and why it may be refused. Imports nothing that needs the Worker.

import * as v from "valibot";

import { jsonBody, operatorAction } from "../../../operator/operator-action.ts";

export const closeLayout = operatorAction({
  word: "close-layout",
  path: "/layouts/close",
  body: jsonBody(
    { layout: v.string("layout must be text, as GET /layouts lists it.") },
    '{"layout":"64"}',
    (value) => ({ ok: true, value }),
  ),
  target: ({ layout }) => layout,
});

/** `per-key`: its objects cannot be listed. `next-closed`: keys could begin nowhere. `before-open`: keys begin in an older layout still. */
const WHY_NOT_CLOSED = {
  unknown: "layout must be one of those that GET /layouts lists.",
  "in-force": "This layout is in force, so it has no next one: only one of previous_shards can be closed.",
  "per-key":
    'Every key has its own object (shards = "per-key"). These objects cannot be listed; each closes when it is asked.',
  "next-closed":
    "An object of the next layout is closed already, so keys would begin nowhere: deploy another shards, with all layouts so far in previous_shards.",
  "before-open": "Objects of an older layout are open, and keys begin in them: close that one first.",
} as const;

export function notClosed(why: keyof typeof WHY_NOT_CLOSED) {
  return { kind: "refused", why, reason: WHY_NOT_CLOSED[why] } as const;
}
