// Callers that sign their requests, as UCP's platforms do: each has a profile, and two keys in it. Whichever of them signs, it is the same caller.

import { startAgentServer } from "../support/agent-server.ts";
import type { HeaderPair } from "../support/http.ts";
import { makeAgentKey, signRequest, type UnsignedRequest } from "../support/http-signer.ts";

export interface ChaosAgents {
  /** The URLs of their profiles, as an identity trusts them. */
  readonly trust: string;
  /** The headers of a request that this caller signs, with another key each time. */
  sign(scope: string, request: UnsignedRequest): Promise<readonly HeaderPair[]>;
  close(): Promise<void>;
}

export async function startAgents(scopes: readonly string[]): Promise<ChaosAgents> {
  const server = await startAgentServer();
  const agents = new Map(
    await Promise.all(
      scopes.map(async (scope) => {
        const keys = await Promise.all([makeAgentKey("ES256"), makeAgentKey("EdDSA")]);
        return [nameOf(scope), { keys, url: server.publish(`/profiles/${nameOf(scope)}`, ...keys) }] as const;
      }),
    ),
  );
  let signed = 0;
  return {
    trust: `${server.url}/profiles/*`,
    sign(scope, { headers, ...request }) {
      const agent = agents.get(nameOf(scope));
      signed += 1;
      const key = agent?.keys[signed % agent.keys.length];
      if (agent === undefined || key === undefined) throw new Error(`${scope} signs nothing`);
      return signRequest({ ...request, headers: [...headers, ["UCP-Agent", `profile="${agent.url}"`]] }, key);
    },
    close: () => server.close(),
  };
}

/** Of a scope, which is a credential. */
function nameOf(scope: string): string {
  return scope.replace("Bearer ", "");
}
