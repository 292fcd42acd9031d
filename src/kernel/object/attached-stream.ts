// A duplicate that follows the answer of an attempt in flight: from its first byte, or from where its client left off.

import type { BodyCipher } from "../encryption/body-cipher.ts";
import type { BodyNumber } from "../record/units.ts";
import type { ExchangeHead } from "../request/message.ts";
import type { EventOffsets } from "../resume/event-offsets.ts";
import type { BodyStore } from "../store/bodies.ts";
import type { Spool } from "../body/spool.ts";
import { attachedAnswer, findInChunks, seenUpTo } from "./answers.ts";
import type { ExchangeAnswer } from "./exchange-answer.ts";
import type { OriginResponse } from "./origin-call.ts";

/** An answer that is on its way into the store. */
export interface AttachableStream {
  readonly response: OriginResponse;
  readonly spool: Spool;
}

interface AttachPorts {
  readonly bodies: BodyStore;
  readonly body: BodyNumber;
  readonly offsets: EventOffsets;
  readonly cipher: BodyCipher | null;
}

/** `null` when it cannot be followed. `find` is asked again after the search for the client's last event. */
export async function attachToStream(
  find: () => AttachableStream | null,
  { bodies, body, offsets, cipher }: AttachPorts,
  head: ExchangeHead,
  caller: AbortSignal | null,
): Promise<ExchangeAnswer | null> {
  const first = find();
  if (first === null) return null;
  const chunks = { body, count: first.spool.chunks, bodies, cipher };
  const from = await seenUpTo(first.response, head, (id) => findInChunks(chunks, id, offsets, caller));
  // During the search it may have broken off or outgrown the ledger.
  const now = find();
  return now === null ? null : attachedAnswer(now.response, now.spool.reader(now.response.length, from), head);
}
