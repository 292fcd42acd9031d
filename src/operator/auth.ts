// An operator is the holder of a token (http/token-auth.ts). What is refused is counted, for metrics.

import type { Tokens } from "../config/read-tokens.ts";
import type { OperatorProblem } from "../core/operator-problem.ts";
import { bearerToken, type Key, TokenAuth } from "../http/token-auth.ts";

/** `admin` may read and change, `reader` may read. */
export type Role = "admin" | "reader";

export type Admission =
  | { readonly kind: "admitted"; readonly role: Role }
  | { readonly kind: "refused"; readonly problem: OperatorProblem };

export class OperatorAuth {
  readonly #auth: TokenAuth<Role>;
  /** Requests that this isolate has refused, for metrics. */
  readonly refused = { unauthorized: 0, throttled: 0, forbidden: 0 };

  constructor({ admin, read }: Tokens) {
    const readers: readonly Key<Role>[] = read === null ? [] : [{ token: read, opens: "reader" }];
    this.#auth = new TokenAuth<Role>([{ token: admin, opens: "admin" }, ...readers]);
  }

  /** For the `Authorization` header of a request; `null` when it has none. */
  admit(authorization: string | null, address: string, now: number): Promise<Admission> {
    return this.admitToken(bearerToken(authorization), address, now);
  }

  /** For a token from any source. */
  async admitToken(token: string | null, address: string, now: number): Promise<Admission> {
    const answer = await this.#auth.admit(token, address, now);
    switch (answer.kind) {
      case "admitted":
        return { kind: "admitted", role: answer.opened };
      case "unauthorized":
        this.refused.unauthorized += 1;
        return { kind: "refused", problem: { code: "operator-unauthorized" } };
      case "throttled": {
        this.refused.throttled += 1;
        const { retryAfterMs } = answer;
        return { kind: "refused", problem: { code: "operator-throttled", retryAfterMs } };
      }
    }
  }

  /** For a reader who asks for more. */
  forbid(): OperatorProblem {
    this.refused.forbidden += 1;
    return { code: "operator-forbidden" };
  }
}
