// An operator's change, from the form to the record.

import { timingSafeEqual } from "hono/utils/buffer";
import type { Hono } from "hono";
import { recordId } from "../../core/units.ts";
import type { ChangeResult } from "../operator.ts";
import { show } from "./answer.ts";
import { formatDuration } from "./browser/duration.ts";
import { readChange } from "./change-request.ts";
import type { Signed } from "./guard.ts";
import type { ConsolePorts } from "./ports.ts";
import { RecordPage } from "./record.tsx";
import { Message } from "./sign-in.tsx";
import { textFields } from "./text-fields.ts";
import type { Paths } from "./view.ts";

export function changeRoutes(app: Hono<Signed>, paths: Paths, { operator }: ConsolePorts): void {
  app.post(`${paths.records}/:id{[0-9a-f]{64}}/:action{release|resolve|forget}`, async (c) => {
    const { view } = c.var;
    const { viewer } = view;
    if (viewer.role !== "admin") {
      return show(
        <Message paths={paths} title="Read only" text="Changes need the administrator's token. Nothing was changed." />,
        403,
      );
    }
    const fields = await textFields(c.req.raw);
    if (!(await timingSafeEqual(fields["token"] ?? "", viewer.formToken))) {
      return show(
        <Message
          paths={paths}
          title="Not from here"
          text="This form was not made for your session. Nothing was changed. Open the record again."
        />,
        403,
      );
    }
    const id = recordId(c.req.param("id"));
    const action = c.req.param("action");
    if (action !== "release" && action !== "resolve" && action !== "forget") return c.notFound();
    const reading = readChange(action, fields);
    const result = reading.ok ? await operator.change(id, reading.change) : null;
    if (result !== null && result.kind !== "refused") {
      return c.redirect(result.kind === "forgotten" ? paths.listed({ done: action }) : paths.record(id), 303);
    }
    const record = await operator.inspect(id);
    if (record === null) return c.notFound();
    const errors = result === null ? (reading.ok ? [] : reading.errors) : [refusalText(result)];
    return show(<RecordPage view={view} record={record} draft={{ action, errors, fields }} />, reading.ok ? 409 : 400);
  });
}

function refusalText(refusal: Extract<ChangeResult, { kind: "refused" }>): string {
  switch (refusal.why) {
    case "none":
      return "There is no such record any more.";
    case "in-flight":
      return `An attempt is in flight, or may still be at work in the origin: attempts never overlap. Try again when it has ended, or its lock has: in ${formatDuration(refusal.retryAfterMs + 999)}.`;
    case "completed":
      return "The record has been completed meanwhile, and its answer stands. It can only be forgotten.";
  }
}
