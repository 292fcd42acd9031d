// What the console needs of the gateway.

import type { Tokens } from "../../config/read-tokens.ts";
import type { OperatorAuth } from "../auth.ts";
import type { Operator } from "../operator.ts";
import type { OutcomeCount } from "./traffic.ts";

export interface ConsolePorts {
  /** Where operators come in: `/_onceway`. */
  readonly basePath: string;
  readonly operator: Operator;
  /** What the routes' requests came to, since the counters began. */
  readonly traffic: () => Promise<readonly OutcomeCount[]>;
  /** The configured routes' paths. */
  readonly routes: readonly string[];
  readonly tokens: Tokens;
  /** The API's own: wrong tokens count together, wherever they are tried. */
  readonly auth: OperatorAuth;
}
