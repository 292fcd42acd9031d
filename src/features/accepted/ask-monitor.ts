// Asks objects what became of an accepted request.

import { type Layout, layoutName } from "../../kernel/config/layout.ts";
import { OPTIONS, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { placeOf } from "../../kernel/object/shard-place.ts";
import { MAX_HOPS } from "../../kernel/previous-shards/follow-hop.ts";
import { STATUS_HEADER } from "../../kernel/request/headers.ts";
import type { AskMonitor } from "./monitor.ts";
import { MONITOR_CALL, NO_MONITOR_STATUS } from "./monitor-question.ts";

/** For the monitors of accepted requests. Their answers come from whichever object keeps the record, and no body is at stake. */
export function monitorAsker(namespace: DurableObjectNamespace): AskMonitor {
  return async ({ own, elders }, questionIn) => {
    const layouts = [own, ...elders.toReversed()];
    const most = layouts.length + MAX_HOPS;
    const asked = new Set<string>();
    try {
      for (const layout of layouts) {
        if (asked.has(layoutName(layout)) || asked.size === most) continue;
        asked.add(layoutName(layout));
        const question = await questionIn(layout);
        const place = placeOf(question.record.id, layout);
        const body = JSON.stringify(question);
        const response = await withRetries(() =>
          shardStub(namespace, place).fetch(MONITOR_CALL.url, { ...OPTIONS, body }),
        );
        if (!isNotHere(response)) return response;
        const { next }: { readonly next: Layout | null } = await response.json();
        if (next !== null) layouts.push(next);
      }
      return "not-found";
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
