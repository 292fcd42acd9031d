// The operation of the operator API that shows the last day by hour, which any operator may read.

import type { Hono } from "hono";
import type { Variables } from "../../../operator/admin-request.ts";
import type { HoursView } from "../../../operator/hours-schema.ts";

export function addHours(app: Hono<Variables>, hours: () => Promise<HoursView>): void {
  app.get("/hours", async (context) => context.json<HoursView>(await hours()));
}
