// The three ways to an origin that the differential tests compare: directly, through a Worker that only forwards, and through
// the gateway. Each has its own origin, so that identical bytes can be sent to all of them.

import { fileURLToPath } from "node:url";
import { type Gateway, type GatewayVars, makeStateDir, startWorkerd } from "../gateway.ts";
import { endpoint, type HeaderPair, openRequest } from "../http.ts";
import { removeGateway } from "./scene.ts";
import { startWireOrigin, type WireAnswer, type WireOrigin, type WireRequest } from "./wire-origin.ts";

/** One character for each byte throughout. */
export interface WireCase {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  /** With its framing, if it has one. */
  readonly body: string;
  readonly answer: WireAnswer;
}

/** What a client got; `null` where the connection ended without an answer. */
export interface WireResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  readonly complete: boolean;
  readonly interim: readonly number[];
}

export interface Seen {
  readonly requests: readonly WireRequest[];
  readonly response: WireResponse | null;
}

export interface Way {
  readonly url: string;
  send(one: WireCase): Promise<Seen>;
}

export interface Ways {
  readonly straight: Way;
  readonly plain: Way;
  readonly gateway: Way;
  close(): Promise<void>;
}

const FORWARD = fileURLToPath(new URL("../../bench/forward/index.ts", import.meta.url));

/** `entry`: of the gateway, `src/index.ts` by default. */
export async function startWays(routes: GatewayVars["ROUTES"], entry?: string): Promise<Ways> {
  const origins = [await startWireOrigin(), await startWireOrigin(), await startWireOrigin()] as const;
  const [first, second, third] = origins;
  const workers: Gateway[] = [];
  const worker = async (vars: GatewayVars, main?: string): Promise<Gateway> => {
    const started = await startWorkerd({
      stateDir: await makeStateDir(),
      vars,
      ...(main === undefined ? {} : { main }),
    });
    workers.push(started);
    return started;
  };
  const forward = await worker({ IDEMPOTENCY: {}, ROUTES: [], ORIGIN: second.url }, FORWARD);
  const gateway = await worker({ IDEMPOTENCY: { origin: third.url, shards: 2 }, ROUTES: routes }, entry);
  return {
    straight: wayOf(first.url, first),
    plain: wayOf(forward.url, second),
    gateway: wayOf(gateway.url, third),
    async close() {
      for (const one of workers) await removeGateway(one);
      for (const origin of origins) await origin.close();
    },
  };
}

/** Longer than any answer takes. */
const PATIENCE_MS = 5_000;

/** The end of a client: a close with the status 1000, masked with zeros. */
const CLOSE_FRAME = Buffer.from("\x88\x82\0\0\0\0\x03\xe8", "latin1");

function wayOf(url: string, origin: WireOrigin): Way {
  return {
    url,
    async send(one) {
      origin.answer(one.id, one.answer);
      const { method, target, headers } = one;
      const body = Buffer.from(one.body, "latin1");
      const opened = openRequest({
        ...endpoint(url),
        method,
        target,
        headers,
        body,
        bare: true,
        timeoutMs: PATIENCE_MS,
      });
      opened.head.then(
        ({ status }) => status === 101 && opened.write(CLOSE_FRAME),
        () => null,
      );
      const response = await opened.response.catch(() => null);
      const requests = origin.requests(one.id).map((request) => withoutPort(request, origin.port));
      return { requests, response: response === null ? null : { ...response, body: response.body.toString("latin1") } };
    },
  };
}

/** The origins differ in their ports alone. */
function withoutPort({ headers, ...rest }: WireRequest, port: number): WireRequest {
  return { ...rest, headers: headers.map(([name, value]) => [name, value.replace(`:${port}`, ":PORT")]) };
}
