// What Workers and objects say to each other while the layout changes (src/kernel/object/README.md). An object that is not the home of a
// key answers with a `Hop`, and the Worker goes on with the same request.

import type { Layout } from "../config/layout.ts";
import type { HeldKeys } from "../record/held-keys.ts";
import type { RecordId } from "../record/units.ts";
import { ECHO_HEADER, MOVED_HEADER } from "../request/headers.ts";

/** An older layout, and the names that the request's record would have there: its own, then those of older scopes. */
export interface NamedElder {
  readonly layout: Layout;
  readonly recordIds: readonly RecordId[];
  /** The request comes from its object, which is open and keeps no record of the key. It is no elder unless another one says so. */
  readonly isVisited?: true;
}

/**
 * The object of this layout has said that it has no record of the key, and that it is sealed for `next`. This stays true, because a
 * sealed object takes no new keys.
 */
export interface AbsentWord {
  readonly layout: Layout;
  readonly next: Layout;
}

export type Hop =
  /** Go to this layout's object, with these elders and words. */
  | {
      readonly kind: "moved";
      readonly to: Layout;
      readonly elders: readonly Layout[];
      readonly absent: readonly AbsentWord[];
    }
  /** Come again, with the record's names in these layouts. */
  | { readonly kind: "again"; readonly elders: readonly Layout[]; readonly absent: readonly AbsentWord[] }
  /** An elder did not answer. Nothing was sent to the origin. */
  | { readonly kind: "unreachable" }
  /** An elder answered that it follows this layout itself. Nothing was sent to the origin. */
  | { readonly kind: "contradiction" };

/** What an object asks its elder. The elder first seals itself for the layout `next`. */
export interface ElderQuestion {
  readonly recordIds: readonly RecordId[];
  readonly next: Layout;
  /** Whether a list of keys is wanted that tells about this one. */
  readonly wantsList?: true;
}

export interface ElderAnswer {
  /** Whether it has one of these records. */
  readonly here: boolean;
  /** The layout for which it is sealed, which may be another one than that of the question. */
  readonly next: Layout;
  /** Its own elders. */
  readonly elders: readonly Layout[];
  /** `null`: not wanted, or too many. */
  readonly held: HeldKeys | null;
}

/** The elder is not sealed for the layout that asks, because it follows that layout itself. */
export class Contradiction extends Error {}

/** What an elder sends: its answer, or why it gives none. */
export type ElderReply = ElderAnswer | { readonly contradiction: string };

/** Throws a `Contradiction` if the elder gave no answer. A list of another form, of an elder with other code, is none. */
export function answerIn(reply: ElderReply): ElderAnswer {
  if ("contradiction" in reply) throw new Contradiction(reply.contradiction);
  const { held } = reply;
  return { ...reply, held: typeof held?.begin === "string" && typeof held.hashes === "string" ? held : null };
}

/** The answer to a request for the home of a key, if that is the object that was asked. */
export interface Located {
  readonly absent: readonly AbsentWord[];
}

export function hopResponse(hop: Hop): Response {
  return new Response(null, { status: 204, headers: { [MOVED_HEADER]: JSON.stringify(hop) } });
}

/** `null`: the response is an answer to the client, which always echoes the key, and a hop never does. */
export function hopIn(response: Response): Hop | null {
  if (response.status !== 204) return null;
  const { headers } = response;
  const text = headers.get(MOVED_HEADER);
  if (text === null || headers.has(ECHO_HEADER)) return null;
  const hop: Hop = JSON.parse(text);
  return hop;
}
