// The canonical form of a JSON text as the gateway makes it.

import { scanJson } from "../../src/kernel/request/json.ts";

/** Pauses after each slice of its work; `null` if there is none. */
export function* canonicalJson(body: Uint8Array): Generator<undefined, Uint8Array | null> {
  const node = yield* scanJson(body, "compared");
  if (typeof node === "string" || node.canonical === null) return null;
  if (node.canonical.length > 16 * 1024) yield;
  return new TextEncoder().encode(node.canonical);
}
