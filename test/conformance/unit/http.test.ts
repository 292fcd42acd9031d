// The suite's own client where nothing answers as HTTP over TLS: it has to say so, and to end the connection, without an error of its own.

import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { openRequest, rawRequest } from "../../../src/conformance/http.ts";
import { unreachedTarget } from "../../../src/conformance/unreachable.ts";

const servers: (Server | HttpServer)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server | HttpServer): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const REQUEST = { host: "127.0.0.1", method: "POST", target: "/", timeoutMs: 5_000 };

async function reasonOf(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => "it was answered",
    (error: unknown) => unreachedTarget(error).reason,
  );
}

describe("a request over TLS", () => {
  it("ends with its client, who leaves before the answer", async () => {
    let left: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (left = resolve));
    let came: () => void = () => undefined;
    const here = new Promise<void>((resolve) => (came = resolve));
    const port = await listening(
      createServer((socket) => {
        socket.resume();
        socket.on("error", () => undefined);
        socket.on("close", left);
        came();
      }),
    );
    const request = openRequest({ ...REQUEST, port, isSecure: true });
    await here;
    request.reset();
    await gone;
    await expect(request.response).rejects.toThrow("the connection ended before");
  });

  it("says that a server speaks no TLS, in one line without OpenSSL's", async () => {
    const port = await listening(createHttpServer((_request, response) => response.end("plain")));
    const reason = await reasonOf(rawRequest({ ...REQUEST, port, isSecure: true }));
    expect(reason).toMatch(/^[A-Z_]+: it speaks no TLS there: write http:\/\//);
  });

  it.each([true, false])("says that nothing listens (TLS: %s)", async (isSecure) => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await reasonOf(rawRequest({ ...REQUEST, port, isSecure }))).toContain("nothing listens there");
  });
});

it("a name that no host has is told as such", () => {
  const error = Object.assign(new Error("getaddrinfo ENOTFOUND nobody.invalid"), { code: "ENOTFOUND" });
  const seen = unreachedTarget(new TypeError("fetch failed", { cause: error }));
  expect(seen).toEqual({
    reason: "getaddrinfo ENOTFOUND nobody.invalid: there is no host of that name: check the URL",
    isUnsent: true,
  });
});
