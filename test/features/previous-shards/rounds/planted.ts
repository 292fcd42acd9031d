// Faults that a change of the number of shards could have, each planted into a copy of the sources. The checker must find each one. What
// decides between turns of objects that kills and random requests do not reach is left to test/simulation.

import type { Plan } from "./mixed.ts";
import type { Point } from "./points.ts";
import type { Patch } from "./sources.ts";

export interface Fault {
  readonly name: string;
  readonly patches: readonly Patch[];
  readonly plan: Plan;
  /** Where the process is killed, if the fault shows only then. They are points that the faulty code still passes: a round waits for each. */
  readonly killsAt: readonly Point[];
}

const FEATURE = "features/previous-shards/object/feature.ts";
const CLOSED = "features/previous-shards/object/closed-object.ts";
const WALK = "features/previous-shards/walk.ts";

/** Without the trigger, which would turn some of the faults below into refusals. */
const NO_TRIGGER: Patch = { file: CLOSED, find: "      sql.exec(TRIGGER);\n", put: "" };

/** Found by rounds of requests through all deployments (mixed.ts). */
export const FAULTS: readonly Fault[] = [
  { name: "no layout is asked", patches: [], plan: "strangers", killsAt: [] },
  {
    name: "a close in memory only",
    patches: [
      NO_TRIGGER,
      {
        file: CLOSED,
        find: '      sql.exec("INSERT INTO closed (one, next, at) VALUES (1, ?, ?)", JSON.stringify(next), now);\n',
        put: "",
      },
    ],
    plan: "listed",
    killsAt: ["claim-durable", "told-of-closed"],
  },
  {
    name: "a close that half of the looks forget",
    patches: [
      NO_TRIGGER,
      {
        file: FEATURE,
        find: "if (closing !== null) return",
        put: "if (closing !== null && Math.random() < 0.5) return",
      },
    ],
    plan: "listed",
    killsAt: [],
  },
  {
    name: "a closed object is asked no more",
    patches: [
      {
        file: CLOSED,
        find: "this.#isEmpty ||=",
        put: "this.#isEmpty ||= this.#closing !== null ||",
      },
    ],
    plan: "listed",
    killsAt: [],
  },
  {
    name: "a Worker goes along its own list",
    patches: [
      {
        file: WALK,
        find: "          at = answer.next;\n",
        put: "          at = nextOf(at, layouts) ?? answer.next;\n",
      },
    ],
    plan: "forgetful",
    killsAt: [],
  },
];
