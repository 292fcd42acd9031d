// Finds where in a stored body the event ends that a client names in `Last-Event-ID`. This requires a search through the body, and
// clients may ask for any id of any body as often as they like. So a shard runs one search at a time, one large chunk or some small
// ones per turn, and pauses in between so that other work runs. Searches in different bodies take turns. Results are remembered,
// also how far an unsuccessful search came, so that repeated requests cost nothing.

import type { BodyNumber } from "../record/units.ts";
import { EventSearch } from "./event-stream.ts";

/** A position in a stored body. It includes the chunk, so that no earlier chunk has to be read. */
export interface BodyPosition {
  readonly bytes: number;
  /** The chunk that it is in, and how many bytes lie before that chunk. */
  readonly chunk: number;
  readonly before: number;
}

export const START: BodyPosition = { bytes: 0, chunk: 0, before: 0 };

/** The part of a body that is stored now. It only grows. */
export interface SearchedBody {
  readonly body: BodyNumber;
  readonly chunks: number;
  /** `null` when it is gone. */
  readonly read: (chunk: number) => Uint8Array | null | Promise<Uint8Array>;
}

/** What one turn reads: a chunk of the largest size, or as many small ones as take about as long. */
const TURN_BYTES = 256 * 1024;
const TURN_CHUNKS = 32;

/** The most searches that wait for their turn. Beyond these, the client gets the stream from its first byte. */
const MAX_QUEUED = 64;
const MAX_QUEUED_IN_BODY = 8;

/** How many searches are remembered, and the longest id among them: together at most 1 MiB. */
const MAX_REMEMBERED = 256;
const MAX_REMEMBERED_LENGTH = 1024;

interface Search {
  readonly events: EventSearch;
  /** How many chunks, and how many bytes, have been searched. */
  chunks: number;
  bytes: number;
  found: BodyPosition | null;
  /** How many chunks have to be searched for the waiting requests. */
  until: number;
  readonly waiting: Set<() => void>;
}

/** The searches in one body. */
interface Queue {
  readonly body: SearchedBody;
  readonly searches: Search[];
}

export class EventOffsets {
  readonly #pause: () => Promise<void>;
  /** The most recently used is last. */
  readonly #remembered = new Map<string, Search>();
  /** By body; the one whose turn comes next is first. */
  readonly #queued = new Map<BodyNumber, Queue>();
  #isRunning = false;

  /** `pause` lets other work run. */
  constructor(pause: () => Promise<void> = nextTurn) {
    this.#pause = pause;
  }

  /**
   * Where the bytes after the event begin; the start if the event is not in the chunks that are stored now. The body must not be
   * erased meanwhile. Resolves at once when the caller disconnects.
   */
  async find(body: SearchedBody, id: string, caller: AbortSignal | null): Promise<BodyPosition> {
    const search = this.#recall(body.body, id);
    if (!isOver(search, body.chunks) && caller?.aborted !== true && this.#enqueue(body, search)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      search.waiting.add(resolve);
      const leave = (): void => {
        search.waiting.delete(resolve);
        resolve();
      };
      caller?.addEventListener("abort", leave);
      void this.#run();
      await promise;
      caller?.removeEventListener("abort", leave);
    }
    return search.found ?? START;
  }

