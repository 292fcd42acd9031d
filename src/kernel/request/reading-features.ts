// What features do when a request is read, as the ports of exchange-request.ts.

import type { ProverPorts, ReadingFunctions } from "../request-feature.ts";
import type { ReadPorts } from "./exchange-request.ts";
import { NO_PROOFS } from "./scope.ts";

/** The ports that features fill, as far as they are there. */
export function readingFeatures(functions: ReadingFunctions, ports: ProverPorts): Omit<ReadPorts, "encryptions"> {
  const { callerProver, keySearch, graphqlReader, callSearch } = functions;
  const { editReplay, makeContentKey, canonicalMultipart, shapeProblem } = functions;
  return {
    proveCaller: callerProver?.(ports) ?? (() => Promise.resolve(NO_PROOFS)),
    ...(keySearch === undefined ? null : { searchKey: keySearch(graphqlReader ?? null) }),
    ...(makeContentKey === undefined ? null : { makeContentKey }),
    ...(callSearch === undefined ? null : { searchCall: callSearch }),
    ...(editReplay === undefined ? null : { editReplay }),
    ...(canonicalMultipart === undefined ? null : { canonicalMultipart }),
    ...(shapeProblem === undefined ? null : { shapeProblem }),
  };
}
