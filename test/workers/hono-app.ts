// A Hono application behind `onceway/hono`, as its page shows it: its handlers are the origin. It tells what they did.

import { Hono } from "hono";

import { idempotency, originOf } from "../../src/hono.ts";

export { KeyShard } from "../../src/hono.ts";

interface Call {
  readonly key: string | undefined;
  readonly attempt: string | undefined;
  state: "begun" | "ended";
}

/** What the handlers did in this isolate. */
const calls: Call[] = [];
/** The keys whose held calls may end. */
const released = new Set<string | undefined>();

async function untilReleased(key: string | undefined): Promise<void> {
  while (!released.has(key)) await scheduler.wait(10);
}

const app = new Hono();

app.use(async (c, next) => {
  c.res.headers.set("X-Before", "seen");
  await next();
  c.res.headers.set("X-Outer", "seen");
});
app.get("/calls", (c) => c.json(calls));
app.put("/released/:key", (c) => {
  released.add(c.req.param("key"));
  return c.body(null, 204);
});
app.use(idempotency());
app.post("/v1/payments", async (c) => {
  const { held = false } = await c.req.json<{ readonly held?: boolean }>();
  const key = c.req.header("idempotency-key");
  const call: Call = { key, attempt: c.req.header("idempotency-attempt"), state: "begun" };
  calls.push(call);
  if (held) await untilReleased(key);
  call.state = "ended";
  return c.json({ payment: crypto.randomUUID() }, 201, { "X-Made": "once" });
});
app.post("/v1/streams", () => {
  const pieces = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (let at = 0; at < 3; at += 1) {
        controller.enqueue(new TextEncoder().encode(`piece ${at} ${crypto.randomUUID()}\n`));
        await scheduler.wait(20);
      }
      controller.close();
    },
  });
  return new Response(pieces, { headers: { "Content-Type": "text/plain" } });
});
app.post("/v1/coded", async () => {
  const coded = new Response("coded").body?.pipeThrough(new CompressionStream("gzip"));
  const body = await new Response(coded).arrayBuffer();
  return new Response(body, { headers: { "Content-Encoding": "gzip" }, encodeBody: "manual" });
});
app.all("/v1/notes", (c) => c.json({ method: c.req.method, headers: [...c.req.raw.headers.keys()] }));

export default app;
export class Origin extends originOf(app) {}
