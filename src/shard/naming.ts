// Which shard keeps a key. By the key alone, so that who knows a key knows its shard; as a digest, so that no key shows
// in the name of an object. Another number of shards is another set of names: keys from before are not found there.

import type { Shards } from "../config/resolved.ts";
import { hex, sha256 } from "../http/digest.ts";

export async function shardName(key: string, shards: Shards): Promise<string> {
  const hash = await sha256(new TextEncoder().encode(key));
  if (shards === "per-key") return `key-${hex(hash)}`;
  return `shard-${new DataView(hash.buffer).getUint32(0) % shards}-of-${shards}`;
}
