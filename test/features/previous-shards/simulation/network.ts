// The messages from Workers and operators to objects. Each is delivered by a step, and its reply comes by another; in between it may be lost, come
// late, or come twice.

import type { PlainResponse } from "../../../simulation/platform.ts";
import type { Host } from "../../../simulation/host.ts";

export class Message {
  readonly to: string;
  readonly url: string;
  readonly body: unknown;
  state: "on its way" | "at work" | "held" | "replied" | "over" = "on its way";
  /** The object that works on it, or has replied. */
  host: Host | null = null;
  reply: { readonly response: PlainResponse; readonly gate: number } | null = null;
  /** Whether its sender still waits for the reply. */
  isHeard = true;
  /** Tells the object that its caller has gone. */
  readonly caller = new AbortController();
  readonly #sender = Promise.withResolvers<PlainResponse>();

  constructor(to: string, url: string, body: unknown) {
    this.to = to;
    this.url = url;
    this.body = body;
  }

  get response(): Promise<PlainResponse> {
    return this.#sender.promise;
  }

  /** What the message is, for a trace. */
  get what(): string {
    return `${this.url.split("/").at(-1)} to ${this.to}`;
  }

  /** The same message once more; nobody waits for its reply. */
  again(): Message {
    const copy = new Message(this.to, this.url, this.body);
    copy.isHeard = false;
    copy.caller.abort();
    return copy;
  }

  /** The reply reaches the sender. If nobody waits for it, its body is cancelled, as the object class does. */
  arrive(): void {
    this.state = "over";
    if (this.reply === null) return;
    const { response } = this.reply;
    if (this.isHeard) this.#sender.resolve(response);
    else if (response.body instanceof ReadableStream) void response.body.cancel().catch(() => undefined);
  }

  /** The sender takes the connection for lost. The message may still be on its way. */
  giveUp(): void {
    if (!this.isHeard) return;
    this.isHeard = false;
    this.caller.abort();
    this.#sender.reject(new Error("connection lost"));
  }

  fail(error: unknown): void {
    this.state = "over";
    if (this.isHeard) this.#sender.reject(error);
  }
}

export class Network {
  messages: Message[] = [];

  post(to: string, url: string, body: unknown): Promise<PlainResponse> {
    const message = new Message(to, url, body);
    this.messages.push(message);
    return message.response;
  }

  /** Those at this point. */
  with(state: Message["state"]): readonly Message[] {
    return this.messages.filter((one) => one.state === state);
  }

  tidy(): void {
    this.messages = this.messages.filter(({ state }) => state !== "over");
  }

  /** An object is gone: it gives no reply that it has not given. */
  crash(host: Host): void {
    for (const message of this.messages) {
      if (message.host === host && (message.state === "at work" || message.state === "held")) {
        message.fail(new Error("the object was reset"));
      }
    }
    this.tidy();
  }
}
