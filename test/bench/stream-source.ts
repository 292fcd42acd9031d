// The origin of the stream measurements, in its own process. `/bytes?size=N` answers with N bytes of known length, as fast as
// they are read, with `&after=MS` only after that time; `/events` sends an event at once and another one later. It reads every
// request to its end.

import { createServer } from "node:http";
import { pipeline, Readable } from "node:stream";
import { listen } from "../support/origin-server.ts";

const PIECE = Buffer.alloc(64 * 1024, "0123456789abcdef");
const LATER_MS = 20;

function* pieces(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= PIECE.length) yield PIECE.subarray(0, left);
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://origin");
  request.resume().on("end", () => {
    if (url.pathname === "/bytes") {
      const size = Number(url.searchParams.get("size"));
      setTimeout(
        () => {
          response.writeHead(200, { "content-type": "application/octet-stream", "content-length": size });
          pipeline(Readable.from(pieces(size)), response, () => undefined);
        },
        Number(url.searchParams.get("after") ?? 0),
      );
    } else if (url.pathname === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("id: 1\ndata: first\n\n");
      setTimeout(() => response.end("id: 2\ndata: second\n\n"), LATER_MS);
    } else {
      response.end();
    }
  });
});
server.on("connection", (socket) => socket.setNoDelay(true));
const { port } = await listen(server, 0);
process.on("disconnect", () => process.exit(0));
process.send?.(`http://127.0.0.1:${port}`);
