// The key of a request that has none of its own, made from its content: equal for requests whose method, path and members are equal, and for no others.
// Its text says what it is; that no client's own key can meet it, its record's name sees to (`contentScope`).

import type { KeyPart } from "../../kernel/config/key-source.ts";
import { digest } from "../../kernel/request/digest.ts";
import { nameOf } from "../../kernel/request/key-places.ts";

/** Must change whenever the digested parts do, so that an old key never equals a new one. */
const VERSION = "onceway-content-1";

/** 128 bits. */
const DIGITS = 32;

/** What is digested of a request. */
export interface ContentParts {
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly members: readonly KeyPart[];
  /** One for each member. */
  readonly values: readonly string[];
}

/** Each member's name is digested too: the same values in other places are another content. */
export async function keyOfMembers({ method, path, members, values }: ContentParts): Promise<string> {
  const named = members.flatMap((part, at) => [nameOf(part), values[at] ?? null]);
  return keyText(await digest([VERSION, method, path, ...named]));
}

/** Of all that the fingerprint counts. */
export async function keyOfRequest(fingerprint: string): Promise<string> {
  return keyText(await digest([VERSION, fingerprint]));
}

function keyText(hex: string): string {
  return `(content:${hex.slice(0, DIGITS)})`;
}
