// Forms for what an administrator may do to a record. Each states the consequence and asks for a reason and a confirmation.

import type { RecordDetail } from "../operator.ts";
import type { PreviewView } from "../change-schema.ts";
import { actionNamed, formText, type RecordActionName } from "../record-actions/record-actions.ts";
import { FormToken, SiteName } from "./page.tsx";
import { FormField, isFromExample, ResponseFields } from "./response-fields.tsx";
import type { ExampleResponse } from "../example-response.ts";
import type { ConsoleView } from "./view.ts";

/** What was typed, shown again with its errors. */
export interface ChangeDraft {
  readonly action: RecordActionName;
  readonly errors: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
  /** What retries would get; shown instead of the form. */
  readonly preview: PreviewView["preview"] | null;
}

interface ChangeFormsProps {
  readonly view: ConsoleView;
  readonly record: RecordDetail;
  readonly changes: readonly RecordActionName[];
  readonly draft: ChangeDraft | null;
  readonly example: ExampleResponse | null;
}

export function ChangeForms({ view, record, changes, draft, example }: ChangeFormsProps) {
  // The record has changed meanwhile: the form is gone, its errors are still shown.
  const isTooLate = draft !== null && !changes.includes(draft.action);
  return (
    <div class="decide">
      {isTooLate ? <Errors draft={draft} id="errors" /> : null}
      {changes.map((action) => (
        <details
          id={`${action}-form`}
          open={draft?.action === action || (action === "resolve" && draft === null && record.state === "unknown")}
        >
          <summary>
            <strong>{actionNamed(action).words.title}</strong>{" "}
            <span class="soft">{formText(action, record).summary}</span>
          </summary>
          {draft?.action === action && draft.preview !== null ? (
            <PreviewForm view={view} record={record} preview={draft.preview} fields={draft.fields} />
          ) : (
            <ChangeForm
              view={view}
              record={record}
              action={action}
              draft={draft?.action === action ? draft : null}
              example={example}
            />
          )}
        </details>
      ))}
    </div>
  );
}

interface ChangeFormProps extends Omit<ChangeFormsProps, "changes"> {
  readonly action: RecordActionName;
}

function ChangeForm({ view, record, action, draft, example }: ChangeFormProps) {
  const { why, takesResponse } = actionNamed(action);
  const { label, hint, button } = formText(action, record);
  const id = (name: string): string => `${action}-${name}`;
  const errors = draft?.errors ?? [];
  const errorsId = errors.length === 0 ? undefined : id("errors");
  return (
    <form method="post" action={view.paths.change(record.id, action)} aria-describedby={errorsId}>
      <FormToken view={view} />
      {draft === null || errors.length === 0 ? null : <Errors draft={draft} id={id("errors")} />}
      {takesResponse ? <ResponseFields view={view} id={id} fields={draft?.fields ?? {}} example={example} /> : null}
      <FormField id={id(why)} label={label} hint={hint}>
        <input id={id(why)} name={why} required maxlength={1000} autocomplete="off" value={draft?.fields[why]} />
      </FormField>
      {takesResponse ? null : <Confirmation action={action} record={record} />}
      <div class="act">
        <button class={takesResponse ? "main" : undefined}>{button}</button>
        {/* After the other, which the Enter key presses. */}
        {takesResponse && example?.hasText === true && !isFromExample(draft?.fields ?? {}) ? (
          <button name="step" value="example" formnovalidate>
            Show another response's body as an example
          </button>
        ) : null}
        <SiteName site={view.site} />
      </div>
    </form>
  );
}

function Errors({ draft, id }: { readonly draft: ChangeDraft; readonly id: string }) {
  return (
    <div class="note error" role="alert" id={id}>
      {draft.errors.map((error) => (
        <p>{error}</p>
      ))}
    </div>
  );
}

function Confirmation({ action, record }: Pick<ChangeFormProps, "action" | "record">) {
  const { confirmation } = formText(action, record);
  return confirmation === null ? null : (
    <label class="check">
      <input id={`${action}-confirmed`} type="checkbox" name="confirmed" value="yes" required /> {confirmation}
    </label>
  );
}

/** What the preview takes along. */
const KEPT_FIELDS = ["status", "headers", "body", "reason", "example", "adapted"];

interface PreviewFormProps {
  readonly view: ConsoleView;
  readonly record: RecordDetail;
  readonly preview: PreviewView["preview"];
  /** As typed: they are sent and checked again. */
  readonly fields: Readonly<Record<string, string>>;
}

function PreviewForm({ view, record, preview, fields }: PreviewFormProps) {
  return (
    <form method="post" action={view.paths.change(record.id, "resolve")} id="preview">
      <FormToken view={view} />
      {KEPT_FIELDS.filter((name) => fields[name] !== undefined).map((name) => (
        <input type="hidden" name={name} value={fields[name] ?? ""} />
      ))}
      <PreviewCard preview={preview} omits="This route omits" />
      {isFromExample(fields) ? <p>Its body began as an example, the response to another request.</p> : null}
      <Confirmation action="resolve" record={record} />
      <div class="act">
        <button class="main" name="step" value="give">
          Resolve with this response
        </button>
        <button name="step" value="edit" formnovalidate>
          Edit
        </button>
        <SiteName site={view.site} />
      </div>
    </form>
  );
}

interface ResponsePreviewProps {
  readonly preview: PreviewView["preview"];
  /** Who omits headers from replays, as the beginning of a sentence. */
  readonly omits: string;
}

/** What every retry would get. */
export function PreviewCard({ preview, omits }: ResponsePreviewProps) {
  const { status, headers, omittedHeaders, sizeBytes, body, warnings } = preview;
  return (
    <>
      <p>Every retry gets this, marked as a replay:</p>
      <dl class="facts mono">
        <dt>status</dt>
        <dd>{status}</dd>
        {headers.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
        <dt>body</dt>
        <dd>{sizeBytes} bytes</dd>
      </dl>
      {body === null || body === "" ? null : (
        <pre class="mono" tabindex={0} aria-label="Body">
          {body}
        </pre>
      )}
      {omittedHeaders.length === 0 ? null : (
        <p>
          {omits} from replays: {omittedHeaders.join(", ")}.
        </p>
      )}
      {warnings.length === 0 ? null : (
        <div class="note unknown" role="status">
          {warnings.map((warning) => (
            <p>{warning}</p>
          ))}
        </div>
      )}
    </>
  );
}
