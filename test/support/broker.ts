// The test's broker (broker-process.ts), as tests start and use it: what it sends, where it stops, and its journal.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface BrokerOptions {
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
  /** The part of dead letters that fail: half of these are not taken, and of the other half the sender does not hear. 0 by default. */
  readonly lostLetters?: number;
  readonly seed: number;
}

/** A message as its producer sends it. */
export interface SentMessage {
  readonly id: string;
  readonly queue: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly body: unknown;
}

export interface SentLine {
  readonly kind: "sent";
  readonly id: string;
  readonly queue: string;
  /** When its producer sent it. */
  readonly sentAt: number;
  /** Its body, as JSON. */
  readonly body: string;
}

/** One line of its journal. `attempts`: which delivery of the message it is, 1 for the first. */
export type JournalLine = { readonly id: string } & (
  | Omit<SentLine, "id">
  | { readonly kind: "delivered"; readonly attempts: number }
  /** What became of a delivery. `lost`: its consumer gave no answer. */
  | { readonly kind: "acked" | "ack-lost" | "lost"; readonly attempts: number }
  | { readonly kind: "retried" | "undecided"; readonly attempts: number; readonly delayMs: number }
  | DeadLetterLine
);

/** A dead letter that has been taken, whether or not its sender has heard of it. */
export interface DeadLetterLine {
  readonly kind: "letter";
  readonly letter: string;
  readonly reason: string;
  /** Of the origin's answer; `null` without one. */
  readonly status: number | null;
  /** When it was written, and when its message was sent, as it says itself. */
  readonly time: string;
  readonly firstSentAt: string;
  /** The message's body in it, as JSON; `null` without one. */
  readonly body: string | null;
}

/** Each line has the time at which it was written, in milliseconds since 1970. */
export type TimedLine = JournalLine & { readonly at: number };

/** A process that stops where it is told (strikes.ts). */
export interface Stoppable {
  /** Resolves when the process stands at the point for the `passes`-th time; it goes on when `go` is called. */
  strike(point: string, passes: number): Promise<() => void>;
  close(): Promise<void>;
}

export interface Broker extends Stoppable {
  /** Sends messages to a queue; resolves when all messages of all queues have been acknowledged. */
  send(queue: string, bodies: readonly unknown[]): Promise<void>;
  /** Hands messages over and waits for nothing. */
  post(messages: readonly SentMessage[]): void;
  /** From now on it loses nothing and delivers nothing twice at the same time. */
  calm(): void;
  /** Resolves when all messages have been acknowledged. */
  drained(): Promise<void>;
  readJournal(): Promise<readonly TimedLine[]>;
}

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const child = await startChild("broker-process.ts", options);
  const post: Broker["post"] = (messages) => void child.send({ order: "send", messages });
  const drained: Broker["drained"] = async () => {
    const said = untilSaid(child, "drained");
    child.send({ order: "drain" });
    await said;
  };
  return {
    ...stoppable(child),
    post,
    drained,
    calm: () => void child.send({ order: "calm" }),
    async send(queue, bodies) {
      post(bodies.map((body) => ({ id: newMessageId(), queue, timestamp: Date.now(), body })));
      await drained();
    },
    readJournal: () => readLines(options.journal),
  };
}

/** As a queue makes them. */
export function newMessageId(): string {
  return crypto.randomUUID().replaceAll("-", "");
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
