// A question to the origin: whether the operation of a record took effect. The origin answers for what it knows at that
// moment of the client who asks, says that it is busy, trickles, hangs, or is not heard.

import type { AttemptFacts } from "./facts.ts";
import { PlainHeaders, type PlainRequest } from "./platform.ts";

/** Between two bytes of an answer that trickles: within any patience for the next one. */
export const TRICKLE_MS = 10;

export class Question {
  readonly record: string;
  /** The attempt that it is about. */
  readonly attempt: AttemptFacts | undefined;
  /** Whose credential it carries. */
  readonly credential: string | null;
  readonly askedMs: number;
  /** The write that has to be durable before the question leaves. */
  readonly gate: number;
  isOpen = true;
  /** Whether what came of it is durable. */
  isSettled = false;
  /** The origin will never answer it. */
  hangs = false;
  /** When the next byte comes of an answer that trickles; `null` where none does. */
  trickleMs: number | null = null;
  readonly #answer = Promise.withResolvers<object>();
  #reading: PromiseWithResolvers<object> | null = null;
  #view: Uint8Array | null = null;

  constructor(record: string, attempt: AttemptFacts | undefined, askedMs: number, gate: number, request: PlainRequest) {
    this.record = record;
    this.attempt = attempt;
    this.credential = request.headers.get("authorization");
    this.askedMs = askedMs;
    this.gate = gate;
    request.signal?.addEventListener("abort", () => this.lose());
  }

  get response(): Promise<object> {
    return this.#answer.promise;
  }

  answer(status: number, text: string): void {
    this.isOpen = false;
    let isRead = false;
    const read = (view: Uint8Array): Promise<object> => {
      if (isRead) return Promise.resolve({ done: true });
      isRead = true;
      const { written } = new TextEncoder().encodeInto(text, view);
      return Promise.resolve({ done: false, value: view.subarray(0, written) });
    };
    this.#answerWith(status, read, () => Promise.resolve());
  }

  /** Answers that it took effect, and then a byte now and then, without end. */
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

  /** One byte of an answer that trickles. */
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

  #answerWith(status: number, read: (view: Uint8Array) => Promise<object>, cancel: () => Promise<void>): void {
    const getReader = (): object => ({ read, cancel });
    this.#answer.resolve({ status, statusText: "", headers: new PlainHeaders(), body: { getReader } });
  }
}
