// The responses of an exchange: the origin's own, a replay of it, and what the gateway adds to both. Bytes are sent as
// they came, under the content coding that they came with.

import type { Rest } from "../http/body.ts";
import type { Completed } from "../core/record.ts";
import type { EpochMs } from "../core/units.ts";
import { ECHO_HEADER, EXPIRES_HEADER, type HeaderPairs, REPLAYED_HEADER } from "../http/headers.ts";
import type { StoredResponse } from "./ledger.ts";
import type { OriginResponse } from "./origin-call.ts";

/** These have no body, whatever else they say (RFC 9110, section 6.4.1); the runtime refuses to give them one. */
const NULL_BODY_STATUSES = new Set([101, 204, 205, 304]);

/** Whether there can be a response of this status at all: the runtime makes no other, and no client expects one. */
export function isPossible(status: number): boolean {
  return status >= 200 && status <= 599;
}

/** The first answer, as the origin gave it. `expiresAt` is set when the record keeps it. */
export function firstAnswer(response: OriginResponse, echo: string, expiresAt: EpochMs | null): Response {
  const { body } = response;
  const bytes = body.kind === "whole" ? body.bytes : resumed(body.read, body.rest);
  return answer(response, response.headers, bytes, [[ECHO_HEADER, echo], ...expires(expiresAt)]);
}

/** The same answer from the record, but for the headers that the route keeps out of replays. */
export function replay(
  stored: StoredResponse,
  record: Completed,
  echo: string,
  omitHeaders: readonly string[],
): Response {
  const headers = stored.headers.filter(([name]) => !omitHeaders.includes(name.toLowerCase()));
  return answer(stored, headers, stored.body, [
    [ECHO_HEADER, echo],
    ...expires(record.expiresAt),
    [REPLAYED_HEADER, "true"],
  ]);
}

function expires(at: EpochMs | null): HeaderPairs {
  return at === null ? [] : [[EXPIRES_HEADER, new Date(at).toUTCString()]];
}

function answer(
  { status, statusText }: { readonly status: number; readonly statusText: string },
  headers: HeaderPairs,
  body: Uint8Array | ReadableStream<Uint8Array>,
  added: HeaderPairs,
): Response {
  const pairs = [...headers, ...added].map(([name, value]) => [name, value]);
  const none = NULL_BODY_STATUSES.has(status);
  if (none && body instanceof ReadableStream) void body.cancel();
  return new Response(none ? null : body, { status, statusText, headers: pairs, encodeBody: "manual" });
}

/** What has been read of a body, and then the rest of it as it comes. */
function resumed(read: readonly Uint8Array[], rest: Rest): ReadableStream<Uint8Array> {
  const pending = [...read];
  return new ReadableStream<Uint8Array>({
    // An error here breaks the transfer, so that the client never takes half a body for a whole one.
    async pull(controller) {
      const next = pending.shift();
      if (next !== undefined) {
        controller.enqueue(next);
        return;
      }
      const { done, value } = await rest.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => rest.cancel(reason),
  });
}
