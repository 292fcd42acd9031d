// Runs in workerd beside the gateway: at each request it calls the gateway's handler of cron triggers, as the platform does each minute.

export default {
  async fetch(_request, env) {
    const { outcome } = await env.GATEWAY.scheduled({ scheduledTime: new Date(), cron: "* * * * *" });
    return new Response(outcome);
  },
};
