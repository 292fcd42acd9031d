// Runs in workerd beside the gateway: it gets the platform's own traces as they are made, and shows the span of each invocation at each request.

const invocations = [];

export default {
  fetch: () => Response.json(invocations),
  tailStream({ event }) {
    const attributes = {};
    invocations.push({ url: event.info.url ?? null, attributes });
    return {
      attributes: (next) => {
        if (next.spanContext.spanId !== event.spanId) return;
        for (const { name, value } of next.event.info) {
          attributes[name] = typeof value === "bigint" ? Number(value) : value;
        }
      },
    };
  },
};
