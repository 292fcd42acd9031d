// A Worker that only forwards: what the gateway is measured against.

interface Env {
  readonly ORIGIN: string;
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    return fetch(env.ORIGIN + pathname + search, request);
  },
};

/** The harness binds a class of this name; nothing calls it here. */
export class KeyShard {
  fetch(): Response {
    return new Response(null, { status: 404 });
  }
}
