// The settings with which the body of an answer is spooled: how long its first bytes wait for more, and how far the body may run
// ahead of its readers.

import type { BodyNumber } from "../../core/units.ts";
import type { OriginResponse } from "../origin-call.ts";
import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import { headText } from "../store/response-rows.ts";
import type { Patience } from "./byte-pipe.ts";
import { Spool } from "./spool.ts";

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
  readonly bodies: Bodies;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
}

/** For the body of a result, which its record will own. */
export function spoolFor(response: OriginResponse, body: BodyNumber, ports: SpoolPorts, patience: Patience): Spool {
  const { bodies, sync } = ports;
  const { length } = response;
  const firstFlushMs = isShort(response) ? SHORT_FLUSH_MS : FIRST_FLUSH_MS;
  const owner = { body, head: headText(response) };
  return new Spool({ bodies, sync, owner, length, firstFlushMs, windowChunks: WINDOW_CHUNKS, patience });
}

/** For the body of an answer that is passed on: it need not be durable, so it is written as late as possible. */
export function passingSpool({ bodies, sync }: SpoolPorts, patience: Patience): Spool {
  const timing = { firstFlushMs: SHORT_FLUSH_MS, windowChunks: WINDOW_CHUNKS, patience };
  return new Spool({ bodies, sync, owner: null, length: null, ...timing });
}

/** Whether the body is known to fit into one chunk. */
export function isShort({ length }: OriginResponse): boolean {
  return length !== null && length > 0 && length <= CHUNK_BYTES;
}
