// The field of a multipart upload that holds its GraphQL requests (GraphQL multipart request specification). The runtime's own parser
// reads it, and cannot pause: the number of parts bounds how long it holds the isolate.

import type { HeadersView } from "../../kernel/request/headers.ts";
import { bodySlicer } from "../../kernel/request/key-places.ts";
import type { WaitingCaller } from "../../kernel/request/time-slicer.ts";

/** An upload with more parts is not read, because the runtime's parser cannot pause and takes about 8 µs for each. */
const MAX_PARTS = 200;

/** About how many bytes of an upload are searched for its parts between two pauses. */
const SLICE_BYTES = 64 * 1024;

const DASH = 0x2d;
const LINE_FEED = 0x0a;

/** The text of the field; `null` if the upload cannot be read, or does not have it exactly once. */
export async function operationsOfUpload(
  body: Uint8Array,
  headers: HeadersView,
  caller: WaitingCaller | null,
): Promise<string | null> {
  if (await bodySlicer.run(hasManyParts(body), caller)) return null;
  try {
    const request = new Response(body, { headers: { "Content-Type": headers.get("content-type") ?? "" } });
    const [operations, ...others] = (await request.formData()).getAll("operations");
    return typeof operations === "string" && others.length === 0 ? operations : null;
  } catch {
    return null;
  }
}

/** Counts all lines that begin with two dashes, as each part does. */
function* hasManyParts(body: Uint8Array): Generator<undefined, boolean> {
  let parts = 0;
  for (let at = 1; at < body.length; at++) {
    if (at % SLICE_BYTES === 0) yield;
    if (body[at] !== DASH || body[at - 1] !== DASH || (at > 1 && body[at - 2] !== LINE_FEED)) continue;
    parts += 1;
    if (parts > MAX_PARTS) return true;
  }
  return false;
}
