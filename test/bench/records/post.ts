// One request of the measurements of records: the same for every key, so that every record is a copy of any other.

import { Agent, request as httpRequest } from "node:http";

export const PATH = "/act";
export const BODY = '{"amount":1}';

const agent = new Agent({ keepAlive: true });

export interface Posted {
  readonly ms: number;
  readonly isReplay: boolean;
}

/** Rejects where the answer is not a 200. */
export function post(url: string, key: string): Promise<Posted> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url + PATH, {
      method: "POST",
      headers: { "idempotency-key": key, "content-type": "application/json", "content-length": BODY.length },
      agent,
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode !== 200) reject(new Error(`${key}: ${response.statusCode}`));
        else {
          const isReplay = response.headers["idempotent-replayed"] === "true";
          resolve({ ms: performance.now() - begun, isReplay });
        }
      });
    });
    outgoing.end(BODY);
  });
}

/** Lets the process end. */
export function closeConnections(): void {
  agent.destroy();
}