  #recall(body: BodyNumber, id: string): Search {
    const name = `${body} ${id}`;
    const search = this.#remembered.get(name) ?? {
      events: new EventSearch(id),
      chunks: 0,
      bytes: 0,
      found: null,
      until: 0,
      waiting: new Set<() => void>(),
    };
    if (id.length > MAX_REMEMBERED_LENGTH) return search;
    this.#remembered.delete(name);
    this.#remembered.set(name, search);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= MAX_REMEMBERED) break;
      this.#remembered.delete(oldest);
    }
    return search;
  }

  /** Returns `false` when too many searches wait. */
  #enqueue(body: SearchedBody, search: Search): boolean {
    const queue = this.#queued.get(body.body) ?? { body, searches: [] };
    if (!queue.searches.includes(search)) {
      let queued = 0;
      for (const { searches } of this.#queued.values()) queued += searches.length;
      if (queued >= MAX_QUEUED || queue.searches.length >= MAX_QUEUED_IN_BODY) return false;
      queue.searches.push(search);
      this.#queued.set(body.body, queue);
    }
    search.until = Math.max(search.until, body.chunks);
    return true;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (;;) {
        const turn = this.#takeTurn();
        if (!(turn instanceof Promise ? await turn : turn)) return;
        await this.#pause();
      }
    } catch (error) {
      // If `pause` fails, all searches end: without pauses they would block all other work.
      report(error);
      for (const { searches } of this.#queued.values()) for (const search of searches) end(search);
      this.#queued.clear();
    } finally {
      this.#isRunning = false;
    }
  }

  /** Continues the search whose turn it is. Returns whether there was one. */
  #takeTurn(): boolean | Promise<boolean> {
    for (const [body, queue] of this.#queued) {
      const [search] = queue.searches;
      // Otherwise every client that asked for it has disconnected.
      if (search !== undefined && search.waiting.size > 0) {
        const turn = continueSearch(search, queue.body);
        if (turn instanceof Promise) return turn.then((isThere) => this.#endTurn(body, queue, isThere));
        return this.#endTurn(body, queue, turn);
      }
      this.#endTurn(body, queue, false);
    }
    return false;
  }

  /** The search whose turn it was goes to the end, or leaves. It has stayed in its queue until now, so that no client queues it again. */
  #endTurn(body: BodyNumber, queue: Queue, isThere: boolean): true {
    const search = queue.searches.shift();
    if (search !== undefined) {
      if (isThere && !isOver(search, search.until)) queue.searches.push(search);
      else end(search);
    }
    this.#queued.delete(body);
    if (queue.searches.length > 0) this.#queued.set(body, queue);
    return true;
  }
}

/** One turn of a search. Returns whether the body still exists. */
function continueSearch(search: Search, { read }: SearchedBody): boolean | Promise<boolean> {
  const before = search.bytes;
  for (let chunks = 0; hasTime(search, before, chunks); chunks++) {
    const bytes = readChunk(read, search.chunks);
    if (bytes === null) return false;
    if (bytes instanceof Promise) return continueEncrypted(search, read, bytes);
    feed(search, bytes);
  }
  return true;
}

/** The same for a body whose chunks have to be decrypted. */
async function continueEncrypted(
  search: Search,
  read: SearchedBody["read"],
  first: Promise<Uint8Array>,
): Promise<boolean> {
  const before = search.bytes;
  try {
    feed(search, await first);
    for (let chunks = 1; hasTime(search, before, chunks); chunks++) {
      const bytes = await read(search.chunks);
      if (bytes === null) return false;
      feed(search, bytes);
    }
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

function hasTime(search: Search, before: number, chunks: number): boolean {
  return chunks < TURN_CHUNKS && search.bytes - before < TURN_BYTES && !isOver(search, search.until);
}

function feed(search: Search, bytes: Uint8Array): void {
  search.events.feed(bytes);
  const { offset } = search.events;
  if (offset !== null) search.found = { bytes: offset, chunk: search.chunks, before: search.bytes };
  search.chunks += 1;
  search.bytes += bytes.byteLength;
}

/** Logs a failed read, so that it ends only the searches of this body. */
function readChunk(read: SearchedBody["read"], chunk: number): ReturnType<SearchedBody["read"]> {
  try {
    return read(chunk);
  } catch (error) {
    report(error);
    return null;
  }
}

function report(error: unknown): void {
  console.error({ message: "search for an event failed", reason: String(error) });
}

function isOver(search: Search, chunks: number): boolean {
  return search.events.isDone || search.chunks >= chunks;
}

function end({ waiting }: Search): void {
  for (const resolve of waiting) resolve();
  waiting.clear();
}

/** A turn of the event loop: a microtask would let no other work run. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
