// What a receiver of events makes of one that it is sent.

import * as v from "valibot";
import type { EventTry, OriginMarks } from "../history.ts";
import { SECRET, sha256 } from "./marks.ts";

/** The step in the key of each event. */
export const STEP = "told";

const cloudEvent = v.object({
  id: v.string(),
  type: v.string(),
  subject: v.string(),
  attempt: v.number(),
  idempotencykey: v.string(),
  data: v.object({
    status: v.optional(v.number()),
    /** What the origin has made. */
    arrival: v.optional(v.number()),
    /** Text, or bytes. */
    body: v.optional(v.string()),
    bodyBase64: v.optional(v.string()),
  }),
});

type Received = Pick<EventTry, "destination" | "webhookId" | "isSigned" | "at" | "answer">;

export function eventTry(text: string, received: Received): EventTry {
  const { id, type, subject, attempt, idempotencykey, data } = v.parse(cloudEvent, JSON.parse(text));
  return {
    type: "event-try",
    ...received,
    id,
    eventType: type,
    subject,
    key: idempotencykey.slice(0, -`:${STEP}`.length),
    attempt,
    status: data.status ?? null,
    arrival: data.arrival ?? arrivalIn(data.bodyBase64 ?? null, data.body ?? null),
    sha256: sha256(text),
  };
}

/** The number in the marks of the answer that the event carries; `null`: it carries none. */
function arrivalIn(base64: string | null, plain: string | null): number | null {
  const bytes = base64 === null ? plain : Buffer.from(base64, "base64").toString("latin1");
  const [line = ""] = bytes?.split("\n", 1) ?? [];
  if (!line.startsWith(SECRET)) return null;
  const marks: OriginMarks = JSON.parse(line.slice(SECRET.length));
  return marks.arrival;
}
