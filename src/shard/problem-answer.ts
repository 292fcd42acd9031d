// The answers of an exchange that are problems, each with the name of its occurrence, which goes to the log too.

import { type Outcome, outcomeOf } from "../core/outcome.ts";
import type { ClientProblem, Problem } from "../core/problem.ts";
import type { ExchangeHead } from "../http/message.ts";
import { newInstance, problemResponse } from "../http/problem-response.ts";
import { answerOf, type ExchangeAnswer } from "./exchange-answer.ts";

export function problemAnswer({ request }: ExchangeHead, problem: ClientProblem): ExchangeAnswer {
  return answerWith(problem, request.echo, outcomeOf(problem.code));
}

export function answerWith(problem: Problem, echo: string, outcome: Outcome): ExchangeAnswer {
  const instance = newInstance();
  return answerOf(problemResponse(problem, echo, instance), outcome, { instance });
}
