// What an arrival or a question at the origin is known by, and what the plan of its key says about it.

import type { IncomingMessage } from "node:http";
import type { Arrival } from "../guarantees/history.ts";
import { type ArrivalHead, attemptIn, deliveryIn, header, recordName } from "../guarantees/recorders/arrivals.ts";
import { REQUEST_HEADER } from "../guarantees/recorders/marks.ts";
import type { Asked } from "../guarantees/recorders/verifications.ts";
import { planOfMessage, verificationsOfMessage } from "./queues.ts";
import { isKeyInBody, TIMEOUT_MS } from "./routes.ts";
import { CALM, PLAN_HEADER, VERIFICATIONS_HEADER, type Step, TENANT_HEADER } from "./steps.ts";

/** The plans of all keys. The next arrival of a record takes the next step of its plan, and those beyond its end the last one. */
export class Plans {
  readonly #arrived = new Map<string, number>();
  readonly #asked = new Map<string, number>();

  nextStep(request: IncomingMessage): Step {
    const caller = describeCaller(request);
    const plan: readonly Step[] = isOfMessage(request)
      ? planOfMessage(caller.key, TIMEOUT_MS)
      : JSON.parse(header(request, PLAN_HEADER) || "[]");
    const before = this.#arrived.get(recordName(caller)) ?? 0;
    this.#arrived.set(recordName(caller), before + 1);
    return plan[Math.min(before, plan.length - 1)] ?? CALM;
  }

  /** Further questions get the truth. */
  nextVerification(request: IncomingMessage): Asked {
    const caller = describeCaller(request);
    const modes: readonly Asked["mode"][] = isOfMessage(request)
      ? verificationsOfMessage(caller.key)
      : JSON.parse(header(request, VERIFICATIONS_HEADER) || "[]");
    const before = this.#asked.get(recordName(caller)) ?? 0;
    this.#asked.set(recordName(caller), before + 1);
    return { ...caller, mode: modes[before] ?? "truth" };
  }
}

/** Whether it comes from a queue, or is a question about a message. */
export function isOfMessage(request: IncomingMessage): boolean {
  return header(request, "x-key") === "";
}

/** Key, scope and credential from the headers of the client, or of the queue. */
export function describeCaller(request: IncomingMessage): Pick<Arrival, "key" | "scope" | "credential"> {
  return {
    key: header(request, isOfMessage(request) ? "idempotency-key" : "x-key"),
    scope: header(request, TENANT_HEADER),
    credential: header(request, "authorization"),
  };
}

export function describe(request: IncomingMessage, { name: step }: Step): ArrivalHead {
  const caller = describeCaller(request);
  return {
    request: isOfMessage(request) ? deliveryIn(request) : header(request, REQUEST_HEADER),
    ...caller,
    path: request.url ?? "",
    attempt: attemptIn(request),
    hasKey: header(request, "idempotency-key") === (isKeyInBody(request.url ?? "") ? "" : caller.key),
    step,
  };
}
