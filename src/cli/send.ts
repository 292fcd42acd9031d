// Sends one request and keeps its answer as it came: raw bytes, raw headers, how long it took. Decodes nothing, follows
// nothing, retries nothing: what came over the wire is what `onceway try` compares.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

export type HeaderLine = readonly [name: string, value: string];

export interface OutgoingRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer | null;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  /** Until the whole answer was there. */
  readonly durationMs: number;
}

/** Rejects when no whole answer came within `timeoutMs`. */
export async function sendOnce({ method, url, headers, body }: OutgoingRequest, timeoutMs: number): Promise<Answer> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const lines = body === null ? headers : [...headers, ["Content-Length", String(body.length)]];
  // The host is in the URL already, unless a header names another.
  const host = headers.some(([name]) => name.toLowerCase() === "host") ? [] : ["Host", url.host];
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      // A connection of its own: one that the server has just closed would look like a lost request.
      { method, headers: [...host, ...lines.flat()], agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve({
            status: incoming.statusCode ?? 0,
            statusText: incoming.statusMessage ?? "",
            headers: pairs(incoming.rawHeaders),
            body: Buffer.concat(chunks),
            durationMs: performance.now() - startedAt,
          }),
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body ?? undefined);
  });
}

export function headerOf(answer: Pick<Answer, "headers">, name: string): string | null {
  return answer.headers.find(([line]) => line.toLowerCase() === name.toLowerCase())?.[1] ?? null;
}

/** Node lists names and values in turn. */
function pairs(rawHeaders: readonly string[]): readonly HeaderLine[] {
  return rawHeaders.flatMap((name, index): HeaderLine[] =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""]] : [],
  );
}
