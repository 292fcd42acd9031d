// Why nobody can listen at an address, in the words of who has to change something; workerd itself only says that it failed.

import { createServer } from "node:net";

/** `null` where it is free: it is listened on for a moment. `name` is how another port is named: `--port`. */
export function whyNotListen(host: string, port: number, name: string): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(reason("code" in error ? error.code : null, error.message)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });

  function reason(code: unknown, message: string): string {
    switch (code) {
      case "EADDRINUSE":
        return `port ${port} of ${host} is taken by another program: stop that one, or name another port with ${name}`;
      case "EACCES":
        return `port ${port} of ${host} is not for this user: name one above 1023 with ${name}`;
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        return `${host} is not an address of this machine`;
      default:
        return `nobody can listen on port ${port} of ${host}: ${message}`;
    }
  }
}
