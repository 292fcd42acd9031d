// A page as a response.

import type { HtmlEscapedString } from "hono/utils/html";

export async function show(
  page: Rendered,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const text = await page;
  return new Response(String(text), { status, headers: { "Content-Type": "text/html; charset=utf-8", ...headers } });
}

export type Rendered = HtmlEscapedString | Promise<HtmlEscapedString>;
