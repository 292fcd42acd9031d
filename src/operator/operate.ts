// The entry for operators: the API and the console. Both share one count of wrong tokens per address.

import type { Config } from "../config/resolved.ts";
import type { Tokens } from "../config/read-tokens.ts";
import { createOperatorApi } from "./api.ts";
import { OperatorAuth } from "./auth.ts";
import { createConsole } from "./console/console.tsx";
import type { Operator } from "./operator.ts";
import type { TrafficReader } from "./traffic-reader.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** `tokens` is `null` when operators have no access: then every path is 404. */
export function createOperate(
  { operatorPath, routes }: Config,
  tokens: Tokens | null,
  operator: Operator,
  reader: TrafficReader,
): Handle {
  if (tokens === null) return createOperatorApi(operatorPath, null, operator, reader);
  const auth = new OperatorAuth(tokens);
  const api = createOperatorApi(operatorPath, auth, operator, reader);
  const paths = [...new Set(routes.map(({ path }) => path))];
  const console = createConsole({
    basePath: operatorPath,
    operator,
    traffic: () => reader.traffic(),
    warnings: () => reader.warnings(),
    routes: paths,
    tokens,
    auth,
  });
  return (request) => {
    const { pathname } = new URL(request.url);
    const isConsoles = pathname === operatorPath || pathname.startsWith(`${operatorPath}/console/`);
    return isConsoles ? console.fetch(request) : api(request);
  };
}

/**
 * Whether a request carries an operator's token, whatever its path: with a mistyped address the origin would get the token.
 * Compares only values as long as a token, and compares them in full.
 */
export function tokenSpotter(tokens: Tokens | null): (headers: Headers) => boolean {
  const credentials = tokens === null ? [] : [tokens.admin, ...(tokens.read === null ? [] : [tokens.read])];
  return (headers) => {
    const given = credentials.length === 0 ? null : headers.get("authorization");
    if (given === null) return false;
    const [, token = ""] = /^Bearer +([^ ]+) *$/i.exec(given) ?? [];
    return credentials.some((credential) => isSame(token, credential));
  };
}

function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
