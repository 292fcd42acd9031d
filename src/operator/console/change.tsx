// An operator's change, from the form to the record.

import { timingSafeEqual } from "hono/utils/buffer";
import type { Hono } from "hono";
import { recordId } from "../../core/units.ts";
import { previewOf } from "../given-response.ts";
import type { ChangeResult } from "../operator.ts";
import { show } from "./answer.ts";
import { formatDuration } from "./browser/duration.ts";
import { readChange } from "./change-request.ts";
import type { Signed } from "./guard.ts";
import type { ConsolePorts } from "./ports.ts";
import { RecordPage } from "./record.tsx";
import { Message } from "./sign-in.tsx";
import { textFields } from "./text-fields.ts";
import type { Paths, View } from "./view.ts";

export function changeRoutes(app: Hono<Signed>, paths: Paths, { operator }: ConsolePorts): void {
  app.post(paths.signOutEverywhere, async (c) => {
    const refusal = await refuseForm(c.var.view, await textFields(c.req.raw));
    if (refusal !== null) return refusal;
    await operator.endSessions("admin");
    return c.redirect(`${paths.signIn}?everywhere`, 303);
  });

  app.post(`${paths.records}/:id{[0-9a-f]{64}}/:action{release|resolve|forget}`, async (c) => {
    const { view } = c.var;
    const fields = await textFields(c.req.raw);
    const refusal = await refuseForm(view, fields);
    if (refusal !== null) return refusal;
    const id = recordId(c.req.param("id"));
    const action = c.req.param("action");
    if (action !== "release" && action !== "resolve" && action !== "forget") return c.notFound();
    const reading = readChange(action, fields);
    const given = reading.ok && reading.isPreview ? reading.change.response : null;
    const result = reading.ok && given === null ? await operator.change(id, reading.change) : null;
    if (result !== null && result.kind !== "refused") {
      return c.redirect(result.kind === "forgotten" ? paths.listed({ done: action }) : paths.record(id), 303);
    }
    const record = await operator.inspect(id);
    if (record === null) return c.notFound();
    if (given !== null) {
      // With what was typed, so that a button leads back to it.
      const preview = fields["step"] === "edit" ? null : previewOf(given, operator.omittedHeaders(record.route));
      return show(<RecordPage view={view} record={record} draft={{ action, errors: [], fields, preview }} />);
    }
    const errors = result === null ? (reading.ok ? [] : reading.errors) : [refusalText(result)];
    return show(
      <RecordPage view={view} record={record} draft={{ action, errors, fields, preview: null }} />,
      reading.ok ? 409 : 400,
    );
  });
}

/** `null`: an administrator's own form. */
async function refuseForm({ paths, viewer }: View, fields: Readonly<Record<string, string>>): Promise<Response | null> {
  const refuse = (title: string, text: string): Promise<Response> =>
    show(<Message paths={paths} title={title} text={text} />, 403);
  if (viewer.role !== "admin") {
    return refuse("Read only", "Changes need the administrator's token. Nothing was changed.");
  }
  if (await timingSafeEqual(fields["token"] ?? "", viewer.formToken)) return null;
  return refuse(
    "Not from here",
    "This form was not made for your session. Nothing was changed. Open the record again.",
  );
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
