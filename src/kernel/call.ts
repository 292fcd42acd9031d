// The calls into an object: how each is called, what is asked and what is answered. All of them speak one protocol, and an object refuses every
// URL that is not in its table. Only this Worker makes such calls, from parts that no client chooses. A call whose meaning changes gets
// another name: another number would refuse every call while a deployment rolls out.

const PROTOCOL = 1;

/** A call whose question or answer is bytes: a message, a stream. */
export interface RawCall {
  readonly name: string;
  readonly url: string;
}

/** A call whose question and answer are JSON. */
export interface JsonCall<In = never, Out = unknown> extends RawCall {
  /** Never there: it carries the types. */
  readonly types?: (question: In) => Out;
}

export function jsonCall<In, Out>(name: string): JsonCall<In, Out> {
  return rawCall(name);
}

export function rawCall(name: string): RawCall {
  return { name, url: `https://key-shard/${PROTOCOL}/${name}` };
}

/** An object's side of one call. */
export interface AnsweredCall extends RawCall {
  /** Answers a request. */
  readonly respond: (request: Request) => Response | Promise<Response>;
  /** Answers a question that came otherwise; `null`: only a request can ask it. */
  readonly answer: ((question: unknown) => unknown) | null;
}

export function answerCall<In, Out>(
  { name, url }: JsonCall<In, Out>,
  answer: (question: In) => Out | Promise<Out>,
): AnsweredCall {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both sides take the types from the same call
  const ask = answer as (question: unknown) => unknown;
  return {
    name,
    url,
    answer: ask,
    respond: async (request) => {
      const text = await request.text();
      return Response.json((await ask(text === "" ? undefined : JSON.parse(text))) ?? null);
    },
  };
}

export function respondToCall({ name, url }: RawCall, respond: AnsweredCall["respond"]): AnsweredCall {
  return { name, url, respond, answer: null };
}

/** All calls that an object answers. */
export class CallTable {
  readonly #byUrl: ReadonlyMap<string, AnsweredCall>;
  readonly #byName: ReadonlyMap<string, AnsweredCall>;

  constructor(calls: readonly AnsweredCall[]) {
    this.#byUrl = new Map(calls.map((one) => [one.url, one]));
    this.#byName = new Map(calls.map((one) => [one.name, one]));
    if (this.#byName.size < calls.length) throw new TypeError("two calls have one name");
  }

  respond(request: Request): Response | Promise<Response> {
    const found = this.#byUrl.get(request.url);
    if (found === undefined) throw new TypeError(`an object answers no such call: ${request.url}`);
    return found.respond(request);
  }

  ask(name: string, question: unknown): unknown {
    const answer = this.#byName.get(name)?.answer ?? null;
    if (answer === null) throw new TypeError(`an object answers no such question: ${name}`);
    return answer(question);
  }
}
