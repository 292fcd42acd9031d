// Sends one request and keeps its answer as it came: raw bytes, raw headers, duration. Does not decode, follow redirects or
// retry: `onceway try` compares what came over the wire.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

export type HeaderLine = readonly [name: string, value: string];

export interface OutgoingRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer | null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  /** Until the full answer was received. */
  readonly durationMs: number;
}

/** Answers are compared in memory. */
const MAX_ANSWER_BYTES = 64 << 20;

/** Rejects when the full answer takes longer than `timeoutMs`, or has more than 64 MiB. */
export async function sendHttp(
  { method, url, headers, body }: OutgoingRequest,
  timeoutMs: number,
): Promise<HttpAnswer> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const lines = body === null ? headers : [...headers, ["Content-Length", String(body.length)]];
  // The URL names the host, unless a header names another.
  const host = headers.some(([name]) => name.toLowerCase() === "host") ? [] : ["Host", url.host];
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      // A new connection: a kept-alive one that the server has just closed would look like a lost request.
      { method, headers: [...host, ...lines.flat()], agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (incoming) => {
        const chunks: Buffer[] = [];
        let size = 0;
        incoming.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) incoming.destroy(new Error(`more than ${MAX_ANSWER_BYTES >> 20} MiB came`));
        });
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

export function headerOf(answer: Pick<HttpAnswer, "headers">, name: string): string | null {
  return answer.headers.find(([line]) => line.toLowerCase() === name.toLowerCase())?.[1] ?? null;
}

/** Node lists names and values alternately. */
function pairs(rawHeaders: readonly string[]): readonly HeaderLine[] {
  return rawHeaders.flatMap((name, index): HeaderLine[] =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""]] : [],
  );
}
