// Caches the replays that this isolate sends again and again, so that a client that retries often costs no call to a shard. Most
// replays are sent once, and reading one to cache it costs more than passing it on, so only a record that has been asked for lately
// is cached. A completed record never changes until it expires (G2), so its replay does not change either. A replay whose record an operator
// erases leaves this cache within `MAX_AGE_MS`.

import {
  ECHO_HEADER,
  EXPIRES_HEADER,
  type HeaderPairs,
  headersOf,
  REPLAYED_HEADER,
  SMALL_HEADER,
  STATUS_HEADER,
} from "./headers.ts";

/** The request that is answered with a replay. */
export interface ReplayRequest {
  readonly recordId: string;
  readonly fingerprint: string;
  /** The key as this client sent it. */
  readonly echo: string;
}

interface CachedReplay {
  readonly fingerprint: string;
  /** Until when it may be used, in milliseconds since the Unix epoch. */
  readonly until: number;
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  /** The shard's `Idempotency-Expires`, an HTTP date. */
  readonly expires: string;
  readonly body: Uint8Array | null;
}

/** The largest body that is cached, because caching a larger one costs more in memory than it saves in calls. */
export const SMALL_BODY_BYTES = 8192;

/** Headers that are not cached: each replay sets them again, as the shard does, or omits them. */
const OWN = new Set(
  [SMALL_HEADER, ECHO_HEADER, EXPIRES_HEADER, REPLAYED_HEADER, STATUS_HEADER, "content-length"].map((name) =>
    name.toLowerCase(),
  ),
);

/** About how many bytes of the isolate's 128 MB all replays may take together. */
const MAX_BYTES = 8 << 20;
/** The estimated size of a replay without its headers and body. */
const OVERHEAD_BYTES = 512;

const MAX_AGE_MS = 30_000;

/** How many records are noted as asked for, twice: the latest ones, and those before them. */
const MAX_ASKED = 2048;

export class ReplayCache {
  #asked = new Set<string>();
  #askedBefore: ReadonlySet<string> = new Set();
  /** In the order of their last use, the oldest first. */
  readonly #replays = new Map<string, CachedReplay>();
  #bytes = 0;

  /** The replay for this request; `null` if it is not cached. `now` is in milliseconds since the Unix epoch. */
  find({ recordId, fingerprint, echo }: ReplayRequest, now: number): Response | null {
    const found = this.#replays.get(recordId);
    if (found === undefined || found.fingerprint !== fingerprint) return null;
    this.#replays.delete(recordId);
    if (found.until <= now) {
      this.#bytes -= sizeOf(found);
      return null;
    }
    this.#replays.set(recordId, found);
    return answer(found, echo);
  }

  /** Notes that a record is asked for. Returns whether it was asked for lately. */
  isAskedAgain(recordId: string): boolean {
    const isAgain = this.#asked.has(recordId) || this.#askedBefore.has(recordId);
    this.#asked.add(recordId);
    if (this.#asked.size >= MAX_ASKED) {
      this.#askedBefore = this.#asked;
      this.#asked = new Set();
    }
    return isAgain;
  }

  /** Returns a shard's response for the client, and caches it if it is a small replay. */
  async keep(response: Response, { recordId, fingerprint }: ReplayRequest, now: number): Promise<Response> {
    if (!response.headers.has(SMALL_HEADER)) return response;
    const { status, statusText } = response;
    const headers = [...response.headers]
      .filter(([name]) => !OWN.has(name))
      // The runtime sends the first line of a known name in its standard case, and repeated lines in the case it was given.
      .map(([name, value]): [string, string] => [name === "set-cookie" ? "Set-Cookie" : name, value]);
    const body = response.body === null ? null : new Uint8Array(await response.arrayBuffer());
    const echo = response.headers.get(ECHO_HEADER) ?? "";
    const expires = response.headers.get(EXPIRES_HEADER) ?? "";
    const until = Math.min(Date.parse(expires), now + MAX_AGE_MS);
    const replay = { fingerprint, until, status, statusText, headers, expires, body };
    this.#add(recordId, replay);
    return answer(replay, echo);
  }

  #add(recordId: string, replay: CachedReplay): void {
    const before = this.#replays.get(recordId);
    if (before !== undefined) this.#bytes -= sizeOf(before);
    this.#replays.delete(recordId);
    this.#replays.set(recordId, replay);
    this.#bytes += sizeOf(replay);
    for (const [id, oldest] of this.#replays) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#replays.delete(id);
      this.#bytes -= sizeOf(oldest);
    }
  }
}

function answer({ status, statusText, headers, expires, body }: CachedReplay, echo: string): Response {
  const own: HeaderPairs = [
    [ECHO_HEADER, echo],
    [STATUS_HEADER, "replayed"],
    [EXPIRES_HEADER, expires],
    [REPLAYED_HEADER, "true"],
  ];
  return new Response(body, { status, statusText, headers: headersOf([...headers, ...own]), encodeBody: "manual" });
}

/** An estimate: a character of a header counts two bytes. */
function sizeOf({ headers, body }: CachedReplay): number {
  const text = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return OVERHEAD_BYTES + 2 * text + (body?.byteLength ?? 0);
}
