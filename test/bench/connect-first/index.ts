// A Worker that forwards to the origin, opening a bare connection to it first where the path says so.

import { connect } from "cloudflare:sockets";

interface Env {
  readonly ORIGIN: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/connect-first") {
      const socket = connect(new URL(env.ORIGIN).host);
      await socket.opened;
      void socket.close();
    }
    return fetch(`${env.ORIGIN}/upload`, { method: "POST", body: "{}" });
  },
} satisfies ExportedHandler<Env>;
