// `onceway/client`: what a client of the gateway imports. Depends on nothing but `fetch` and its companions.

export { createFetch } from "./fetch.ts";
export { createFollow, monitorOf } from "./follow.ts";
export type { Follow } from "./follow.ts";
export { createGiveUp, createLookUp } from "./key-questions.ts";
export type {
  AskKey,
  LookedUpKey as KeyReport,
  LookedUpNext as NextStep,
  LookedUpState as KeyState,
  SettledKey,
} from "./key-questions.ts";
export type { ClientOptions, Fetch, Clock } from "./client-settings.ts";
export { OncewayError } from "./idempotency-error.ts";
export { IdempotencyError } from "./idempotency-error.ts";
export type { GiveUpReason } from "./idempotency-error.ts";
export type { Outcome } from "./judge.ts";
export type { ProblemDetails as Problem, ProblemCode } from "./problem-details.ts";
export { once, readPosition } from "./once.ts";
export type { MessagePosition } from "./partition-order.ts";
export type { OnceContext, OnceOptions, OnceResult } from "./once.ts";
export {
  ClaimFailedError,
  InFlightError,
  KeyReusedError,
  NoEffectError,
  OutcomeUnknownError,
  SupersededError,
} from "./claim-errors.ts";
