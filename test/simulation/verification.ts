// A question to the origin: did the operation of a record take effect? The origin answers with what it knows at that moment
// for the credential that asks, answers 503, trickles, hangs, or its answer is lost.

import type { Clock } from "./clock.ts";
import type { AttemptFacts } from "./facts.ts";
import { PlainHeaders, type PlainRequest } from "./platform.ts";

/** Time between two bytes of a trickling answer: below every timeout for the next byte. */
export const TRICKLE_MS = 10;

export class Verification {
  readonly record: string;
  /** The attempt that the question is about. */
  readonly attempt: AttemptFacts | undefined;
  /** The credential that the question carries. */
  readonly credential: string | null;
  readonly askedMs: number;
  /** The same by a right clock. */
  readonly askedRightMs: number;
  /** The write that has to be durable before the question leaves. */
  readonly gate: number;
  isOpen = true;
  /** Whether its outcome is durable. */
  isSettled = false;
  /** The origin will never answer it. */
  hangs = false;
  /** When the next byte of a trickling answer comes; `null` if it does not trickle. */
  trickleMs: number | null = null;
  readonly #answer = Promise.withResolvers<object>();
  #reading: PromiseWithResolvers<object> | null = null;
  #view: Uint8Array | null = null;

  constructor(
    record: string,
    attempt: AttemptFacts | undefined,
    { nowMs, rightMs }: Pick<Clock, "nowMs" | "rightMs">,
    gate: number,
    request: PlainRequest,
  ) {
    this.record = record;
    this.attempt = attempt;
    this.credential = request.headers.get("authorization");
    this.askedMs = nowMs;
    this.askedRightMs = rightMs;
    this.gate = gate;
    request.signal?.addEventListener("abort", () => this.lose());
  }

  get response(): Promise<object> {
    return this.#answer.promise;
  }

  answer(status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
    this.isOpen = false;
    let isRead = false;
    const read = (view: Uint8Array): Promise<object> => {
      if (isRead) return Promise.resolve({ done: true });
      isRead = true;
      const { written } = new TextEncoder().encodeInto(text, view);
      return Promise.resolve({ done: false, value: view.subarray(0, written) });
    };
    this.#answerWith(status, read, () => Promise.resolve(), headers);
  }

  /** Answers 200 with an endless body, one byte at a time. */
  trickle(nowMs: number): void {
    this.trickleMs = nowMs + TRICKLE_MS;
    const read = (view: Uint8Array): Promise<object> => {
      this.#view = view;
      this.#reading = Promise.withResolvers();
      return this.#reading.promise;
    };
    this.#answerWith(200, read, () => {
      this.lose();
      return Promise.resolve();
    });
  }

  /** Sends one byte of a trickling answer. */
  feed(nowMs: number): void {
    this.trickleMs = nowMs + TRICKLE_MS;
    const reading = this.#reading;
    if (reading === null || this.#view === null) return;
    this.#reading = null;
    this.#view[0] = 46;
    reading.resolve({ done: false, value: this.#view.subarray(0, 1) });
  }

  lose(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const error = new Error("connection lost");
    this.#answer.reject(error);
    this.#reading?.reject(error);
  }

  #answerWith(
    status: number,
    read: (view: Uint8Array) => Promise<object>,
    cancel: () => Promise<void>,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const getReader = (): object => ({ read, cancel });
    this.#answer.resolve({ status, statusText: "", headers: new PlainHeaders(headers), body: { getReader } });
  }
}
