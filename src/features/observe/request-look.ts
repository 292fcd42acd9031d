// Looks at one request on its way to the origin and back, and waits for nothing before its client has its answer. It takes copies of both bodies, notes
// times, and hands all of it over at the end: when the answer has ended, broken off, never come, or its client has left.

import type { Route } from "../../kernel/config/resolved.ts";
import { declaredLength } from "../../kernel/request/headers.ts";
import type { PassTap } from "../../kernel/request/pass-through.ts";
import type { WaitUntil } from "../../kernel/request/shared-work.ts";
import { type BodyCopier, type BodyCopy, type CopiedBody, EMPTY_COPY } from "./body-copy.ts";

/** A request that has passed. */
export interface SeenRequest {
  readonly request: Request;
  readonly url: URL;
  readonly route: Route;
  readonly sent: BodyCopy;
  /** `null`: the origin gave none. */
  readonly answer: SeenAnswer | null;
  readonly beganAt: number;
  readonly endedAt: number;
  /** Its client had left by then. */
  readonly isLeft: boolean;
}

export interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** When its headers came. */
  readonly at: number;
  readonly body: BodyCopy;
}

export interface LookPorts {
  readonly copier: BodyCopier;
  readonly waitUntil: WaitUntil;
  /** Takes what was seen; the copies are freed when it resolves. */
  readonly report: (seen: SeenRequest) => Promise<void>;
}

export class RequestLook implements PassTap {
  readonly #request: Request;
  readonly #url: URL;
  readonly #route: Route;
  readonly #ports: LookPorts;
  readonly #over = Promise.withResolvers<void>();
  readonly #left = Promise.withResolvers<BodyCopy>();
  #hasEnded = false;
  #beganAt = 0;
  #sent = EMPTY_COPY;

  constructor(request: Request, url: URL, route: Route, ports: LookPorts) {
    this.#request = request;
    this.#url = url;
    this.#route = route;
    this.#ports = ports;
  }

  sending(): void {
    this.#beganAt = Date.now();
    this.#sent = this.#copyOf(this.#request);
    // From now on: when the client leaves, the runtime ends everything else.
    this.#ports.waitUntil(this.#over.promise);
    // Nor does it resume what waits for the origin.
    this.#request.signal.addEventListener("abort", () => this.#leave(), { once: true });
  }

  answered(response: Response): void {
    if (this.#hasEnded) return;
    const at = Date.now();
    const { status, headers } = response;
    const body = status === 101 ? EMPTY_COPY : this.#copyOf(response);
    void this.#finish(body, (copy) => ({ status, headers, at, body: copy }));
  }

  /** The client has left. Once its answer has begun, its body counts as broken off. */
  #leave(): void {
    this.#left.resolve({ kind: "broken" });
    if (!this.#hasEnded) this.dropped();
  }

  dropped(): void {
    void this.#finish(EMPTY_COPY, () => null);
  }

  #copyOf(message: Request | Response): CopiedBody {
    return this.#ports.copier.copy(message, declaredLength(message.headers), this.#request);
  }

  async #finish(body: CopiedBody, answerOf: (copy: BodyCopy) => SeenAnswer | null): Promise<void> {
    // Whichever comes first: an end, or the client that leaves.
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const [request, url, route, sent] = [this.#request, this.#url, this.#route, this.#sent];
    try {
      const answer = answerOf(await Promise.race([body.copy, this.#left.promise]));
      const endedAt = Date.now();
      const isLeft = request.signal.aborted && answer?.body.kind !== "whole";
      const seen = { request, url, route, answer, beganAt: this.#beganAt, endedAt, isLeft };
      await this.#ports.report({ ...seen, sent: await Promise.race([sent.copy, this.#left.promise]) });
    } catch (error) {
      console.error({ message: "an observed request was not looked at", reason: String(error) });
    } finally {
      sent.free();
      body.free();
      this.#over.resolve();
    }
  }
}
