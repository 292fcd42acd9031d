// The operation of the operator API that closes a layout.

import type { Hono } from "hono";
import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import type { LayoutView } from "../../../operator/gateway-schema.ts";
import { viewLayout } from "../../../operator/views.ts";
import type { CloseLayout, WhyNotClosed } from "./close.ts";

export function addClose(app: Hono<RequestVariables>, close: CloseLayout): void {
  app.post("/layouts/:layout/close", async (context) => {
    const result = await close(context.req.param("layout"), context.get("actor"));
    return result.kind === "closed"
      ? context.json<LayoutView>(viewLayout(result.layout))
      : invalidRequest(textOf(result.why));
  });
}

function textOf(why: WhyNotClosed): string {
  switch (why) {
    case "unknown":
      return "layout must be one of those that GET /layouts lists.";
    case "in-force":
      return "This layout is in force, so it has no next one: only one of previous_shards can be closed.";
    case "per-key":
      return 'Every key has its own object (shards = "per-key"). These objects cannot be listed; each closes when it is asked.';
    case "next-closed":
      return "An object of the next layout is closed already, so keys would begin nowhere: deploy another shards, with all layouts so far in previous_shards.";
    case "before-open":
      return "Objects of an older layout are open, and keys begin in them: close that one first.";
  }
}
