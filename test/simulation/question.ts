// A question to the origin: whether the operation of a record took effect. The origin answers for what it knows at that
// moment, says that it is busy, or is not heard.

import { PlainHeaders, type PlainRequest } from "./platform.ts";

export class Question {
  readonly record: string;
  readonly askedMs: number;
  /** The write that has to be durable before the question leaves. */
  readonly gate: number;
  isOpen = true;
  readonly #answer = Promise.withResolvers<object>();

  constructor(record: string, askedMs: number, gate: number, request: PlainRequest) {
    this.record = record;
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
    const getReader = (): object => ({ read, cancel: () => Promise.resolve() });
    this.#answer.resolve({ status, statusText: "", headers: new PlainHeaders(), body: { getReader } });
  }

  lose(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#answer.reject(new Error("connection lost"));
  }
}
