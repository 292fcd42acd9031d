// The suite's own origin: the application behind the gateway under test. It counts calls, and answers each as its case says. A call
// belongs to the case whose token is anywhere in it, so the server under test need not pass on any header.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { CaseBehaviour, ObservedCall, CallBehaviour } from "./case.ts";
import { promiseWithResolvers } from "./http.ts";
import type { HeaderPair } from "./http-response.ts";
import { makePlatforms, type SigningPlatforms } from "./platforms.ts";

export interface TestOrigin {
  readonly port: number;
  /** Where it listens. */
  readonly url: string;
  readonly platforms: SigningPlatforms;
  expect(token: string, behaviour: CaseBehaviour): CaseExpectation;
  /** Refuses connections, and breaks those that are open. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** The calls of one case. */
export interface CaseExpectation {
  /** Those that change something: a server may ask about an operation with GET. */
  readonly calls: readonly ObservedCall[];
  /** Resolves with the first call. */
  readonly called: Promise<void>;
  release(): void;
}

interface Expected extends CaseExpectation {
  readonly calls: ObservedCall[];
  readonly behaviour: CaseBehaviour;
  readonly released: Promise<void>;
  readonly isCalled: () => void;
}

/** Rejects if the port is taken. */
export async function startOrigin(host: string, wantedPort: number): Promise<TestOrigin> {
  const cases = new Map<string, Expected>();
  const platforms = makePlatforms();
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const document = platforms.documents.get(request.url ?? "");
    if (document !== undefined) {
      response.writeHead(200, { "Content-Type": "application/json" }).end(document);
      return;
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    request.on("end", () => void meet(request, Buffer.concat(pieces), response, cases));
  };
  let server = await listen(answer, host, wantedPort);
  const port = portOf(server);
  const down = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    platforms,
    expect(token, behaviour) {
      const [released, first] = [promiseWithResolvers<void>(), promiseWithResolvers<void>()];
      const expected: Expected = {
        calls: [],
        behaviour,
        called: first.promise,
        isCalled: () => first.resolve(),
        released: released.promise,
        release: () => released.resolve(),
      };
      cases.set(token, expected);
      return expected;
    },
    down,
    async up() {
      server = await listen(answer, host, port);
    },
    close: down,
  };
}

function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  host: string,
  port: number,
): Promise<Server> {
  const server = createServer(answer);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the origin has no port");
  return address.port;
}

async function meet(
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  cases: ReadonlyMap<string, Expected>,
): Promise<void> {
  const { method = "GET", url = "/", rawHeaders } = request;
  const text = `${url}\n${rawHeaders.join("\n")}\n${body.toString("latin1")}`;
  const expected = [...cases].find(([token]) => text.includes(token))?.[1];
  if (expected === undefined || method === "GET" || method === "HEAD") {
    response.writeHead(404).end();
    return;
  }
  const headers = pairsOf(rawHeaders);
  const number = expected.calls.push({ method, target: url, headers, body });
  expected.isCalled();
  const behaviour = expected.behaviour[number - 1] ?? expected.behaviour.at(-1) ?? {};
  await act(behaviour, number, response, expected.released);
}

async function act(
  { status = 201, headers = [], pieces, hold, drop }: CallBehaviour,
  number: number,
  response: ServerResponse,
  released: Promise<void>,
): Promise<void> {
  if (drop === "head") {
    response.socket?.resetAndDestroy();
    return;
  }
  if (hold === "head") await released;
  const [first = "", ...rest] = pieces ?? [
    JSON.stringify({ call: number, id: `${Date.now().toString(36)}-${number}` }),
  ];
  const isStreamed = rest.length > 0;
  const hasBody = status !== 204 && status !== 304;
  const length = Buffer.byteLength(first, "latin1");
  const framing: readonly HeaderPair[] = isStreamed || !hasBody ? [] : [["Content-Length", String(length)]];
  const hasType = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type: readonly HeaderPair[] = hasType || !hasBody ? [] : [["Content-Type", "application/json"]];
  response.writeHead(status, [...type, ...framing, ...headers].flat());
  if (!isStreamed) {
    response.end(hasBody ? Buffer.from(first, "latin1") : undefined);
    return;
  }
  await new Promise<void>((resolve) => response.write(Buffer.from(first, "latin1"), () => resolve()));
  if (drop === "body") {
    response.socket?.resetAndDestroy();
    return;
  }
  if (hold === "body") await released;
  for (const piece of rest) response.write(Buffer.from(piece, "latin1"));
  response.end();
}

function pairsOf(raw: readonly string[]): readonly HeaderPair[] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? "", raw[2 * at + 1] ?? ""]);
}
