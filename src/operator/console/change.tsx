// An operator's change by form. The same rules as in the API apply.

import { timingSafeEqual } from "hono/utils/buffer";
import type { Hono, MiddlewareHandler } from "hono";
import { recordId } from "../../kernel/record/units.ts";
import { previewOf } from "../given-response.ts";
import { ACTION_NAMES, actionNamed, type RecordActionName } from "../record-actions/record-actions.ts";
import { type ChangeRequest, type ChangeResult, parseChange, type RecordDetail } from "../operator.ts";
import { elapsedText } from "./browser/times.ts";
import type { ChangeDraft } from "./change-forms.tsx";
import type { SignedRequest } from "./guard.ts";
import { MessagePage, showPage } from "./page.tsx";
import { RecordDetailPage } from "./record.tsx";
import type { ExampleFinder } from "../resolve-example.ts";
import { isFromExample } from "./response-fields.tsx";
import type { ConsolePorts, ConsolePaths, ConsoleView } from "./view.ts";
import { answerUnreadForm, formFields } from "../form.ts";

export function changeRoutes(
  app: Hono<SignedRequest>,
  paths: ConsolePaths,
  { operator }: ConsolePorts,
  examples: ExampleFinder,
): void {
  app.post(`${paths.records}/:id{[0-9a-f]{64}}/:action{${ACTION_NAMES.join("|")}}`, async (c) => {
    const { view, fields } = c.var;
    const id = recordId(c.req.param("id"));
    const action = ACTION_NAMES.find((name) => name === c.req.param("action"));
    if (action === undefined) return c.notFound();
    const page = async (record: RecordDetail, draft: ChangeDraft, status = 200): Promise<Response> => {
      const example = await examples.of(record, view.viewer.actor, view.now);
      return showPage(<RecordDetailPage view={view} record={record} draft={draft} example={example} />, status);
    };
    if (action === "resolve" && fields["step"] === "example") {
      const record = await operator.inspect(id);
      if (record === null) return c.notFound();
      return page(record, await withExample(record, fields, examples, view));
    }
    const reading = readChange(action, fields);
    const given = reading.ok && reading.change.isPreview ? reading.change.response : null;
    const result =
      reading.ok && given === null ? await operator.change(id, { ...reading.change, by: view.viewer.actor }) : null;
    if (result !== null && result.kind !== "refused") {
      return c.redirect(result.kind === "forgotten" ? paths.listed({ done: action }) : paths.record(id), 303);
    }
    const record = await operator.inspect(id);
    if (record === null) return c.notFound();
    if (given !== null) {
      // With the typed fields, so that a button leads back to the form.
      const preview = fields["step"] === "edit" ? null : previewOf(given, operator.omittedHeaders(record.route));
      return page(record, { action, errors: [], fields, preview });
    }
    const errors = result === null ? (reading.ok ? [] : reading.errors) : [refusalText(result)];
    return page(record, { action, errors, fields, preview: null }, reading.ok ? 409 : 400);
  });
}

/** The form with another request's body, which somebody has asked for. */
async function withExample(
  record: RecordDetail,
  typed: Readonly<Record<string, string>>,
  examples: ExampleFinder,
  { viewer: { actor }, now }: ConsoleView,
): Promise<ChangeDraft> {
  const example = await examples.of(record, actor, now);
  const body = example === null ? null : await examples.text(example, actor);
  return example === null || body === null
    ? { action: "resolve", errors: ["There is no example any more."], fields: typed, preview: null }
    : { action: "resolve", errors: [], fields: { ...typed, body, example: example.id, adapted: "" }, preview: null };
}

/** Reads a form that an administrator has sent from the console, for whatever does more than show; refuses any other. */
export const adminForm: MiddlewareHandler<SignedRequest> = async (c, next) => {
  const { site, paths, viewer } = c.var.view;
  const refuse = (title: string, text: string): Promise<Response> =>
    showPage(<MessagePage site={site} paths={paths} title={title} text={text} />, 403);
  if (viewer.actor.role !== "admin") {
    return answerUnreadForm(
      await refuse("Read only", "Changes need an administrator. Nothing was changed."),
      c.req.raw,
    );
  }
  const fields = await formFields(c.req.raw);
  if (await timingSafeEqual(fields["token"] ?? "", viewer.formToken)) {
    c.set("fields", fields);
    return next();
  }
  return refuse("Form refused", "This form was not made for your session. Nothing was changed. Open the record again.");
};

function refusalText(refusal: Extract<ChangeResult, { kind: "refused" }>): string {
  switch (refusal.why) {
    case "none":
      return "This record no longer exists.";
    case "in-flight":
      return `An attempt is in flight or may still be running at the API, or the API is being asked whether it took effect. Attempts never overlap. Try again in ${elapsedText(refusal.retryAfterMs + 999)}.`;
    case "completed":
      return "The record was completed meanwhile, and its response is final. It can only be forgotten.";
    case "remembered":
      return "Only its key is remembered. It can only be forgotten.";
  }
}

type ChangeReading =
  | { readonly ok: true; readonly change: Omit<ChangeRequest, "by"> }
  | { readonly ok: false; readonly errors: readonly string[] };

function readChange(action: RecordActionName, fields: Readonly<Record<string, string>>): ChangeReading {
  const { why, takesResponse, form } = actionNamed(action);
  const isPreview = takesResponse && fields["step"] !== "give";
  const given = isPreview ? { preview: true } : { confirm: true };
  const asked = { [why]: fields[why] ?? "", ...(takesResponse ? { response: responseOf(fields), ...given } : {}) };
  const parsed = parseChange(action, asked);
  const isConfirmed = isPreview || form.confirmation === null || fields["confirmed"] === "yes";
  const errors = [
    ...(parsed.ok ? [] : [parsed.reason]),
    ...(isConfirmed ? [] : ["Confirm the change: tick the box above the button."]),
    ...(!takesResponse || fields["step"] === "edit" || !isFromExample(fields) || fields["adapted"] === "yes"
      ? []
      : ["Confirm that nothing of the other request is left in the body: tick the box below it."]),
  ];
  return parsed.ok && errors.length === 0 ? { ok: true, change: parsed.value } : { ok: false, errors };
}

/** What was typed as a response. */
export function responseOf({ status = "", headers = "", body = "" }: Readonly<Record<string, string>>): object {
  // A form sends every line break as CRLF (HTML, section 4.10.21.4).
  const lines = headers.split("\n").filter((line) => line.trim() !== "");
  return { status: Number(status), headers: lines.map(pair), body: body.replaceAll("\r\n", "\n") };
}

/** A line without a colon becomes an invalid header, which is refused. */
function pair(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  return colon === -1 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}
