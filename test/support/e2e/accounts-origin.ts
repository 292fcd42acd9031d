// An origin that knows opaque credentials: GET /v1/me says whose one is, and every other request is an effect of its caller. In the test's
// own process.

import { createServer, type IncomingMessage } from "node:http";
import { listen } from "../origin-server.ts";

export interface MeAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}

export interface AccountsOrigin {
  readonly url: string;
  /** Answers of /v1/me, by credential (`Authorization`, else the cookies); unknown ones get 401. May be changed at any time. */
  readonly answers: Map<string, MeAnswer>;
  /** The headers of all questions. */
  readonly questions: readonly IncomingMessage["headers"][];
  /** The callers of all effects with this key, in order: their credentials. */
  effects(key: string): readonly string[];
  close(): Promise<void>;
}

export const accountOf = (id: unknown): MeAnswer => ({ status: 200, body: JSON.stringify({ account: { id } }) });

export async function startAccountsOrigin(): Promise<AccountsOrigin> {
  const answers = new Map<string, MeAnswer>();
  const questions: IncomingMessage["headers"][] = [];
  const effects: { readonly key: string; readonly caller: string }[] = [];
  const server = createServer((request, response) => {
    const { authorization, cookie } = request.headers;
    const caller = authorization ?? cookie ?? "";
    if (request.url === "/v1/me") {
      questions.push(request.headers);
      const { status, body, headers = {}, delayMs = 0 } = answers.get(caller) ?? { status: 401, body: "" };
      setTimeout(() => response.writeHead(status, headers).end(body), delayMs);
      return;
    }
    request.resume().on("end", () => {
      effects.push({ key: String(request.headers["idempotency-key"]), caller });
      response.writeHead(201).end(`effect ${effects.length}`);
    });
  });
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    answers,
    questions,
    effects: (key) => effects.filter((one) => one.key === key).map(({ caller }) => caller),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
