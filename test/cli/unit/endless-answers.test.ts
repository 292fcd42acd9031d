// What answers at a URL may never end, or may try to control the terminal.

import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchPolicy } from "../../../src/cli/gateway-marks.ts";
import { alignColumns } from "../../../src/cli/look.ts";
import { operatorClient } from "../../../src/cli/operator-client.ts";
import { sendHttp } from "../../../src/cli/send.ts";
import { rawRequest } from "../../../src/conformance/http.ts";

let server: Server;
let port = 0;
/** How many bytes have been sent. */
let sent = 0;

beforeAll(async () => {
  const piece = Buffer.alloc(1 << 20, " ");
  server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    const more = (): void => {
      while (!response.destroyed && response.write(piece)) sent += piece.length;
      sent += piece.length;
    };
    response.on("drain", more);
    more();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** How many MiB were sent until it settled. */
async function takenBy(work: Promise<unknown>): Promise<number> {
  sent = 0;
  await work.catch(() => undefined);
  return sent >> 20;
}

describe("an answer that never ends", () => {
  it("is not read beyond a limit by any command", async () => {
    const url = new URL(`http://127.0.0.1:${port}`);
    const client = operatorClient(url, "token");
    expect(await takenBy(client.layouts())).toBeLessThan(80);
    await expect(client.layouts()).rejects.toThrow("more than 32 MiB");
    expect(await takenBy(fetchPolicy(url, 20_000))).toBeLessThan(80);
    const request = { method: "GET", url, headers: [], body: null };
    expect(await takenBy(sendHttp(request, 20_000))).toBeLessThan(160);
    expect(await takenBy(rawRequest({ host: "127.0.0.1", port, method: "GET", target: "/" }))).toBeLessThan(160);
  });
});

it("no cell of a table controls the terminal, whichever column it is in", () => {
  const lines = alignColumns([
    ["A", "B"],
    ["\u001b[2Jx", "y\u202e\nz"],
  ]);
  expect(lines).toEqual(["A           B", "\\u{1b}[2Jx  y\\u{202e}\\u{a}z"]);
});
