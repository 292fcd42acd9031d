// The raw HTTP client of the conformance suite, and what tests need beside it.

import { randomUUID } from "node:crypto";

export { headerValue } from "./http-response.ts";
export type { HeaderPair, RawHead, RawResponse } from "./http-response.ts";
export { NoAnswerError, openRequest, rawRequest, requestBytes } from "../../src/conformance/http.ts";
export type { OpenRequest, RawRequest } from "../../src/conformance/http.ts";

/** A new idempotency key. */
export function freshKey(): string {
  return randomUUID();
}

/** Host and port of a URL, in the form that `rawRequest` takes. */
export function endpoint(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
