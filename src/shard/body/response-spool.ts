// How the body of an answer is spooled: how long its first bytes wait for company, and how far it may run ahead.

import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import type { Patience } from "./byte-pipe.ts";
import type { OriginResponse } from "../origin-call.ts";
import { Spool } from "./spool.ts";

/** The bytes of a quick body come together in this time, so that it is written once, with its record. */
const FIRST_FLUSH_MS = 2;

/** A body that is known to be short is worth a longer wait, but not one that anybody would feel. */
const SHORT_FLUSH_MS = 50;

/**
 * How far a body that is not kept may run ahead of its slowest reader: 256 MiB of the ledger's disk. Up to there the
 * client's speed is not the origin's.
 */
const WINDOW_CHUNKS = 1024;

/** What a spool needs of its shard. */
export interface SpoolPorts {
  readonly bodies: Bodies;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
}

/** For the body of a result. */
export function spoolFor(response: OriginResponse, name: string, ports: SpoolPorts, patience: Patience): Spool {
  const firstFlushMs = isShort(response) ? SHORT_FLUSH_MS : FIRST_FLUSH_MS;
  const { length } = response;
  return new Spool({
    ...pick(ports),
    name,
    isOwned: true,
    length,
    firstFlushMs,
    windowChunks: WINDOW_CHUNKS,
    patience,
  });
}

/** For the body of an answer that is passed on: nothing of it has to be durable, so it is not written before it has to be. */
export function passingSpool(name: string, ports: SpoolPorts, patience: Patience): Spool {
  const firstFlushMs = SHORT_FLUSH_MS;
  return new Spool({
    ...pick(ports),
    name,
    isOwned: false,
    length: null,
    firstFlushMs,
    windowChunks: WINDOW_CHUNKS,
    patience,
  });
}

function pick({ bodies, sync }: SpoolPorts): SpoolPorts {
  return { bodies, sync };
}

/** Whether the body is known to fit into its record's row. */
export function isShort({ length }: OriginResponse): boolean {
  return length !== null && length > 0 && length <= CHUNK_BYTES;
}
