// Runs in workerd beside the gateway: calls its queue handler with the messages that the test's broker posts, and answers
// with what the handler decided. With `?unprotected`, it sends each message to the origin itself, as a consumer without the
// gateway does.

export default {
  async fetch(request, env) {
    const { queue, messages } = await request.json();
    const { searchParams } = new URL(request.url);
    const origin = searchParams.get("unprotected");
    if (origin !== null) return Response.json(await deliverUnprotected(origin, messages));
    for (const message of messages) message.timestamp = new Date(message.timestamp);
    return Response.json(await env.GATEWAY.queue(queue, messages));
  },
};

async function deliverUnprotected(origin, messages) {
  const explicitAcks = [];
  const retryMessages = [];
  await Promise.all(
    messages.map(async ({ id, attempts, body }) => {
      const headers = {
        "content-type": "application/json",
        "idempotency-key": id,
        "idempotency-attempt": attempts,
        "onceway-message-id": id,
        "onceway-delivery": attempts,
      };
      const response = await fetch(origin, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
      await response?.arrayBuffer();
      if (response?.ok === true) explicitAcks.push(id);
      else retryMessages.push({ msgId: id, delaySeconds: 1 });
    }),
  );
  return { outcome: "ok", explicitAcks, retryMessages, ackAll: false, retryBatch: { retry: false } };
}
