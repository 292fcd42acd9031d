// The test's broker (broker-process.ts), as tests start and use it: what it sends, where it stops, and its journal.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface BrokerOptions {
  readonly queue: string;
  /** The URL of the deliverer (deliverer.js). */
  readonly deliverTo: string;
  readonly letterPort: number;
  /** The file of its journal. */
  readonly journal: string;
  readonly batch: number;
  /** How many batches are delivered at the same time. */
  readonly concurrency: number;
  /** After this time a message that is neither acknowledged nor retried is delivered again. */
  readonly visibilityMs: number;
  /** The same for a consumer that is certainly lost. */
  readonly redeliverMs: number;
  /** The parts of acknowledgements that are lost, and of deliveries that are made twice at the same time. */
  readonly lostAcks: number;
  readonly duplicates: number;
  readonly seed: number;
}

/** One line of its journal; each has the time too. */
export type JournalLine =
  | { readonly kind: "sent" | "acked" | "ack-lost"; readonly id: string }
  | { readonly kind: "delivered"; readonly id: string; readonly attempts: number }
  | { readonly kind: "retried" | "undecided"; readonly id: string; readonly delayMs: number }
  | { readonly kind: "letter"; readonly id: string; readonly letter: string; readonly reason: string };

/** A process that stops where it is told (strikes.ts). */
export interface Stoppable {
  /** Resolves when the process stands at the point for the `passes`-th time; it goes on when `go` is called. */
  strike(point: string, passes: number): Promise<() => void>;
  close(): Promise<void>;
}

export interface Broker extends Stoppable {
  /** Sends messages; resolves when all have been acknowledged. */
  send(bodies: readonly unknown[]): Promise<void>;
  readJournal(): Promise<readonly JournalLine[]>;
}

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const child = await startChild("broker-process.ts", options);
  return {
    ...stoppable(child),
    async send(bodies) {
      const drained = untilSaid(child, "drained");
      child.send({ order: "send", bodies });
      await drained;
    },
    readJournal: () => readLines(options.journal),
  };
}

/** The lines of a journal, each JSON. */
export async function readLines<Line>(file: string): Promise<readonly Line[]> {
  const text = await readFile(file, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const read: Line = JSON.parse(line);
      return read;
    });
}

/** Starts a process of this folder, and waits until it says that it is ready. */
export async function startChild(file: string, options: object): Promise<ChildProcess> {
  const path = fileURLToPath(new URL(`./${file}`, import.meta.url));
  // No inherited flags: it must not load the test runner.
  const child = fork(path, [JSON.stringify(options)], { execArgv: [] });
  const [event] = await Promise.race([
    once(child, "message").then(() => ["ready"]),
    once(child, "exit").then(() => ["exit"]),
  ]);
  if (event === "exit") throw new Error(`${file} ended before it was ready`);
  return child;
}

export function stoppable(child: ChildProcess): Stoppable {
  return {
    async strike(point, passes) {
      const struck = untilSaid(child, "struck", point);
      child.send({ order: "arm", point, passes });
      await struck;
      return () => void child.send({ order: "go", point });
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Resolves at the next message that has this member, with this value if one is given. */
function untilSaid(child: ChildProcess, member: string, value?: string): Promise<void> {
  return new Promise((resolve) => {
    const listener = (message: unknown): void => {
      const said = typeof message === "object" && message !== null ? new Map(Object.entries(message)) : new Map();
      if (!said.has(member) || (value !== undefined && said.get(member) !== value)) return;
      child.off("message", listener);
      resolve();
    };
    child.on("message", listener);
  });
}
