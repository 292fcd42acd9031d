// Claims of one partition go one after the other, in the order in which `once` was called, and each names the message before it: when the
// claim of a message is lost on its way, the gateway sees it in the next one, and the group's position waits for it.

import type { ClaimCalls } from "./claim-calls.ts";

/** Where a message is. */
export interface MessagePosition {
  readonly stream: string;
  readonly partition: number;
  readonly offset: number;
  /**
   * The offset of the message before it, among those that this group claims; `null`: none is known.
   * @defaultValue that of the call before, in this process
   */
  readonly previous?: number | null;
}

/** So many messages of a partition whose claims have failed are remembered, so that they name the same message when they are claimed again. */
const MAX_FAILED = 1000;

/** A partition, as this process reads it. */
class PartitionReader {
  #last: number | null = null;
  readonly #failed = new Map<number, number | null>();
  /** Resolves when the last claim has been answered. */
  tail: Promise<void> = Promise.resolve();

  /** The message before this one; `null`: it is not known. */
  before(offset: number): number | null {
    const failed = this.#failed.get(offset);
    if (failed !== undefined) return failed;
    // Read again.
    if (this.#last !== null && offset <= this.#last) return null;
    const before = this.#last;
    this.#last = offset;
    return before;
  }

  answered(offset: number): void {
    this.#failed.delete(offset);
  }

  failed(offset: number, previous: number | null): void {
    this.#failed.set(offset, previous);
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > MAX_FAILED && oldest !== undefined) this.#failed.delete(oldest);
  }
}

/** By the function that sends, or the binding, since two gateways may have groups and streams of one name. */
const readers = new WeakMap<object, Map<string, PartitionReader>>();

function readersOf(sender: object): Map<string, PartitionReader> {
  const found = readers.get(sender);
  if (found !== undefined) return found;
  const made = new Map<string, PartitionReader>();
  readers.set(sender, made);
  return made;
}

function nameOf({ url }: ClaimCalls, { stream, partition }: Pick<MessagePosition, "stream" | "partition">): string {
  return JSON.stringify([url, stream, partition]);
}

/** The turn of one claim. */
export interface ClaimTurn {
  readonly previous: number | null;
  /** Resolves when the claims before it have been answered, or have had the time for it. */
  readonly come: Promise<void>;
  /** To be called once. `isAnswered`: whether the gateway knows of the claim now. */
  end(isAnswered: boolean): void;
}

/** Takes the next turn, without a pause, so that turns are in the order of calls. */
export function takeTurn(calls: ClaimCalls, position: MessagePosition): ClaimTurn {
  const all = readersOf(calls.sender);
  const name = nameOf(calls, position);
  const reader = all.get(name) ?? new PartitionReader();
  all.set(name, reader);
  const { offset } = position;
  const known = reader.before(offset);
  const previous = position.previous === undefined ? known : position.previous;
  const come = atMost(longestMs(calls), reader.tail, calls);
  const answered = new AbortController();
  reader.tail = new Promise((resolve) => answered.signal.addEventListener("abort", () => resolve()));
  return {
    previous,
    come,
    end(isAnswered) {
      if (isAnswered) reader.answered(offset);
      else reader.failed(offset, previous);
      answered.abort();
    },
  };
}

/** The group begins to read a partition, at whatever position: what was read before says nothing of what comes. */
export function beginReading(calls: ClaimCalls, partition: Pick<MessagePosition, "stream" | "partition">): void {
  readersOf(calls.sender).delete(nameOf(calls, partition));
}

/** A claim in a context that has ended, such as another request of a Worker, never settles. */
function longestMs({ tries, tryMs, maxPauseMs }: ClaimCalls): number {
  return Math.min(tries * (tryMs + maxPauseMs), 2 ** 31 - 1);
}

async function atMost(ms: number, promise: Promise<void>, { clock }: ClaimCalls): Promise<void> {
  const timers: (() => void)[] = [];
  const late = new Promise<void>((resolve) => void timers.push(clock.after(ms, resolve)));
  await Promise.race([promise, late]);
  for (const stop of timers) stop();
}
