// Where a key begins that has no record in the object that is asked. Mostly it begins there. An object of a layout that was left may answer that the
// key begins elsewhere; then the Worker goes on with the same request. The kernel carries such answers; only src/features/previous-shards gives them.

import { jsonCall } from "./call.ts";
import { type Layout, type Layouts, layoutName } from "./config/layout.ts";
import { ECHO_HEADER, ELSEWHERE_HEADER } from "./request/headers.ts";
import type { EpochMs } from "./record/units.ts";
import type { RecordName } from "./request/message.ts";

/** The answer of an object that has no record of the key, under any of its names. */
export type BeginsElsewhere =
  /** The object is closed: it inserts no record, so this answer stays true. The key begins in `next`, or further on. */
  | {
      readonly kind: "closed";
      readonly next: Layout;
      /** It has no record at all, and never will have one. */
      readonly isEmpty: boolean;
    }
  /** The object has begun keys after that layout's object had said that it is closed, and this request does not say so. */
  | { readonly kind: "first"; readonly layout: Layout };

/** A layout whose object of the key is closed, and has no record of it. */
export interface ClosedLayout {
  readonly layout: Layout;
  readonly isEmpty: boolean;
}

/** What a request says of the layouts before the one that it comes to. */
export interface PreviousLayouts {
  /** Those whose objects have been asked, or are known to be empty. */
  readonly closed: readonly ClosedLayout[];
  /** The layout for which the object closes if it has no record of the key. Only where each key has an object, which nobody can list. */
  readonly closesFor?: Layout;
}

/** What an object needs of a request in order to say where its key begins: names that are digests, and nothing of the request itself. */
export interface PlacedRecord {
  readonly record: Pick<RecordName, "id" | "olderIds" | "placedBy" | "route">;
  /** Absent: nothing has been asked before. */
  readonly previous?: PreviousLayouts;
}

/** What is asked about a key that this question does not begin: only a request that begins one closes the object that an older layout has for it. */
export function asLooked({ record, previous }: PlacedRecord): PlacedRecord {
  return previous === undefined ? { record } : { record, previous: { closed: previous.closed } };
}

/** Of an object in which no key begins any more. */
export interface ObjectClosing {
  /** The layout in which they begin. */
  readonly next: Layout;
  readonly at: EpochMs;
}

/** Asks where a key begins that has no record in the object; `null`: it has one, or begins there. Claims nothing. */
export const LOCATE_CALL = jsonCall<PlacedRecord, BeginsElsewhere | null>("locate");

export type GivenOrElsewhere<T> = { readonly kind: "given"; readonly given: T } | BeginsElsewhere;

/** Asks the key's object of one layout. */
export type AskLayout<T> = (at: Layout, previous: PreviousLayouts | undefined) => Promise<GivenOrElsewhere<T>>;

/** Asks the objects of a key until one of them gives something; `null`: all that were asked say that the key begins elsewhere. `placing` decides which objects. */
export type FindObject = <T>(placing: string, layouts: Layouts, ask: AskLayout<T>) => Promise<T | null>;

/** Without the feature there is one layout, whose objects are open. */
export const askOwn: FindObject = async (_placing, { own }, ask) => {
  const answer = await ask(own, undefined);
  return answer.kind === "given" ? answer.given : null;
};

export function isSameLayout(one: Layout, other: Layout): boolean {
  return layoutName(one) === layoutName(other);
}

export function elsewhereResponse(elsewhere: BeginsElsewhere): Response {
  return new Response(null, { status: 204, headers: { [ELSEWHERE_HEADER]: JSON.stringify(elsewhere) } });
}

/** `null`: the response is an answer to the client, which always echoes the key, and this never does. */
export function elsewhereIn(response: Response): BeginsElsewhere | null {
  if (response.status !== 204) return null;
  const { headers } = response;
  const text = headers.get(ELSEWHERE_HEADER);
  if (text === null || headers.has(ECHO_HEADER)) return null;
  const elsewhere: BeginsElsewhere = JSON.parse(text);
  return elsewhere;
}
