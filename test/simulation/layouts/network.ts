// The messages between Workers and objects, and between objects. Each leaves when what its sender has written is durable, is
// delivered by a step, and its reply comes by another; in between it may be lost, come late, or come twice.

import type { PlainResponse } from "../platform.ts";
import type { Host } from "../host.ts";

export class Message {
  readonly to: string;
  readonly url: string;
  readonly body: unknown;
  /** The object that sends it; `null`: a Worker. */
  readonly from: Host | null;
  /** The write of its sender that has to be durable before it leaves. */
  readonly gate: number;
  state: "on its way" | "at work" | "held" | "replied" | "over" = "on its way";
  /** The object that works on it, or has replied. */
  host: Host | null = null;
  reply: { readonly response: PlainResponse; readonly gate: number } | null = null;
  /** Whether its sender still waits for the reply. */
  isHeard = true;
  /** Tells the object that its caller has gone. */
  readonly caller = new AbortController();
  readonly #sender = Promise.withResolvers<PlainResponse>();

  constructor(to: string, url: string, body: unknown, from: Host | null) {
    this.to = to;
    this.url = url;
    this.body = body;
    this.from = from;
    this.gate = from?.disk.written ?? 0;
  }

  get response(): Promise<PlainResponse> {
    return this.#sender.promise;
  }

  /** What the message is, for a trace. */
  get what(): string {
    const from = this.from === null ? "a Worker" : this.from.name;
    return `${this.url.split("/").at(-1)} from ${from} to ${this.to}`;
  }

  get hasLeft(): boolean {
    return this.from === null || this.gate <= this.from.disk.durable;
  }

  /** The same message once more; nobody waits for its reply. */
  again(): Message {
    const copy = new Message(this.to, this.url, this.body, null);
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

  post(to: string, url: string, body: unknown, from: Host | null): Promise<PlainResponse> {
    const message = new Message(to, url, body, from);
    this.messages.push(message);
    return message.response;
  }

  /** Those at this point. */
  with(state: Message["state"]): readonly Message[] {
    return this.messages.filter((one) => one.state === state && (state !== "on its way" || one.hasLeft));
  }

  tidy(): void {
    this.messages = this.messages.filter(({ state }) => state !== "over");
  }

  /** An object is gone: it sends no message that waited for a write, hears no reply, and gives none that it has not given. */
  crash(host: Host): void {
    for (const message of this.messages) {
      if (message.from === host) {
        message.isHeard = false;
        if (message.gate > host.disk.durable) message.state = "over";
      }
      if (message.host === host && (message.state === "at work" || message.state === "held")) {
        message.fail(new Error("the object was reset"));
      }
    }
    this.tidy();
  }
}
