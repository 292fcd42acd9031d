// The entry for operators: the API and the console. Both share one count of wrong tokens per address.

import type { Config } from "../config/resolved.ts";
import type { Tokens } from "../config/read-tokens.ts";
import { createOperatorApi } from "./api.ts";
import { OperatorAuth } from "./auth.ts";
import { createConsole } from "./console/console.tsx";
import type { Operator } from "./operator.ts";
import type { TryQueue } from "../events/trial.ts";
import type { TrafficReader } from "./traffic-reader.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** `tokens` is `null` when operators have no access: then every path is 404. */
export function createOperate(
  { operatorPath, routes }: Config,
  tokens: Tokens | null,
  operator: Operator,
  reader: TrafficReader,
  tryQueue: TryQueue,
): Handle {
  if (tokens === null) return createOperatorApi(operatorPath, null, operator, reader, tryQueue);
  const auth = new OperatorAuth(tokens);
  const api = createOperatorApi(operatorPath, auth, operator, reader, tryQueue);
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

/** All tokens of operators. */
export function operatorTokens(tokens: Tokens | null): readonly string[] {
  return tokens === null ? [] : [tokens.admin, ...(tokens.read === null ? [] : [tokens.read])];
}
