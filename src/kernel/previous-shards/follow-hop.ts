// Where the Worker goes on when an object sends it to another one, while the layout changes (kernel/previous-shards/hops.ts).

import { type Layout, layoutName } from "../config/layout.ts";
import { named, namedElders } from "../request/exchange-request.ts";
import { Contradiction, type Hop } from "./hops.ts";
import type { Homed, NamesIn } from "../request/message.ts";

/**
 * The most calls for one request. Each object that it is sent to is of a layout that it has not been to, unless two deployments
 * each follow the other.
 */
export const MAX_HOPS = 8;

/** The next object's layout, and what its message says of where the record is. */
export type Followed = Required<Pick<Homed, "record" | "layout" | "elders" | "absent">>;

/** Follows an object of `layout`, to which the message with `head` was sent. */
export async function follow(hop: Hop, layout: Layout, head: Homed, namesIn: NamesIn): Promise<Followed> {
  if (hop.kind === "unreachable") throw new Error("an object of an older layout did not answer");
  if (hop.kind === "contradiction") throw new Contradiction("two layouts each follow the other");
  const to = hop.kind === "moved" ? hop.to : layout;
  const visited = visitedBefore(layout, head, [to, ...hop.elders]);
  const [names, elders, others] = await Promise.all([
    namesIn(to),
    namedElders(hop.elders, namesIn),
    namedElders(visited, namesIn),
  ]);
  return {
    record: { ...head.record, ...named(names) },
    layout: to,
    elders: [
      ...elders,
      ...others.map((one) => ({ layout: one.layout, recordIds: one.recordIds, isVisited: true }) as const),
    ],
    absent: hop.absent,
  };
}

/** Layouts whose objects have sent the request on, without those that the next object hears of anyway. */
function visitedBefore(layout: Layout, head: Homed, others: readonly Layout[]): readonly Layout[] {
  const before = (head.elders ?? []).flatMap((elder) => (elder.isVisited === true ? [elder.layout] : []));
  const heard = new Set(others.map(layoutName));
  return [...before, layout].filter((one) => !heard.has(layoutName(one)));
}
