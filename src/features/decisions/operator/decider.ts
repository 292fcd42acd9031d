// Decisions as the API and the console ask for them: over the objects that keep the records, and audited.

import { shardStub } from "../../../kernel/object/call-shard.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { unlessSilent } from "../../../operator/ask-shards.ts";
import { DECIDE_CALL, type DecidedRecord } from "../object/decided-records.ts";
import { decideAll, type DecideRecords } from "./decide-all.ts";

export function decider({
  namespace,
  directory,
  audit,
}: Pick<WorkerKernel, "namespace" | "directory" | "audit">): DecideRecords {
  return (request) =>
    decideAll(request, {
      addressesOf: (begin) => directory.of(begin),
      ask: (address, body) => {
        const answer = shardStub(namespace, address).fetch(DECIDE_CALL.url, { method: "POST", body });
        return unlessSilent(
          address,
          answer.then((response) => response.json<readonly (readonly DecidedRecord[])[]>()),
        );
      },
      audit,
    });
}
