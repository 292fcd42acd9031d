// Reads a small JSON answer of another server, an issuer or the origin, within bounds on its size and time. It is not trusted: too much
// of it, or anything but JSON, is a failure. Also finds the caller's id in such JSON, or in the claims of a token.

import { readBounded } from "./body.ts";
import { ByteBudget } from "./byte-budget.ts";
import type { Fetcher } from "./pass-through.ts";

export interface JsonAnswer {
  readonly status: number;
  /** `undefined` where the status is not 200. */
  readonly json: unknown;
}

export interface JsonQuestion {
  readonly url: string;
  readonly headers: Headers;
  readonly maxBytes: number;
  /** For the whole answer. */
  readonly timeoutMs: number;
}

/** What all such answers of an isolate may hold while they are read. */
const memory = new ByteBudget(4 << 20, 60_000);

/** Asks with GET, and follows no redirect. Rejects when there is no answer in time, or no JSON in an answer of 200. */
export async function fetchJson(
  { url, headers, maxBytes, timeoutMs }: JsonQuestion,
  target: Fetcher,
): Promise<JsonAnswer> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    const response = await target.fetch(url, { headers, redirect: "manual", signal: controller.signal });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { status: response.status, json: undefined };
    }
    const body = await readBounded(response.body, {
      limitBytes: maxBytes,
      budget: memory,
      idleMs: timeoutMs,
      unlessHeld: "refuse",
      caller: null,
    });
    if (body.kind !== "whole") {
      body.rest?.cancel();
      throw new Error(body.kind === "over" ? `the answer has more than ${maxBytes} bytes` : "the answer took too long");
    }
    try {
      return { status: 200, json: parse(body.body.bytes) };
    } finally {
      body.body.free();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The platform's own error repeats a part of the text, which would come into the log: it may be a secret. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    throw new Error("the answer is not JSON");
  }
}

/** Ids are remembered by the thousand, and nobody's is longer. */
const MAX_LENGTH = 1024;

/** Follows the names to an id; `null` if there is none. A number is one only if `numbers` says so, and if JSON has not rounded it. */
export function callerIdAt(json: unknown, names: readonly string[], numbers: "numbers" | "text-only"): string | null {
  let value = json;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    value = Reflect.get(value, name);
  }
  if (typeof value === "number") return numbers === "numbers" && Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== "string" || value === "" || value.length > MAX_LENGTH) return null;
  // Lone surrogates would all be digested as the same character.
  return value.isWellFormed() ? value : null;
}
