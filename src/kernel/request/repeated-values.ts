// The values of a request's body that its problems repeat. Each is a piece of the JSON text as its client wrote it, so that an id or a context comes
// back as it was sent. What cannot be found with certainty, or is large, is not repeated.

import type { ProblemShape } from "../config/problem-shape.ts";
import { pointerTokens } from "../config/values.ts";
import type { RepeatedValues } from "../request-feature.ts";
import type { HeldBody } from "./body.ts";
import { copiedText, findPlaces, textOfJson } from "./json-places.ts";
import { bodySlicer } from "./key-places.ts";
import type { WaitingCaller } from "./time-slicer.ts";

/** In UTF-16 code units. A problem is small, and a client knows what it has sent. */
export const MAX_REPEATED_LENGTH = 4096;

export const NOTHING_REPEATED: RepeatedValues = new Map();

/** The values that the shape repeats; none without a shape or a body. `caller`: whose memory is free when nobody waits any more. */
export async function repeatedValues(
  shape: Pick<ProblemShape, "pointers"> | null,
  body: Pick<HeldBody, "bytes"> | null,
  caller: WaitingCaller | null,
): Promise<RepeatedValues> {
  if (shape === null || body === null || shape.pointers.length === 0) return NOTHING_REPEATED;
  const text = textOfJson(body.bytes);
  if (text === null) return NOTHING_REPEATED;
  const { pointers } = shape;
  const places = await bodySlicer.run(findPlaces(text, pointers.map(pointerTokens), "ambiguous"), caller);
  if (typeof places === "string") return NOTHING_REPEATED;
  return new Map(
    pointers.flatMap((pointer, index) => {
      const place = places[index] ?? null;
      const isShort = place !== null && place !== "ambiguous" && place.to - place.from <= MAX_REPEATED_LENGTH;
      return isShort ? [[pointer, copiedText(text, place)] as const] : [];
    }),
  );
}
