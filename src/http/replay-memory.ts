// Replays that this isolate has given lately, so that a client which asks again and again costs no call to a shard. A
// completed record never changes until it expires (G2), so neither does its replay; what an operator erases is
// forgotten here within `MOST_AGE_MS`.

import { ECHO_HEADER, EXPIRES_HEADER, type HeaderPairs, headersOf, REPLAYED_HEADER, SMALL_HEADER } from "./headers.ts";

/** What a replay is a replay of. */
export interface Asked {
  readonly recordId: string;
  readonly fingerprint: string;
  /** The key as this client sent it. */
  readonly echo: string;
}

interface Remembered {
  readonly fingerprint: string;
  readonly until: number;
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  /** As the shard said it, an HTTP date. */
  readonly expires: string;
  readonly body: Uint8Array | null;
}

/** Which bodies are small (a larger one costs more memory than its call). */
export const SMALL_BODY_BYTES = 8192;

/** What is put on anew, as the shard does it, or not at all. */
const OWN = new Set(
  [SMALL_HEADER, ECHO_HEADER, EXPIRES_HEADER, REPLAYED_HEADER, "content-length"].map((name) => name.toLowerCase()),
);

/** About as many bytes as all may take together, of the isolate's 128 MB: each counts its body and something for the rest. */
const MOST_BYTES = 8 << 20;
const OVERHEAD_BYTES = 512;

const MOST_AGE_MS = 30_000;

export class ReplayMemory {
  /** The one that has been used last stands last. */
  readonly #replays = new Map<string, Remembered>();
  #bytes = 0;

  /** The same replay again; `null` when it is not known here. */
  find({ recordId, fingerprint, echo }: Asked, now: number): Response | null {
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

  /** Keeps what a shard has answered, if that is a small replay, and gives it on. */
  async keep(response: Response, { recordId, fingerprint }: Asked, now: number): Promise<Response> {
    if (!response.headers.has(SMALL_HEADER)) return response;
    const { status, statusText } = response;
    const headers = [...response.headers]
      .filter(([name]) => !OWN.has(name))
      // The runtime writes the first line of a known name in its own case, and repeated ones as they are given.
      .map(([name, value]): [string, string] => [name === "set-cookie" ? "Set-Cookie" : name, value]);
    const body = response.body === null ? null : new Uint8Array(await response.arrayBuffer());
    const echo = response.headers.get(ECHO_HEADER) ?? "";
    const expires = response.headers.get(EXPIRES_HEADER) ?? "";
    const until = Math.min(Date.parse(expires), now + MOST_AGE_MS);
    const remembered = { fingerprint, until, status, statusText, headers, expires, body };
    this.#remember(recordId, remembered);
    return answer(remembered, echo);
  }

  #remember(recordId: string, remembered: Remembered): void {
    const before = this.#replays.get(recordId);
    if (before !== undefined) this.#bytes -= sizeOf(before);
    this.#replays.delete(recordId);
    this.#replays.set(recordId, remembered);
    this.#bytes += sizeOf(remembered);
    for (const [id, oldest] of this.#replays) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#replays.delete(id);
      this.#bytes -= sizeOf(oldest);
    }
  }
}

function answer({ status, statusText, headers, expires, body }: Remembered, echo: string): Response {
  const own: HeaderPairs = [
    [ECHO_HEADER, echo],
    [EXPIRES_HEADER, expires],
    [REPLAYED_HEADER, "true"],
  ];
  return new Response(body, { status, statusText, headers: headersOf([...headers, ...own]), encodeBody: "manual" });
}

function sizeOf({ headers, body }: Remembered): number {
  const text = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return OVERHEAD_BYTES + 2 * text + (body?.byteLength ?? 0);
}
