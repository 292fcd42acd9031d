// The run's side of the origin: forks the process, forwards its reports, and sends it commands.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Arrival, Effect, HistoryEvent, Outage, Question } from "./history.ts";

/** `refuse`: stop listening and reset what is open. `finish`: report whatever is still open. */
export type ToOrigin = "refuse" | "listen" | "calm" | "finish";

/** The channel keeps the order, so a `done` comes after every event that was reported before it. */
export type FromOrigin =
  | { readonly type: "ready" }
  | { readonly type: "done"; readonly message: ToOrigin }
  | { readonly type: "event"; readonly event: Arrival | Effect | Outage | Question };

export interface ChaosOrigin {
  readonly url: string;
  /** Resolves when the origin has carried out the command. */
  tell(message: ToOrigin): Promise<void>;
  /** Resolves when the origin has reported everything and has exited. */
  close(): Promise<void>;
}

export async function startChaosOrigin(port: number, report: (event: HistoryEvent) => void): Promise<ChaosOrigin> {
  // No inherited flags: the origin must not load the test runner.
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
