// What workerd does without a client: at SIGTERM it waits for its clients and for nothing else, so that an attempt of an accepted
// request, or one whose client has left, would be cut off as by a crash. So whoever is about to end it first asks its isolate to begin nothing more
// of that kind, over a socket that only this user can open. workerd waits for the one who asks, too, and the answer ends with the last attempt.

import { mkdtempSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type ObjectBinding, quoteText } from "./workerd-config.ts";

/** The program's main module: the Worker's own exports, and the entrypoint for this socket, which no client's request reaches. */
export const DRAIN_MODULE = "drain.js";
const ENTRYPOINT = "OncewayDrain";
export const DRAIN_SOCKET = `(name = "drain", http = (), service = (name = "gateway", entrypoint = ${quoteText(ENTRYPOINT)}))`;

export function writeDrainModule(modulesDir: string, objects: readonly ObjectBinding[]): void {
  const className = objects.find(({ name }) => name === "KEY_SHARD")?.className;
  if (className === undefined) throw new Error("the configuration has no Durable Object binding KEY_SHARD");
  const text = `import { WorkerEntrypoint } from "cloudflare:workers";
import { ${className} } from "./index.js";

export * from "./index.js";
export { default } from "./index.js";

export class ${ENTRYPOINT} extends WorkerEntrypoint {
  fetch() {
    return ${className}.endIsolate();
  }
}
`;
  writeFileSync(join(modulesDir, DRAIN_MODULE), text);
}

/** In the folder for temporary files, because the path of a socket may have some hundred characters at most. */
export function makeDrainFolder(): string {
  return mkdtempSync(join(tmpdir(), "onceway-"));
}

/** The argument of workerd that says where it listens. */
export function drainAddress(folder: string): string {
  return `--socket-addr=drain=unix:${socketIn(folder)}`;
}

/**
 * Asks workerd's isolate to end its work. Calls `begun` when it has heard of it, or cannot hear. Resolves with whether all its work had ended;
 * never rejects.
 */
export function endIsolate(folder: string, begun: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    const failed = (): void => {
      begun();
      resolve(false);
    };
    const asked = request({ socketPath: socketIn(folder), method: "POST", agent: false }, (response) => {
      begun();
      response.once("error", failed).once("close", () => resolve(response.complete && response.statusCode === 200));
      response.resume();
    });
    asked.once("error", failed).end();
  });
}

function socketIn(folder: string): string {
  return join(folder, "drain");
}
