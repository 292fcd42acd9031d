// Operations: what a client requests under one key and retries until it has a final answer. All choices follow from the
// seed. Bodies are generated for each request, so that thousands of operations take no memory.

import type { Issuer } from "../support/issuer.ts";
import type { Random } from "./random.ts";
import type { Dimensions } from "./dimensions.ts";
import { POLICIES, isProtected, routesOf } from "./routes.ts";
import { makePlan, makeQuestions } from "./steps.ts";

export interface Operation {
  readonly key: string;
  readonly path: string;
  /** The callers that use the key. Each has its own record, which shares nothing with the others. */
  readonly scopes: readonly string[];
  /** The origin's plan, as JSON. */
  readonly plan: string;
  readonly verifications: string;
  /** What one of its attempts does is undone, so that its state may say nothing in the end. */
  readonly isUndone: boolean;
  /** How many credentials use the key within each scope. */
  readonly credentials: number;
  readonly bodyBytes: number;
  /** The answer is larger than the network buffers. */
  readonly isHuge: boolean;
  /** The route does not compare bodies, so every request with the key is a retry. */
  readonly comparesNone: boolean;
  /** Each request is a call of JSON-RPC, with an id of its own. */
  readonly isCall: boolean;
  /** Each request is signed. */
  readonly isSigned: boolean;
  /** Each request proves its caller with another token. */
  readonly hasTokens: boolean;
  /** The route accepts requests and tries them later. */
  readonly isAccepting: boolean;
  /** Whether duplicates wait. */
  readonly waits: boolean;
  /** The route compares JSON, so a retry may format it differently. */
  readonly isJson: boolean;
  /** The route leaves the member `timestamp` out of the comparison, so each try has its own. */
  readonly isSelected: boolean;
}

export const SCOPES = ["ann", "bob", "cid", "dora"] as const;

/** Requests above this size take a different path through the gateway. */
const LARGE_BYTES = 1 << 20;

/** So many that most tries come with another one, and some come with one that the gateway has asked about. */
const MANY_CREDENTIALS = 20;

export function makeOperation(random: Random, dimensions: Dimensions): Operation {
  const routes = routesOf(dimensions);
  const route = random.pick(routes.flatMap((one) => Array.from({ length: one.weight ?? 1 }, () => one)));
  const first = random.pick(SCOPES);
  const others = random.chance(0.15) ? SCOPES.filter((scope) => scope !== first).slice(0, random.int(1, 3)) : [];
  const isCall = route.calls === true;
  // The response to a call is given under another id only if it can be held.
  const isHuge = dimensions.has("stalls") && random.chance(0.02) && !isCall;
  const hasStates = route.state !== undefined;
  const extent = { isHuge, largeRefusals: dimensions.has("large-refusals"), undoes: hasStates };
  const plan = makePlan(random, POLICIES[route.path]?.timeoutMs ?? 0, extent);
  const comparesNone = route.none === true;
  const isAccepting = route.accepts !== undefined;
  return {
    key: makeKey(route.path, random),
    path: route.path,
    scopes: [first, ...others].map((scope) => `Bearer ${scope}`),
    plan: JSON.stringify(plan),
    isUndone: plan.some(({ name }) => name === "act-undo"),
    verifications: JSON.stringify(
      route.unknown === "verify" ? makeQuestions(random, dimensions.has("trickles"), hasStates) : [],
    ),
    credentials: route.identity === true ? MANY_CREDENTIALS : route.shared === true ? 2 : 1,
    // A key, and what the origin is asked about, is only looked for in a body that can be held, and only such a body can be stored.
    bodyBytes: random.chance(
      comparesNone
        ? 0.4
        : route.bodyKey === true || isAccepting || hasStates || isCall || route.signed === true
          ? 0
          : 0.03,
    )
      ? LARGE_BYTES + random.int(1, LARGE_BYTES)
      : random.int(2, 2_000),
    isJson: route.json === true,
    isSelected: route.selected === true,
    isHuge,
    comparesNone,
    isAccepting,
    isCall,
    isSigned: route.signed === true,
    hasTokens: route.tokens === true,
    waits: route.duplicate !== "reject",
  };
}

/** One that the route protects. */
function makeKey(path: string, random: Random): string {
  const key = `${path.slice(1)}-${random.hex(16)}`;
  return isProtected(path, key) ? key : makeKey(path, random);
}

/**
 * The request's body. `fingerprint` "other" is a different operation under the same key; `odd` formats the same JSON differently. `id` is
 * different in each try. Large bodies are compared as bytes.
 */
export function requestBody(operation: Operation, fingerprint: "first" | "other", odd: boolean, id: string): Buffer {
  const amount = fingerprint === "first" ? 100 : 101;
  const { key, bodyBytes, isJson, isSelected, isCall } = operation;
  const text = "x".repeat(bodyBytes);
  const isLarge = bodyBytes >= LARGE_BYTES / 2;
  const timestamp = isSelected && !isLarge ? { timestamp: [id] } : null;
  if (isCall) {
    const params = { name: "pay", arguments: { key, amount, text } };
    return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
  }
  return Buffer.from(
    odd && isJson && !isLarge
      ? `{ ${isSelected ? `"timestamp": "${id}", ` : ""}"text": "${text}",\n "amount": ${amount}.0, "key": "${key}" }`
      : JSON.stringify({ key, amount, text, ...timestamp }),
  );
}

/** What the caller sends as `Authorization`. No two tokens are the same. `issuer`: null where no route wants tokens. */
export async function credentialOf(
  issuer: Pick<Issuer, "token"> | null,
  { hasTokens }: Operation,
  caller: string,
): Promise<string> {
  return hasTokens && issuer !== null ? `Bearer ${await issuer.token(caller)}` : caller;
}
