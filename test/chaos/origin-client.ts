// The run's side of its origin: forks the process, passes its reports on, and tells it what to do.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { HistoryEvent } from "./history.ts";
import type { FromOrigin, ToOrigin } from "./origin-messages.ts";

export interface ChaosOrigin {
  readonly url: string;
  /** Resolves when it is done. */
  tell(message: ToOrigin): Promise<void>;
  /** Everything that it has seen is reported when this resolves. */
  close(): Promise<void>;
}

export async function startChaosOrigin(port: number, report: (event: HistoryEvent) => void): Promise<ChaosOrigin> {
  // No inherited flags: a test runner's loader has no place in the origin.
  const child = fork(fileURLToPath(new URL("origin.ts", import.meta.url)), [String(port)], { execArgv: [] });
  const waiting: { readonly message: ToOrigin; readonly resolve: () => void }[] = [];
  const ready = Promise.withResolvers<void>();
  child.once("error", ready.reject);
  child.once("exit", (code) => ready.reject(new Error(`the origin ended with code ${code} before it was ready`)));
  child.on("message", (message: FromOrigin) => {
    switch (message.type) {
      case "ready":
        ready.resolve();
        return;
      case "event":
        report(message.event);
        return;
      case "done": {
        const at = waiting.findIndex((one) => one.message === message.message);
        if (at >= 0) waiting.splice(at, 1)[0]?.resolve();
      }
    }
  });
  await ready.promise;

  const tell = (message: ToOrigin): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ message, resolve });
      child.send(message);
    });
  return {
    url: `http://127.0.0.1:${port}`,
    tell,
    async close() {
      await tell("finish");
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}
