// Reads the forms of the console: only what its own pages send, within limits on size and time, and after the checks that cost nothing.

import type { Problem } from "../kernel/record/problem.ts";
import type { BodyReader } from "../kernel/request/body-reader.ts";
import { ByteBudget } from "../kernel/request/byte-budget.ts";
import { FORM, mediaType, otherCharset } from "../kernel/request/key-places.ts";
import { answerUnread, readOwnBody } from "../kernel/request/own-body.ts";
import { unreadOf } from "../kernel/request/body.ts";

export type FormFields = Readonly<Record<string, string>>;

/** For a response that an operator types or pastes; larger ones go through the API. */
const LARGEST_FORM_BYTES = 1 << 20;

/** A token, and the address of the page that was asked for. Nobody who sends this form is known yet. */
export const SIGN_IN_BYTES = 4096;

/** The type of a form with a file. */
const FILE_FORM = "multipart/form-data";

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** More than any page has. */
const MAX_FIELDS = 64;

const memory = new ByteBudget(4 * LARGEST_FORM_BYTES, 60_000);

export const NOT_OURS = "This form was not sent by a page of the console.";

/** A form that is not read, and the page that says so. */
export class FormRefused extends Error {
  readonly status: 400 | 403 | 408 | 413 | 415 | 503;
  readonly title: string;
  readonly text: string;
  readonly rest: BodyReader | null;

  constructor(status: FormRefused["status"], title: string, text: string, rest: BodyReader | null) {
    super(title);
    this.status = status;
    this.title = title;
    this.text = `${text} Nothing was changed.`;
    this.rest = rest;
  }
}

/** The fields of a form. Rejects with `FormRefused` when it is none of the console's, too large or too slow. */
export function textFields(request: Request, limitBytes = LARGEST_FORM_BYTES): Promise<FormFields> {
  return readForm(request, FORM, limitBytes, parseForm);
}

/** The same of a form that may have a file: the value of its field is what the file has. */
export function formFields(request: Request): Promise<FormFields> {
  const type = request.headers.get("content-type") ?? "";
  return mediaType(request.headers) === FILE_FORM
    ? readForm(request, FILE_FORM, LARGEST_FORM_BYTES, (bytes) => parseFileForm(bytes, type))
    : textFields(request);
}

async function readForm(
  request: Request,
  type: string,
  limitBytes: number,
  parse: (bytes: Uint8Array) => FormFields | null | Promise<FormFields | null>,
): Promise<FormFields> {
  if (mediaType(request.headers) !== type || otherCharset(request.headers) !== null) {
    throw new FormRefused(415, "Form refused", NOT_OURS, unreadOf(request, request.headers));
  }
  const tooLarge: Problem = { code: "body-too-large", limitBytes };
  const read = await readOwnBody(request, { limitBytes, budget: memory, tooLarge });
  if (read.kind === "refuse") throw refusalOf(read.problem, limitBytes, read.rest);
  const fields = await parse(read.body.bytes);
  read.body.free();
  if (fields === null) throw new FormRefused(400, "Form refused", "This form cannot be read.", null);
  return fields;
}

/** The answer to a form that is refused before it is read. */
export function answerUnreadForm(response: Response, request: Request): Response | Promise<Response> {
  return answerUnread(response, unreadOf(request, request.headers));
}

/** The page that says why a form was refused. */
export function answerRefusedForm(response: Response, { rest }: FormRefused): Response | Promise<Response> {
  return answerUnread(response, rest);
}

function refusalOf(problem: Problem, limitBytes: number, rest: BodyReader | null): FormRefused {
  if (problem.code === "body-too-large") {
    const text = `This form may have at most ${limitBytes / 1024} KiB. Use the API for larger responses.`;
    return new FormRefused(413, "Too large", text, rest);
  }
  if (problem.code === "store-unavailable") {
    return new FormRefused(503, "Busy", "Too many forms arrive at once. Send it again in a moment.", rest);
  }
  const isLate = problem.code === "request-invalid" && problem.isLate === true;
  return new FormRefused(isLate ? 408 : 400, "Form refused", "This form did not arrive whole. Send it again.", rest);
}

/** `null` for what no browser sends, and for a file that is not UTF-8. */
async function parseFileForm(bytes: Uint8Array, type: string): Promise<FormFields | null> {
  try {
    const fields = new Map<string, string>();
    for (const [name, value] of await new Response(bytes, { headers: { "content-type": type } }).formData()) {
      if (fields.has(name) || fields.size === MAX_FIELDS) return null;
      // oxlint-disable-next-line no-await-in-loop -- in memory
      fields.set(name, typeof value === "string" ? value : UTF8.decode(await value.arrayBuffer()));
    }
    return Object.fromEntries(fields);
  } catch {
    return null;
  }
}

/** `null` for what no browser sends: a field without a value or given twice, escapes that make no UTF-8, too many fields. */
export function parseForm(bytes: Uint8Array): FormFields | null {
  if (bytes.byteLength === 0) return {};
  try {
    const text = UTF8.decode(bytes);
    const pairs = text.split("&", MAX_FIELDS + 1);
    if (pairs.length > MAX_FIELDS) return null;
    const fields = new Map<string, string>();
    for (const pair of pairs) {
      const [name, value, ...more] = pair.split("=", 3);
      if (name === undefined || name === "" || value === undefined || more.length > 0) return null;
      const decoded = decode(name);
      if (fields.has(decoded)) return null;
      fields.set(decoded, decode(value));
    }
    return Object.fromEntries(fields);
  } catch {
    return null;
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
