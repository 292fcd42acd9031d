// The way to a shard: the same for a client's request and for an operator's, since whoever asks an object first decides
// where it is made.

import type { ShardPlace } from "./naming.ts";

/** A stub that has failed stays broken (platform rule), so each call has its own. */
export function shardStub(
  everywhere: DurableObjectNamespace,
  { name, jurisdiction, locationHint }: ShardPlace,
): DurableObjectStub {
  const namespace = jurisdiction === null ? everywhere : everywhere.jurisdiction(jurisdiction);
  return namespace.get(namespace.idFromName(name), locationHint === null ? {} : { locationHint });
}
