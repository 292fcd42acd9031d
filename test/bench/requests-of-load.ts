// The request that all variants send (wrk's script sends the same headers), and the records that are there before.

import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";

export const BODY = '{"amount":4200,"currency":"eur","source":"tok_visa","description":"order 1138"}';

export const HEADERS = {
  "content-type": "application/json",
  authorization: "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc",
  "user-agent": "wrk",
  accept: "*/*",
  host: "api.example.com",
  "content-length": String(BODY.length),
} as const;

const AT_ONCE = 16;

/** Sends one request for each of the keys `prefix0`, `prefix1` … */
export async function fill(url: string, path: string, prefix: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let next = 0;
  const sendAll = async (): Promise<void> => {
    while (next < count) {
      const key = `${prefix}${next}`;
      next += 1;
      const status = await post(agent, url + path, key);
      if (status !== 201) throw new Error(`${path}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
  agent.destroy();
}

/** Sends one request with this key; its status. */
export async function post(agent: Agent, url: string, key: string): Promise<number | undefined> {
  const outgoing = httpRequest(url, { method: "POST", headers: { ...HEADERS, "idempotency-key": key }, agent });
  outgoing.end(BODY);
  const [response] = await once(outgoing, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}
