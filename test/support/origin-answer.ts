// Writes one scripted answer, or breaks the connection where the script says so. Apart from the framing (`Content-Length` or
// chunks) and `Connection`, it adds no header that the script does not have.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Behaviour, Hold } from "./origin-behaviour.ts";
import { generateBytes } from "./origin-bytes.ts";

interface Piece {
  readonly bytes: Buffer;
  readonly pauseMs: number;
}

/** `hold` is given if the behaviour holds the headers or the body. */
export async function answer(
  behaviour: Behaviour,
  response: ServerResponse,
  socket: Socket,
  hold: Hold | null,
): Promise<void> {
  if (behaviour.drop === "after-read") return void socket.resetAndDestroy();
  if (behaviour.hold === true && hold !== null) await hold.released;
  if (behaviour.delayMs !== undefined) await pause(behaviour.delayMs);
  if (behaviour.drop === "after-effect") return void socket.resetAndDestroy();

  writeHead(behaviour, response);
  const holdAt = behaviour.holdBody === true ? 0 : behaviour.holdBody;
  let index = 0;
  for (const piece of sentPieces(behaviour)) {
    if (index === holdAt && hold !== null) await hold.released;
    if (piece.pauseMs > 0) await pause(piece.pauseMs);
    await write(response, piece.bytes);
    index += 1;
  }
  if (typeof holdAt === "number" && holdAt >= index && hold !== null) await hold.released;
  // Closes the connection without a reset, so that the bytes before the cut reach the other side.
  if (behaviour.drop === "mid-body") socket.destroySoon();
  else response.end();
}

function sentPieces(behaviour: Behaviour): Iterable<Piece> {
  if (behaviour.generated !== undefined) return generatedPieces(behaviour.generated);
  const pieces = bodyPieces(behaviour);
  return behaviour.drop === "mid-body" ? cutShort(behaviour, pieces) : pieces;
}

/** Generates one piece at a time, because the body may be larger than this process should hold. */
function* generatedPieces({ seed, bytes, sentBytes = bytes }: NonNullable<Behaviour["generated"]>): Generator<Piece> {
  let left = Math.min(sentBytes, bytes);
  for (const piece of generateBytes(seed, bytes)) {
    if (left <= 0) return;
    yield { bytes: piece.subarray(0, left), pauseMs: 0 };
    left -= piece.length;
  }
}

function bodyPieces(behaviour: Behaviour): Piece[] {
  if (behaviour.chunks === undefined) {
    const bytes = Buffer.from(
      behaviour.bodyBase64 ?? behaviour.body ?? "",
      behaviour.bodyBase64 === undefined ? "utf8" : "base64",
    );
    return bytes.length === 0 ? [] : [{ bytes, pauseMs: 0 }];
  }
  return behaviour.chunks.map((chunk) => {
    if (typeof chunk === "string") return { bytes: Buffer.from(chunk), pauseMs: 0 };
    const bytes = chunk.base64 === undefined ? Buffer.from(chunk.text ?? "") : Buffer.from(chunk.base64, "base64");
    return { bytes, pauseMs: chunk.pauseMs ?? 0 };
  });
}

function isChunked(behaviour: Behaviour): boolean {
  return behaviour.chunked ?? behaviour.chunks !== undefined;
}

function bodyBytes(behaviour: Behaviour): number {
  return behaviour.generated?.bytes ?? bodyPieces(behaviour).reduce((sum, piece) => sum + piece.bytes.length, 0);
}

function writeHead(behaviour: Behaviour, response: ServerResponse): void {
  const status = behaviour.status ?? 200;
  const headers = (behaviour.headers ?? []).flat();
  const framed = (behaviour.headers ?? []).some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const bodiless = status === 204 || status === 304;
  if (!framed && !bodiless && !isChunked(behaviour)) {
    const total = bodyBytes(behaviour);
    // An answer that is cut short must announce at least one byte that does not come.
    headers.push("Content-Length", String(behaviour.drop === "mid-body" ? Math.max(1, total) : total));
  }
  response.sendDate = false;
  if (behaviour.statusText === undefined) response.writeHead(status, headers);
  else response.writeHead(status, behaviour.statusText, headers);
  response.flushHeaders();
}

function cutShort(behaviour: Behaviour, pieces: readonly Piece[]): readonly Piece[] {
  const last = pieces.at(-1);
  if (last === undefined || isChunked(behaviour)) return pieces;
  return [...pieces.slice(0, -1), { ...last, bytes: last.bytes.subarray(0, -1) }];
}

/** Resolves when the bytes are handed to the system or the connection is gone. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length === 0 || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.write(bytes, () => resolve());
  });
}
