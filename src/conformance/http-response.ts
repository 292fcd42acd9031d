// An incremental parser for HTTP/1.1 responses. It keeps what other parsers normalise: the order, case and repeats of headers,
// and whether the whole body arrived. Pure: bytes in, state out.

export type HeaderPair = readonly [name: string, value: string];

export interface RawResponse {
  readonly status: number;
  readonly statusText: string;
  /** Wire order and case. */
  readonly headers: readonly HeaderPair[];
  /** Chunked framing is removed; a `Content-Encoding` is not decoded. */
  readonly body: Buffer;
  /** False: the connection ended in the middle of the body. */
  readonly complete: boolean;
  /** Statuses of the interim (1xx) responses before it. */
  readonly interim: readonly number[];
}

export type RawHead = Pick<RawResponse, "status" | "statusText" | "headers">;

export interface ResponseParser {
  push(bytes: Buffer): void;
  /** The connection has ended, which completes a body without other framing. */
  close(): void;
  /** Null until the headers are complete. */
  head(): RawHead | null;
  /** True once the whole response has arrived. */
  isDone(): boolean;
  /** What has arrived so far; null before the head is complete. */
  response(): RawResponse | null;
}

/** Looks up a header. Several values are joined as RFC 9110, section 5.2, allows. */
export function headerValue(message: { readonly headers: readonly HeaderPair[] }, name: string): string | null {
  const values = message.headers.filter(([candidate]) => candidate.toLowerCase() === name.toLowerCase());
  return values.length === 0 ? null : values.map(([, value]) => value).join(", ");
}

type Phase =
  | { readonly at: "head" | "chunk-size" | "chunk-end" | "trailer" | "until-close" | "done" }
  | { readonly at: "bytes" | "chunk"; readonly left: number };

export function createResponseParser(method: string): ResponseParser {
  return new Parser(method);
}

class Parser implements ResponseParser {
  readonly #method: string;
  #pending: Buffer = Buffer.alloc(0);
  #phase: Phase = { at: "head" };
  #head: RawHead | null = null;
  readonly #interim: number[] = [];
  readonly #body: Buffer[] = [];

  constructor(method: string) {
    this.#method = method;
  }

  push(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    while (this.#advance());
  }

  close(): void {
    if (this.#phase.at === "until-close") this.#phase = { at: "done" };
  }

  head(): RawHead | null {
    return this.#head;
  }

  isDone(): boolean {
    return this.#phase.at === "done";
  }

  response(): RawResponse | null {
    if (this.#head === null) return null;
    return { ...this.#head, body: Buffer.concat(this.#body), complete: this.isDone(), interim: this.#interim };
  }

  #takeLine(): string | null {
    const end = this.#pending.indexOf("\r\n");
    if (end < 0) return null;
    const line = this.#pending.toString("latin1", 0, end);
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }

  #takeHead(): boolean {
    const end = this.#pending.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const parsed = parseHead(this.#pending.toString("latin1", 0, end));
    this.#pending = this.#pending.subarray(end + 4);
    if (parsed.status >= 100 && parsed.status < 200 && parsed.status !== 101) {
      this.#interim.push(parsed.status);
      return true;
    }
    this.#head = parsed;
    this.#phase = framing(this.#method, parsed);
    return true;
  }

  #takeBytes(left: number, whole: Phase, unfinished: "bytes" | "chunk"): boolean {
    if (left > 0 && this.#pending.length === 0) return false;
    const taken = this.#pending.subarray(0, left);
    this.#body.push(taken);
    this.#pending = this.#pending.subarray(taken.length);
    this.#phase = taken.length === left ? whole : { at: unfinished, left: left - taken.length };
    return true;
  }

  /** False: more bytes are needed, or the body is done. */
  #advance(): boolean {
    const phase = this.#phase;
    switch (phase.at) {
      case "head":
        return this.#takeHead();
      case "bytes":
        return this.#takeBytes(phase.left, { at: "done" }, "bytes");
      case "chunk":
        return this.#takeBytes(phase.left, { at: "chunk-end" }, "chunk");
      case "chunk-size": {
        const line = this.#takeLine();
        if (line === null) return false;
        const size = Number.parseInt(line, 16);
        if (!/^[0-9a-f]+\s*(;|$)/i.test(line)) throw new Error(`not a chunk size: ${JSON.stringify(line)}`);
        this.#phase = size === 0 ? { at: "trailer" } : { at: "chunk", left: size };
        return true;
      }
      case "chunk-end": {
        const line = this.#takeLine();
        if (line === null) return false;
        if (line !== "") throw new Error(`a chunk is longer than its size: ${JSON.stringify(line)}`);
        this.#phase = { at: "chunk-size" };
        return true;
      }
      case "trailer": {
        const line = this.#takeLine();
        if (line === "") this.#phase = { at: "done" };
        return line !== null;
      }
      case "until-close":
        this.#body.push(this.#pending);
        this.#pending = Buffer.alloc(0);
        return false;
      case "done":
        return false;
    }
  }
}

function parseHead(text: string): RawHead {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(statusLine);
  if (match === null) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
  const headers = lines.map((line): HeaderPair => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { status: Number(match[1]), statusText: match[2] ?? "", headers };
}

/** RFC 9112, section 6.3. */
function framing(method: string, head: RawHead): Phase {
  if (method === "HEAD" || head.status === 204 || head.status === 304) return { at: "done" };
  if (/(^|,)\s*chunked\s*$/i.test(headerValue(head, "transfer-encoding") ?? "")) return { at: "chunk-size" };
  const length = headerValue(head, "content-length");
  if (length === null) return { at: "until-close" };
  return Number(length) === 0 ? { at: "done" } : { at: "bytes", left: Number(length) };
}
