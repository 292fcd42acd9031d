// The origin of the benchmark, in its own process: one constant answer for every request, from bare sockets, so that it is never
// the bottleneck (the run also measures it alone). A path that begins with `/held` is never answered, one with `/slow` after 2 minutes,
// one with `/late` after 60 ms.

import { createServer, type Socket } from "node:net";

const BODY = JSON.stringify({
  id: "pay_3f9a1c",
  amount: 4200,
  currency: "eur",
  status: "succeeded",
  created: 1_790_000_000,
});
const ANSWER = Buffer.from(
  `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n` +
    `Request-Id: req_7d1f\r\nCache-Control: no-store\r\n\r\n${BODY}`,
);
const SLOW_MS = 120_000;
const LATE_MS = 60;
const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

/** How many bytes of `text` the first request takes; `null` while it is not all there. */
function firstRequest(text: string): number | null {
  const end = text.indexOf(HEAD_END);
  if (end < 0) return null;
  const bodyAt = end + HEAD_END.length;
  const head = text.slice(0, end).toLowerCase();
  const length = /\ncontent-length: *(\d+)/.exec(head);
  if (length !== null) return text.length < bodyAt + Number(length[1]) ? null : bodyAt + Number(length[1]);
  if (!head.includes("\ntransfer-encoding: chunked")) return bodyAt;
  const last = text.indexOf(LAST_CHUNK, bodyAt);
  return last < 0 ? null : last + LAST_CHUNK.length;
}

function serve(socket: Socket): void {
  let text = "";
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  socket.on("data", (more: string) => {
    text += more;
    for (let taken = firstRequest(text); taken !== null; taken = firstRequest(text)) {
      const [path = ""] = text.slice(text.indexOf(" ") + 1).split(" ", 1);
      text = text.slice(taken);
      if (path.startsWith("/slow")) setTimeout(() => socket.write(ANSWER), SLOW_MS);
      else if (path.startsWith("/late")) setTimeout(() => socket.write(ANSWER), LATE_MS);
      else if (!path.startsWith("/held")) socket.write(ANSWER);
    }
  });
}

const server = createServer(serve);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.(`http://127.0.0.1:${address.port}`);
});
process.on("disconnect", () => process.exit(0));
