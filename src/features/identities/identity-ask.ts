// Asks the origin whose an opaque credential is. The question carries the credential alone, and nothing else of the request: so the
// answer depends on nothing but what its name in memory is made of, and a header that was forgotten in the configuration shows at once
// instead of mixing up callers later. Only answers of 200 are remembered.

import type { IdentityQuestion } from "../../kernel/config/identity.ts";
import type { Origin, Route } from "../../kernel/config/resolved.ts";
import { callerIdAt, fetchJson } from "../../kernel/request/read-json.ts";
import { digest } from "../../kernel/request/digest.ts";
import { ExpiringCache } from "../../kernel/request/expiring-cache.ts";
import { forwardedFor } from "../../kernel/request/host.ts";
import { type HeaderPairs, headersOf, type HeadersView } from "../../kernel/request/headers.ts";
import { LOOP_HEADER, loopMark, originUrl } from "../../kernel/request/origin.ts";
import type { Fetcher } from "../../kernel/request/pass-through.ts";
import type { CallerProof } from "../../kernel/request/scope.ts";
import { SharedWork, type WaitUntil } from "../../kernel/request/shared-work.ts";

/** The largest answer that is read. */
const MAX_BYTES = 64 * 1024;

/** When a client may try again after a question without an answer. */
const RETRY_MS = 2_000;

interface AskPorts {
  readonly target: (origin: Origin) => Fetcher | null;
  readonly waitUntil: WaitUntil;
}

/** A request whose caller is asked for. */
export interface AskedRequest {
  readonly url: URL;
  readonly headers: HeadersView;
  readonly route: Pick<Route, "origin" | "trustForwarded">;
}

export class OriginAsker {
  readonly #name: string;
  readonly #question: IdentityQuestion;
  readonly #ports: AskPorts;
  readonly #answers = new ExpiringCache<CallerProof>();
  readonly #questions: SharedWork<CallerProof>;

  constructor(name: string, question: IdentityQuestion, ports: AskPorts) {
    this.#name = name;
    this.#question = question;
    this.#ports = ports;
    // Longer than a question can take, so that it ends only what was stopped.
    this.#questions = new SharedWork(ports.waitUntil, question.timeoutMs + 1000);
  }

  /** `credential` are the caller's headers that it consists of. */
  async prove(request: AskedRequest, credential: HeaderPairs): Promise<CallerProof> {
    const { origin } = request.route;
    const url = originUrl(origin, new URL(this.#question.path, request.url));
    const headers = [...credential, ...addressHeaders(request)];
    const target = origin.kind === "url" || origin.kind === "zone" ? null : JSON.stringify(origin);
    const name = await digest([target, url, ...headers.flat()]);
    const known = this.#answers.get(name, Date.now());
    if (known !== null) return known;
    const proof = await this.#questions.join(name, async () => {
      const answer = await this.#ask(url, [...headers, ...loopHeaders(request)], origin);
      if ("value" in answer) this.#answers.set(name, answer, Date.now() + this.#question.cacheMs);
      return answer;
    });
    return proof ?? UNAVAILABLE;
  }

  async #ask(url: string, pairs: HeaderPairs, origin: Origin): Promise<CallerProof> {
    const target = this.#ports.target(origin);
    if (target === null) return UNAVAILABLE;
    const { pointer, timeoutMs } = this.#question;
    const headers = headersOf([["accept", "application/json"], ...pairs]);
    try {
      const { status, json } = await fetchJson({ url, headers, maxBytes: MAX_BYTES, timeoutMs }, target);
      if (status === 401 || status === 403) return INVALID;
      if (status !== 200) return this.#failed(`status ${status}`);
      const id = callerIdAt(json, pointer, "numbers");
      if (id !== null) return { value: id };
      this.#warn("the answer has no id at the pointer, so it names nobody");
      return INVALID;
    } catch (error) {
      return this.#failed(String(error));
    }
  }

  #failed(reason: string): CallerProof {
    this.#warn(reason);
    return UNAVAILABLE;
  }

  /** Says nothing of the credential or the answer. */
  #warn(reason: string): void {
    console.warn({ message: "the origin did not say who a caller is", identity: this.#name, reason });
  }
}

const INVALID: CallerProof = { problem: { code: "credential-invalid", why: "invalid" } };
const UNAVAILABLE: CallerProof = { problem: { code: "identity-unavailable", retryAfterMs: RETRY_MS } };

/** Under which host the origin is called: its answer may depend on that. */
function addressHeaders({ url, headers, route }: AskedRequest): HeaderPairs {
  const { set } = forwardedFor(url, headers, route.trustForwarded);
  const names = ["x-forwarded-host", "x-forwarded-proto"];
  return names.map((name) => [name, set.find(([one]) => one === name)?.[1] ?? headers.get(name) ?? ""]);
}

function loopHeaders({ headers, route }: AskedRequest): HeaderPairs {
  const mark = loopMark(route.origin, headers);
  return mark === null ? [] : [[LOOP_HEADER, mark]];
}
