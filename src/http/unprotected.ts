// What a route with `on_store_failure = "open"` does when the record cannot be reached: the request goes to the origin as
// if nothing protected it, and the answer says so. A retry of it may take effect once more; the operator chose that.

import { finalStatus } from "../core/verdict.ts";
import { ECHO_HEADER, responseHeaders, UNPROTECTED_HEADER } from "./headers.ts";
import type { ExchangeMessage } from "./message.ts";
import type { Fetcher } from "./pass-through.ts";
import { problemResponse } from "./problem-response.ts";

export async function forwardUnprotected({ head, body }: ExchangeMessage, target: Fetcher | null): Promise<Response> {
  if (target === null) return problemResponse({ code: "origin-unreachable" }, head.request.echo);
  console.error({ message: "record unreachable, request forwarded UNPROTECTED", record: head.record.id });
  const { method, url, headers, hasBody } = head.call;
  try {
    const request = new Request(url, {
      method,
      headers: headers.map(([name, value]) => [name, value]),
      redirect: "manual",
      ...(hasBody ? { body } : {}),
    });
    const response = await target.fetch(request, { redirect: "manual", encodeResponseBody: "manual" });
    const { statusText } = response;
    const status = finalStatus(response.status);
    const pairs = responseHeaders(response.headers).map(([name, value]) => [name, value]);
    const marked = [...pairs, [ECHO_HEADER, head.request.echo], [UNPROTECTED_HEADER, "true"]];
    return new Response(response.body, { status, statusText, headers: marked, encodeBody: "manual" });
  } catch (error) {
    console.error({ message: "unprotected call failed", reason: String(error) });
    return problemResponse({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }, head.request.echo);
  }
}
