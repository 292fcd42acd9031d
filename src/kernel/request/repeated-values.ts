// The values of a request's body that its problems repeat. Each is a piece of the JSON text as its client wrote it, so that an id or a context comes
// back as it was sent. What cannot be found with certainty, or is large, is not repeated.

import type { ProblemShape } from "../config/problem-shape.ts";
import { pointerTokens } from "../config/values.ts";
import type { RepeatedValues } from "../request-feature.ts";
import type { HeldBody } from "./body.ts";
import { type JsonNode, scanJson } from "./json.ts";
import { certainNodeAt } from "./json-pointer.ts";
import { bodySlicer } from "./key-places.ts";
import type { WaitingCaller } from "./time-slicer.ts";

/** In UTF-16 code units. A problem is small, and a client knows what it has sent. */
export const MAX_REPEATED_LENGTH = 4096;

export const NOTHING_REPEATED: RepeatedValues = new Map();

/** The values that the shape repeats; none without a shape or a body. `caller`: whose memory is free when nobody waits any more. */
export async function repeatedValues(
  shape: ProblemShape | null,
  body: Pick<HeldBody, "bytes"> | null,
  caller: WaitingCaller | null,
): Promise<RepeatedValues> {
  if (shape === null || body === null || shape.pointers.length === 0) return NOTHING_REPEATED;
  const { bytes } = body;
  if (bytes.byteLength === 0) return NOTHING_REPEATED;
  const root = await bodySlicer.run(scanJson(bytes, "searched"), caller);
  if (typeof root === "string") return NOTHING_REPEATED;
  const text = new TextDecoder().decode(bytes);
  return new Map(
    shape.pointers.flatMap((pointer) => {
      const node = certainNodeAt(root, pointerTokens(pointer));
      const value = node === null || node === "ambiguous" ? null : textOf(node, text);
      return value === null || value.length > MAX_REPEATED_LENGTH ? [] : [[pointer, value] as const];
    }),
  );
}

function textOf(node: JsonNode, text: string): string | null {
  switch (node.kind) {
    case "string":
      return JSON.stringify(node.text);
    case "number":
    case "literal":
      return node.text;
    case "array":
    case "object":
      return node.span === undefined ? null : text.slice(...node.span);
  }
}
