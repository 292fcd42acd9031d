// A minimal WebSocket server for pass-through tests: RFC 6455's handshake, echo of text frames, answer to a close frame.
// Frames must be unfragmented and shorter than 64 KiB. The handshake has a header that no client of the gateway may see.

import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** RFC 6455, section 1.3. */
const HANDSHAKE_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TEXT = 0x1;
const CLOSE = 0x8;

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly frameBytes: number;
}

export function echoWebSocket(request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
  const key = request.headers["sec-websocket-key"];
  if (key === undefined) {
    socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return;
  }
  const accept = createHash("sha1")
    .update(key + HANDSHAKE_GUID)
    .digest("base64");
  const upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  socket.write(`${upgraded}Sec-WebSocket-Accept: ${accept}\r\nOnceway-Event: []\r\n\r\n`);

  let pending = firstBytes;
  const drain = (): void => {
    for (let frame = readFrame(pending); frame !== null; frame = readFrame(pending)) {
      pending = pending.subarray(frame.frameBytes);
      if (frame.opcode === TEXT) socket.write(writeFrame(TEXT, frame.payload));
      if (frame.opcode === CLOSE) socket.end(writeFrame(CLOSE, frame.payload));
    }
  };
  socket.on("data", (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    drain();
  });
  socket.on("error", () => socket.destroy());
  drain();
}

/** Null: the frame is incomplete. */
function readFrame(bytes: Buffer): Frame | null {
  if (bytes.length < 2) return null;
  const opcode = bytes.readUInt8(0) & 0x0f;
  const masked = (bytes.readUInt8(1) & 0x80) !== 0;
  let length = bytes.readUInt8(1) & 0x7f;
  let at = 2;
  if (length === 126) {
    if (bytes.length < 4) return null;
    length = bytes.readUInt16BE(2);
    at = 4;
  }
  const maskBytes = masked ? 4 : 0;
  if (bytes.length < at + maskBytes + length) return null;
  const mask = bytes.subarray(at, at + maskBytes);
  const payload = Buffer.from(bytes.subarray(at + maskBytes, at + maskBytes + length));
  if (masked) for (const [index, byte] of payload.entries()) payload[index] = byte ^ mask.readUInt8(index % 4);
  return { opcode, payload, frameBytes: at + maskBytes + length };
}

/** A server's frames are not masked. */
function writeFrame(opcode: number, payload: Buffer): Buffer {
  if (payload.length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);
  const head = Buffer.from([0x80 | opcode, 126, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
