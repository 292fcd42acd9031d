// Asks objects what became of an accepted request.

import { elsewhereIn, type FindObject } from "../../kernel/elsewhere.ts";
import { locate, OPTIONS, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { placeOf } from "../../kernel/object/shard-place.ts";
import { STATUS_HEADER } from "../../kernel/request/headers.ts";
import type { AskMonitor } from "./monitor.ts";
import { MONITOR_CALL, NO_MONITOR_STATUS } from "./monitor-question.ts";

/** For the monitors of accepted requests. Their answers come from whichever object keeps the record, and no body is at stake. */
export function monitorAsker(namespace: DurableObjectNamespace, findObject: FindObject): AskMonitor {
  return async (placing, layouts, questionIn) => {
    try {
      const answer = await findObject(placing, layouts, async (layout, previous) => {
        const question = await questionIn(layout, previous);
        const isForeign = layout.jurisdiction !== layouts.own.jurisdiction;
        const located = isForeign ? await locate(namespace, layout, question) : null;
        if (located !== null) return located;
        const body = JSON.stringify(question);
        const place = placeOf(placing, layout);
        const given = await withRetries(() =>
          shardStub(namespace, place).fetch(MONITOR_CALL.url, { ...OPTIONS, body }),
        );
        return elsewhereIn(given) ?? { kind: "given", given };
      });
      return answer !== null && isNotHere(answer) ? "not-found" : answer;
    } catch (error) {
      console.error({ message: "shard unavailable", reason: String(error) });
      return null;
    }
  };
}

/** Answers to clients never say this: an origin's cannot have the header. */
function isNotHere({ status, headers }: Response): boolean {
  return status === NO_MONITOR_STATUS && headers.get(STATUS_HEADER) === "monitor-not-found";
}
