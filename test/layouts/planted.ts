// Faults that the change of a layout could have, each planted into a copy of the sources. The checker must find each one. What
// decides between turns of objects that kills and random requests do not reach is left to test/simulation.

import type { Plan } from "./mixed.ts";
import type { Patch } from "./sources.ts";

export interface Fault {
  readonly name: string;
  readonly patches: readonly Patch[];
  readonly plan: Plan;
  /** Whether it shows only when the process is killed. */
  readonly needsKills: boolean;
}

const SEAL = "kernel/previous-shards/seal.ts";
const WRITES_SEAL = `      this.#sql.exec("INSERT INTO seal (one, next, at) VALUES (1, ?, ?)", next, now);
      this.#sql.exec(TRIGGER);
`;

/** Without the trigger, which would turn most of the faults below into refusals. */
const NO_TRIGGER: Patch = { file: SEAL, find: "      this.#sql.exec(TRIGGER);\n", put: "" };

/** What a newer object believes is left is not used. */
const NO_LIST: Patch = {
  file: "kernel/previous-shards/key-lister.ts",
  find: "for (let digits = this.#digits; digits <= LIST_DIGITS; digits += 1) {",
  put: "for (let digits = LIST_DIGITS + 1; digits <= LIST_DIGITS; digits += 1) {",
};

const NO_SEAL: Patch = {
  file: SEAL,
  find: "if (this.#next !== null) return this.#next;",
  put: "if (next !== '') return next;",
};

/** Found by rounds of requests through all deployments (mixed.ts). */
export const FAULTS: readonly Fault[] = [
  { name: "no layout is asked", patches: [], plan: "strangers", needsKills: false },
  {
    name: "no seal: the older object is asked about each key",
    patches: [NO_SEAL, NO_LIST],
    plan: "listed",
    needsKills: false,
  },
  { name: "no seal: a list of what the older object holds", patches: [NO_SEAL], plan: "listed", needsKills: false },
  {
    name: "seal in memory only",
    patches: [{ file: SEAL, find: WRITES_SEAL, put: "" }],
    plan: "listed",
    needsKills: true,
  },
  {
    name: "own seal not looked at",
    patches: [
      NO_TRIGGER,
      { file: "kernel/record/home.ts", find: 'if (seal !== null) return { kind: "moved", to: seal };', put: "" },
    ],
    plan: "listed",
    needsKills: false,
  },
  {
    name: "a record of the older object is not believed",
    patches: [
      {
        file: "kernel/previous-shards/elders.ts",
        find: "if (!answer.here) words.set(",
        put: "words.set(",
      },
      { file: "kernel/previous-shards/elders.ts", find: "      return answer.here;\n", put: "      return false;\n" },
    ],
    plan: "listed",
    needsKills: false,
  },
  {
    name: "a third layout that lists the first only, and the first one's seal not followed",
    patches: [
      {
        file: "kernel/record/home.ts",
        find: "if (next !== null && !heard.has(next)) return",
        put: "if (next === '') return",
      },
    ],
    plan: "forgetful",
    needsKills: false,
  },
];

/** Found when the clock goes back (clock-scenario.ts). */
export const CLOCK_FAULT: readonly Patch[] = [
  {
    file: "kernel/record/life-cycle.ts",
    find: 'return { record: null, reply: { type: "absent" }, deadline: null };',
    put: 'return unchanged(expired, { type: "absent" });',
  },
];
