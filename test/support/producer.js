// The gateway with a producer beside it, for wrangler's local queue: `POST /send` sends a message, `GET /letters` has what came to the
// queue of dead letters.

import gateway from "../../src/index.ts";

export * from "../../src/index.ts";

const letters = [];

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/letters") return Response.json(letters);
    if (pathname !== "/send") return gateway.fetch(request);
    await env.ORDERS.send(await request.json());
    return new Response("sent");
  },
  async queue(batch) {
    if (batch.queue === "orders") await gateway.queue(batch);
    else for (const { body } of batch.messages) letters.push(body);
  },
};
