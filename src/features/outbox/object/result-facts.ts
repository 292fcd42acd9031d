// What the events of a result can tell about it: read from what is written with the result, in the same turn.

import type { Completed } from "../../../kernel/record/record.ts";
import type { BodyNumber, RecordId } from "../../../kernel/record/units.ts";
import { joinBytes } from "../../../kernel/request/body.ts";
import type { BodyOmission, ResultFacts } from "../cloud-event.ts";
import type { BodyStore } from "../../../kernel/store/bodies.ts";
import type { RecordLabel } from "../../../kernel/store/label.ts";
import { isEncrypted, type KeptResponse } from "../../../kernel/store/response-rows.ts";

/** Larger bodies are not part of an event. */
const MAX_BODY_BYTES = 96 * 1024;

/** What an event can tell besides its record. */
export interface ResultSource {
  readonly label: () => RecordLabel;
  readonly response: KeptResponse | null;
  /** What the origin's response says in `Onceway-Event`. */
  readonly originEvents: string | null;
}

export interface EventBodies {
  readonly bodies: Pick<BodyStore, "read">;
}

export function resultFactsOf(
  id: RecordId,
  { attempt, completedAt }: Completed,
  status: number,
  { label, response, originEvents }: ResultSource,
  { bodies }: EventBodies,
): ResultFacts {
  const open = response === null || isEncrypted(response) ? null : response;
  const { key, route, lane = 0 } = label();
  return {
    recordId: id,
    lane,
    route,
    key,
    attempt,
    status,
    completedAt,
    headers: open?.headers ?? [],
    body: open === null ? "not-kept" : bodyOf(open.body, bodies),
    originEvents,
  };
}

function bodyOf(
  body: Exclude<KeptResponse, { envelope: Uint8Array }>["body"],
  bodies: Pick<BodyStore, "read">,
): Uint8Array | BodyOmission {
  switch (body.kind) {
    case "inline":
      return body.bytes.byteLength > MAX_BODY_BYTES ? "too-large" : body.bytes;
    case "chunks": {
      if (body.size > MAX_BODY_BYTES) return "too-large";
      return joinBytes(Array.from({ length: body.count }, (_, at) => chunkOf(body.body, at, bodies)));
    }
    case "remote":
      return "too-large";
  }
}

/** Half a body must never pass for a whole one. */
function chunkOf(body: BodyNumber, at: number, bodies: Pick<BodyStore, "read">): Uint8Array {
  const chunk = bodies.read(body, at);
  if (chunk === null) throw new Error("a chunk of a response is missing");
  return chunk;
}
