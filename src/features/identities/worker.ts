// Identities in the Worker: who the caller of a request is.

import type { ProveCaller, ProverPorts } from "../../kernel/request-feature.ts";
import { IdentityProver } from "./identity.ts";

export function callerProver(ports: ProverPorts): ProveCaller {
  const identities = new IdentityProver(ports);
  return (request) => identities.prove(request);
}
