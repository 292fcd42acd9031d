// The settings with which the body of an answer is spooled: how long its first bytes wait for more, and how far the body may run
// ahead of its readers.

import type { BodyNumber } from "../record/units.ts";
import type { OriginResponse } from "../object/origin-call.ts";
import { type BodyStore, CHUNK_BYTES } from "../store/bodies.ts";
import { storedHeadText } from "../store/response-rows.ts";
import { Spool, type SpoolOptions } from "./spool.ts";

/** All bytes of a quick body come within this time, so that it is written once, with its record. */
const FIRST_FLUSH_MS = 2;

/** The wait for a body that is known to be short: longer, but too short for a person to notice. */
const SHORT_FLUSH_MS = 50;

/**
 * How far a body that is not kept may run ahead of its slowest reader: 256 MiB of the object's disk. Within that window, a slow
 * client does not slow the origin down.
 */
const WINDOW_CHUNKS = 1024;

/** What a spool needs of its shard. */
export interface SpoolPorts {
  readonly bodies: BodyStore;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
}

/** How a spool serves its readers, and what encrypts what it stores. */
export type SpoolManner = Pick<SpoolOptions, "patience" | "cipher">;

/** For the body of a result, which its record will own. */
export function spoolFor(response: OriginResponse, body: BodyNumber, ports: SpoolPorts, manner: SpoolManner): Spool {
  const { bodies, sync } = ports;
  const { length } = response;
  const firstFlushMs = isShort(response) ? SHORT_FLUSH_MS : FIRST_FLUSH_MS;
  const owner = { body, head: manner.cipher === null ? storedHeadText(response) : null };
  return new Spool({ bodies, sync, owner, length, firstFlushMs, windowChunks: WINDOW_CHUNKS, ...manner });
}

/** For the body of an answer that is passed on: it need not be durable, so it is written as late as possible. */
export function passingSpool({ bodies, sync }: SpoolPorts, manner: SpoolManner): Spool {
  const timing = { firstFlushMs: SHORT_FLUSH_MS, windowChunks: WINDOW_CHUNKS };
  return new Spool({ bodies, sync, owner: null, length: null, ...timing, ...manner });
}

/** Whether the body is known to fit into one chunk. */
export function isShort({ length }: OriginResponse): boolean {
  return length !== null && length > 0 && length <= CHUNK_BYTES;
}
