// The gateway and the origin of the measurements of records.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Gateway, startWorkerd } from "../../support/gateway.ts";
import { PATH } from "./post.ts";

/** An origin that answers at once, in its own process. */
export async function withOrigin<T>(use: (url: string) => Promise<T>): Promise<T> {
  const source = fork(fileURLToPath(new URL("../stream-source.ts", import.meta.url)), [], { execArgv: [] });
  try {
    const [url]: unknown[] = await once(source, "message");
    return await use(String(url));
  } finally {
    source.disconnect();
  }
}

export function startGateway(
  originUrl: string,
  stateDir: string,
  shards: number,
  secrets: Readonly<Record<string, string>> = {},
): Promise<Gateway> {
  const settings = { origin: originUrl, shards, scope: ["none"] };
  return startWorkerd({ stateDir, vars: { IDEMPOTENCY: settings, ROUTES: [{ path: PATH }], ...secrets } });
}
