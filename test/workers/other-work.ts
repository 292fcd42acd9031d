// A Worker that is a gateway and does other work too: some paths are its own, and what no route protects is answered here.

import { createOnceway } from "../../src/library.ts";

export { KeyShard } from "../../src/library.ts";

const onceway = createOnceway({
  unprotected: (request, env: Cloudflare.Env) =>
    Response.json({ page: new URL(request.url).pathname, protects: env.ROUTES.length }),
});

export default {
  ...onceway,
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/mine") return new Response("mine");
    return onceway.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Cloudflare.Env>;
