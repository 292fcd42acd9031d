// The fields for a response that an operator gives. What the route usually answers is filled in; another request's body only on request,
// marked as what it is, and not sent before somebody has confirmed that nothing of the other request is left in it.

import type { Child } from "hono/jsx";
import { RECORD_ID } from "../request-schema.ts";
import { recordId } from "../../kernel/record/units.ts";
import type { ExampleResponse } from "../example-response.ts";
import type { ConsoleView } from "./view.ts";

type Fields = Readonly<Record<string, string>>;

interface ResponseFieldsProps {
  readonly view: ConsoleView;
  readonly id: (name: string) => string;
  /** As typed. */
  readonly fields: Fields;
  readonly example: ExampleResponse | null;
}

export function ResponseFields({ view, id, fields, example }: ResponseFieldsProps) {
  const isTyped = fields["status"] !== undefined;
  const source = isTyped ? null : example;
  return (
    <>
      <FormField id={id("status")} label="Status">
        <input
          id={id("status")}
          name="status"
          type="number"
          min="200"
          max="599"
          required
          value={fields["status"] ?? String(source?.status ?? 201)}
        />
      </FormField>
      <FormField id={id("headers")} label="Headers" hint="One on each line, as name: value.">
        <textarea id={id("headers")} name="headers" rows={2} class="mono" spellcheck={false}>
          {fields["headers"] ?? usualHeaders(source)}
        </textarea>
      </FormField>
      {source === null ? null : (
        <p class="soft small" id="filled-in">
          Status and type are filled in from <a href={view.paths.record(source.id)}>a recent success</a> on this route.
        </p>
      )}
      <FormField id={id("body")} label="Body">
        <textarea id={id("body")} name="body" rows={5} class="mono" spellcheck={false}>
          {fields["body"] ?? ""}
        </textarea>
      </FormField>
      {isFromExample(fields) ? <Adapted view={view} fields={fields} /> : null}
    </>
  );
}

/** Whether the body began as another request's. */
export function isFromExample({ example = "" }: Fields): boolean {
  return RECORD_ID.test(example);
}

function Adapted({ view, fields }: Pick<ResponseFieldsProps, "view" | "fields">) {
  const { example = "", adapted } = fields;
  return (
    <div class="note unknown" id="example">
      <p>
        <strong>An example:</strong> this body is the response to{" "}
        <a href={view.paths.record(recordId(example))}>another request</a>, perhaps of another caller.
      </p>
      <input type="hidden" name="example" value={example} />
      <label class="check">
        <input type="checkbox" name="adapted" value="yes" required checked={adapted === "yes"} /> I have replaced what
        belongs to the other request: ids, names, amounts, times.
      </label>
    </div>
  );
}

/** Only the type: any other header may be the other request's own. */
function usualHeaders(example: ExampleResponse | null): string {
  const mediaType = example === null ? "application/json" : example.mediaType;
  return mediaType === null ? "" : `content-type: ${mediaType}`;
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly children: Child;
}

export function FormField({ id, label, hint, children }: FieldProps) {
  return (
    <div class="field">
      <label for={id}>
        {label} {hint === undefined ? null : <span class="soft small">{hint}</span>}
      </label>
      {children}
    </div>
  );
}
