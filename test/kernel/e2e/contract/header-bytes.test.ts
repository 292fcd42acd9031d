// Response headers beyond ASCII, byte by byte, from an origin that writes them raw. Unprotected answers pass unchanged. For a
// protected answer the runtime shows header values as text, so UTF-8 keeps its bytes and other encodings do not; in both cases
// a replay equals the first answer.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, removeGateway, startGateway } from "../../../support/e2e/scene.ts";

let origin: Server;
let gateway: Gateway;
/** What the origin sends as a header's value, one character for each byte. */
let value = "";
beforeAll(async () => {
  origin = createServer((socket) => {
    socket.on("error", () => undefined);
    const head = () =>
      `HTTP/1.1 201 ${value}\r\nX-Answer: ${value}\r\nLocation: /${value}\r\nContent-Length: 2\r\n\r\nok`;
    socket.once("data", () => socket.end(Buffer.from(head(), "latin1")));
  });
  origin.listen(0, "127.0.0.1");
  await once(origin, "listening");
  const address = origin.address();
  const port = typeof address === "object" ? address?.port : null;
  gateway = await startGateway(`http://127.0.0.1:${port}`, { shards: 1 }, [{ path: "/protected" }]);
});
afterAll(async () => {
  await removeGateway(gateway);
  origin.close();
});

/** U+FFFD, as its bytes. */
const LOST = "\xef\xbf\xbd";

describe("header values of an origin", () => {
  it.each([
    { name: "UTF-8", sent: "caf\xc3\xa9 \xe2\x82\xac", kept: "caf\xc3\xa9 \xe2\x82\xac" },
    { name: "UTF-8 beyond 16 bits", sent: "\xf0\x9f\x98\x80", kept: "\xf0\x9f\x98\x80" },
    { name: "Latin-1", sent: "caf\xe9", kept: `caf${LOST}` },
    { name: "half a character", sent: "caf\xc3", kept: `caf${LOST}` },
    { name: "both mixed", sent: "\xc3\xa9 \xe9", kept: `\xc3\xa9 ${LOST}` },
  ])("of $name: the replay is the first answer; unprotected, they pass as they came", async ({ sent, kept }) => {
    value = sent;
    const message = { path: "/protected", key: freshKey() };
    const client = clientOf(gateway.url);
    const first = await client.send(message);
    expect([first.status, headerValue(first, "x-answer"), headerValue(first, "location")]).toEqual([
      201,
      kept,
      `/${kept}`,
    ]);
    expectReplay(await client.send(message), first);
    const passed = await client.send({ ...message, path: "/open" });
    expect([headerValue(passed, "x-answer"), headerValue(passed, "location")]).toEqual([sent, `/${sent}`]);
  });
});
