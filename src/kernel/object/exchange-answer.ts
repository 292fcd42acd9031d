// The answer of an exchange, the origin's or a problem. Its response is made when it is asked for: a feature may need the status and headers alone.

import { type ExchangeOutcome, outcomeOf } from "../record/outcome.ts";
import type { ClientProblem, Problem } from "../record/problem.ts";
import { instanceOf } from "../record/units.ts";
import { type HeaderPairs, headersOf, NULL_BODY_STATUSES } from "../request/headers.ts";
import type { ExchangeHead } from "../request/message.ts";
import { problemResponse } from "../request/problem-response.ts";

/** The status line and the headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
}

export type AnswerBody = Uint8Array | ReadableStream<Uint8Array>;

/** The answer to one request, and the outcome that is reported for it. */
export interface ExchangeAnswer {
  readonly status: number;
  readonly response: Response;
  readonly outcome: ExchangeOutcome;
  /** Whether its body is a stream, which has to be cancelled if the client has disconnected. */
  readonly isStreamed: boolean;
  /** Whether it is the origin's, and here to its end. */
  readonly isWhole: boolean;
  header(name: string): string | null;
}

/** An answer that exists as a response. */
export function answerFromResponse(
  response: Response,
  outcome: ExchangeOutcome,
  more: Partial<Pick<ExchangeAnswer, "isStreamed">> = {},
): ExchangeAnswer {
  const { status } = response;
  const header = (name: string): string | null => response.headers.get(name);
  return { status, response, outcome, isStreamed: false, isWhole: false, ...more, header };
}

export function problemAnswer({ request, rules }: ExchangeHead, problem: ClientProblem): ExchangeAnswer {
  const { echo, attemptId } = request;
  const response = problemResponse(problem, echo, instanceOf(attemptId), rules.contentKey);
  return answerFromResponse(response, outcomeOf(problem.code));
}

export function problemAnswerAs(outcome: ExchangeOutcome, problem: Problem, echo: string): ExchangeAnswer {
  return answerFromResponse(problemResponse(problem, echo), outcome);
}

/** An answer of the origin, now or before: its `headers` as far as they are sent, and those that the gateway adds. */
export function originAnswer(
  outcome: ExchangeOutcome,
  { status, statusText }: Omit<ResponseHead, "headers">,
  headers: HeaderPairs,
  body: AnswerBody,
  added: HeaderPairs,
): ExchangeAnswer {
  const head = { status, statusText, headers: [...headers, ...added] };
  if (!(body instanceof ReadableStream)) return new WholeAnswer(outcome, head, body);
  if (NULL_BODY_STATUSES.has(status)) void body.cancel();
  return answerFromResponse(responseOf(head, body), outcome, { isStreamed: true });
}

/** Makes its response only when it is asked for: who reads the status and headers alone asks for none. */
class WholeAnswer implements ExchangeAnswer {
  readonly outcome: ExchangeOutcome;
  readonly isStreamed = false;
  readonly isWhole = true;
  readonly #head: ResponseHead;
  readonly #body: Uint8Array;
  #response: Response | null = null;

  constructor(outcome: ExchangeOutcome, head: ResponseHead, body: Uint8Array) {
    this.outcome = outcome;
    this.#head = head;
    this.#body = body;
  }

  get status(): number {
    return this.#head.status;
  }

  get response(): Response {
    this.#response ??= responseOf(this.#head, this.#body);
    return this.#response;
  }

  header(name: string): string | null {
    return valueIn(this.#head.headers, name);
  }
}

function responseOf({ status, statusText, headers }: ResponseHead, body: AnswerBody): Response {
  return new Response(NULL_BODY_STATUSES.has(status) ? null : body, {
    status,
    statusText,
    headers: headersOf(headers),
    encodeBody: "manual",
  });
}

function valueIn(headers: HeaderPairs, wanted: string): string | null {
  const values = headers.filter(([name]) => name.toLowerCase() === wanted.toLowerCase()).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}
