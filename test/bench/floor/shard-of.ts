// Which of the floor's objects holds a key.

/** FNV-1a. `shards`: how many there are. */
export function shardOf(key: string, shards = 64): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) value = Math.imul(value ^ (key.codePointAt(at) ?? 0), 0x01000193);
  return (value >>> 0) % shards;
}
