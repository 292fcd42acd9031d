// Short ways to a verification by state, and to what is found in an answer, for unit and property tests.

import type { Verification } from "../../../src/kernel/request/message.ts";
import { HeaderSnapshot, type HeaderPairs } from "../../../src/kernel/request/headers.ts";
import {
  judgeState,
  type AnswerOfOrigin,
  type StateJudgement,
  type StoredState,
} from "../../../src/kernel/verify/judge-state.ts";
import { stateVerification } from "../../../src/kernel/verify/state-request.ts";
import type { VerificationCredential } from "../../../src/kernel/record/verification-answer.ts";
import { routeOf } from "../../kernel/unit/config/support.ts";

type Table = Readonly<Record<string, unknown>>;

/** A request, as far as a verification reads it. */
export interface AskedRequest {
  readonly path?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The route's. */
  readonly pattern?: string;
  readonly settings?: Table;
}

export const COMPLETE: Table = {
  path: "/checkout_sessions/{path:id}",
  happened: { "/status": ["completed", "complete_in_progress"] },
  not_happened: { "/status": ["ready_for_payment", "ready_for_complete"] },
  once: true,
  answer: "resource",
};

export const LIST: Table = {
  path: "/v1/orders?reference={json:/reference}&limit=100",
  list: "/data",
  match: { "/reference": ["{json:/reference}"], "/amount": ["{json:/amount}"] },
  complete: { "/has_more": [false] },
  settle: "1m",
  answer: { body: "item", status: 201, location: "/v1/orders/{/id}" },
};

/** `null`: the request cannot be asked about. */
export async function verificationFor(verify: Table, request: AskedRequest = {}): Promise<Verification | null> {
  const {
    path = "/orders/o1",
    key = "k1",
    headers = {},
    body = null,
    pattern = "/orders/:id",
    settings = {},
  } = request;
  const route = routeOf({ ...settings, path: pattern, verify });
  const state = route.verify?.state;
  if (state === undefined) throw new TypeError("the verification is not by state");
  const type = { "Content-Type": "application/json", Authorization: "Bearer a", ...headers };
  const bytes =
    body === null ? new Uint8Array() : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  return stateVerification(
    route,
    state,
    {
      key,
      url: new URL(path, "https://gateway.example"),
      headers: new HeaderSnapshot(Object.entries(type)),
      body: bytes,
      caller: null,
    },
    Object.entries(type).filter(([name]) => name !== "Content-Type"),
  );
}

export async function stateFor(verify: Table, request: AskedRequest = {}): Promise<StoredState> {
  const state = (await verificationFor(verify, request))?.state;
  if (state === undefined) throw new TypeError("the request cannot be asked about");
  return state;
}

/** What is found in an answer; its body as JSON, as it is, or `null` for one that is too large. */
export function judged(
  state: StoredState,
  body: unknown,
  { status = 200, headers = {}, credential = "claim" }: JudgedHow = {},
): StateJudgement {
  const snapshot = new HeaderSnapshot(Object.entries(headers));
  const bytes =
    body === null || body instanceof Uint8Array
      ? body
      : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  const answer: AnswerOfOrigin = { status, header: (name) => snapshot.get(name), body: bytes };
  const judging = judgeState(state, credential, answer);
  for (;;) {
    const step = judging.next();
    if (step.done === true) return step.value;
  }
}

export interface JudgedHow {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: VerificationCredential;
}

export function headerOf(headers: HeaderPairs, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}
