// A Worker that is a gateway and does other work too: some paths are its own, and what no route protects is answered here.

import { createOnceway } from "../../src/library.ts";

export { KeyShard } from "../../src/library.ts";

const onceway = createOnceway();

/** Answers what no route protects. */
function pages(request: Request): Response {
  const { pathname } = new URL(request.url);
  return Response.json({ page: pathname, attempt: request.headers.get("Idempotency-Attempt") });
}

export default {
  fetch(request) {
    if (new URL(request.url).pathname === "/mine") return new Response("mine");
    return onceway.fetch(request, pages);
  },
  queue: (batch) => onceway.queue(batch),
} satisfies ExportedHandler<Cloudflare.Env>;
