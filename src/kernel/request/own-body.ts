// Reads the body of a request to one of the gateway's own APIs and pages: whole, within limits on its size and its time.

import type { Problem } from "../record/problem.ts";
import { BROKEN_BODY, type HeldBody, LATE_BODY, readBounded } from "./body.ts";
import { type BodyReader, ByteReader } from "./body-reader.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { drainBody, endAfter } from "./drain.ts";
import { declaredLength } from "./headers.ts";

/** How long a body may take to bring 16 KiB, or to end: nobody types a request slowly. */
const IDLE_MS = 10_000;

export interface OwnBodyRules {
  readonly limitBytes: number;
  readonly budget: ByteBudget;
  /** What the answer to a larger body says. */
  readonly tooLarge: Problem;
}

export type OwnBody =
  | { readonly kind: "whole"; readonly body: HeldBody }
  | { readonly kind: "refuse"; readonly problem: Problem; readonly rest: BodyReader | null };

export async function readOwnBody(request: Request, { limitBytes, budget, tooLarge }: OwnBodyRules): Promise<OwnBody> {
  const { body } = request;
  if (body !== null && (declaredLength(request.headers) ?? 0) > limitBytes) {
    return { kind: "refuse", problem: tooLarge, rest: new ByteReader(body) };
  }
  const rules = { limitBytes, budget, idleMs: IDLE_MS, unlessHeld: "refuse", caller: request } as const;
  const read = await readBounded(body, rules).catch(() => null);
  switch (read?.kind) {
    case "whole":
      return read;
    case "over":
      return { kind: "refuse", problem: tooLarge, rest: read.rest };
    case "late":
      return { kind: "refuse", problem: LATE_BODY, rest: read.rest };
    case "no-room":
      return { kind: "refuse", problem: { code: "store-unavailable" }, rest: read.rest };
    case undefined:
      return { kind: "refuse", problem: BROKEN_BODY, rest: null };
  }
}

/** The answer to a request whose body, or the rest of it, is still to be taken off the wire. */
export function answerUnread(response: Response, rest: BodyReader | null): Response | Promise<Response> {
  return rest === null ? response : endAfter(response, drainBody(rest));
}
