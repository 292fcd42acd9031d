// Operations: what a client asks for once, under one key, and repeats until it knows. Everything of it follows from the
// seed; bodies are made anew for each request, so that thousands of operations take no room.

import type { Random } from "./random.ts";
import { ROUTES } from "./routes.ts";
import { POLICIES } from "./routes.ts";
import { makePlan } from "./steps.ts";

export interface Operation {
  readonly key: string;
  readonly path: string;
  /** Whose key it is: each has a record of its own, which may share nothing with the others. */
  readonly scopes: readonly string[];
  /** For the origin, as JSON. */
  readonly plan: string;
  readonly bodyBytes: number;
  /** The route compares JSON: a retry may write it in another way. */
  readonly isJson: boolean;
}

const SCOPES = ["ann", "bob", "cid", "dora"] as const;

/** Requests above this size take another way through the gateway. */
const LARGE_BYTES = 1 << 20;

export function makeOperation(random: Random): Operation {
  const route = random.pick(ROUTES);
  const first = random.pick(SCOPES);
  const others = random.chance(0.15) ? SCOPES.filter((scope) => scope !== first).slice(0, random.int(1, 3)) : [];
  return {
    key: `${route.path.slice(1)}-${random.hex(16)}`,
    path: route.path,
    scopes: [first, ...others].map((scope) => `Bearer ${scope}`),
    plan: JSON.stringify(makePlan(random, POLICIES[route.path]?.timeoutMs ?? 0)),
    bodyBytes: random.chance(0.03) ? LARGE_BYTES + random.int(1, LARGE_BYTES) : random.int(2, 2_000),
    isJson: route.json === true,
  };
}

/** The request's body. `print` "other" asks for something else under the same key; `odd` writes the same JSON differently. */
export function requestBody(operation: Operation, print: "first" | "other", odd: boolean): Buffer {
  const amount = print === "first" ? 100 : 101;
  const text = "x".repeat(operation.bodyBytes);
  const { key } = operation;
  return Buffer.from(
    odd && operation.isJson && operation.bodyBytes < LARGE_BYTES / 2
      ? `{ "text": "${text}",\n "amount": ${amount}.0, "key": "${key}" }`
      : JSON.stringify({ key, amount, text }),
  );
}
