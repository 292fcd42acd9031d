// The run's side of a process of its own, the origin's or the receiver's: forks it, forwards what it reports, and sends it commands.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { HistoryEvent } from "../guarantees/history.ts";

/** The channel keeps the order, so a `done` comes after every event that was reported before it. */
export type FromChild<Command> =
  | { readonly type: "ready" }
  | { readonly type: "done"; readonly message: Command }
  | { readonly type: "event"; readonly event: HistoryEvent };

export interface Child<Command> {
  /** Resolves when the process has carried out the command. */
  readonly tell: (message: Command) => Promise<void>;
  /** Resolves when the process has exited, after it has carried out this last command. */
  readonly close: (last: Command) => Promise<void>;
}

/** `file`: in this folder. */
export async function startChild<Command extends string>(
  file: string,
  values: readonly string[],
  report: (event: HistoryEvent) => void,
): Promise<Child<Command>> {
  // No inherited flags: it must not load the test runner.
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), values, { execArgv: [] });
  const waiting: { readonly message: Command; readonly resolve: () => void }[] = [];
  const ready = Promise.withResolvers<void>();
  child.once("error", ready.reject);
  child.once("exit", (code) => ready.reject(new Error(`${file} ended with code ${code} before it was ready`)));
  child.on("message", (message: FromChild<Command>) => {
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

  const tell = (message: Command): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ message, resolve });
      child.send(message);
    });
  return {
    tell,
    async close(last) {
      await tell(last);
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}
