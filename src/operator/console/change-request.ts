// A change as a form sends it, held to the same rules as one that comes by the API.

import type { Change } from "../../core/timeline.ts";
import { parseChange } from "../change-request.ts";
import type { ChangeRequest } from "../operator.ts";

export type ChangeReading =
  | { readonly ok: true; readonly change: ChangeRequest; readonly isPreview: boolean }
  | { readonly ok: false; readonly errors: readonly string[] };

export function readChange(action: Change, fields: Readonly<Record<string, string>>): ChangeReading {
  const { reason = "", confirmed } = fields;
  const isPreview = action === "resolve" && fields["step"] !== "give";
  const isGiven = isPreview ? { preview: true } : { confirm: true };
  const asked = action === "resolve" ? { reason, response: responseOf(fields), ...isGiven } : { reason };
  const parsed = parseChange(action, new TextEncoder().encode(JSON.stringify(asked)));
  const errors = [
    ...(parsed.ok ? [] : [parsed.reason]),
    ...(isPreview || confirmed === "yes" ? [] : ["Confirm what follows from it: tick the box above the button."]),
  ];
  if (!parsed.ok || errors.length > 0) return { ok: false, errors };
  const { isPreview: _, ...change } = parsed.value;
  return { ok: true, change: { ...change, by: "admin" }, isPreview };
}

function responseOf({ status = "", headers = "", body = "" }: Readonly<Record<string, string>>): object {
  // A form sends every line break as CRLF (HTML, section 4.10.21.4).
  const lines = headers.split("\n").filter((line) => line.trim() !== "");
  return { status: Number(status), headers: lines.map(pair), body: body.replaceAll("\r\n", "\n") };
}

/** A line without a colon is no header, and is refused as one. */
function pair(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  return colon === -1 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}
