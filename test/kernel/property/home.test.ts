// Where a new key begins, over any knowledge of elders; and that a home elsewhere never changes what happens to a record that
// exists.

import fc from "fast-check";
import { expect, it } from "vitest";
import { type Elder, type Elsewhere, type Home, homeOf, type HomeFacts, OWN } from "../../../src/kernel/record/home.ts";
import { step } from "../../../src/kernel/record/life-cycle.ts";
import { attemptId, epochMs } from "../../../src/kernel/record/units.ts";
import { FINGERPRINT, history, operatedHistory, play, policyFor } from "../../support/life-cycle-history.ts";

const RUNS = { numRuns: 3000 };
const NAMES = ["1", "2", "3", "4"];

const elder: fc.Arbitrary<Elder> = fc.record({
  layout: fc.constantFrom(...NAMES.slice(0, 3)),
  next: fc.constantFrom(null, ...NAMES),
  isAbsent: fc.boolean(),
  isNamed: fc.boolean(),
  isVisited: fc.boolean(),
});

const facts: fc.Arbitrary<HomeFacts> = fc.record({
  layout: fc.constantFrom("3", "4"),
  seal: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...NAMES) }),
  elders: fc.uniqueArray(elder, { selector: ({ layout }) => layout, maxLength: 3 }),
});

const elsewhere: fc.Arbitrary<Elsewhere> = fc.oneof(
  fc.record({ kind: fc.constant("moved" as const), to: fc.constantFrom(...NAMES) }),
  fc.record({ kind: fc.constant("ask" as const), elder: fc.constantFrom(...NAMES) }),
  fc.constant({ kind: "unnamed" as const }),
);

function checkFacts(check: (facts: HomeFacts, home: Home) => void): void {
  fc.assert(
    fc.property(facts, (known) => check(known, homeOf(known))),
    RUNS,
  );
}

/** Whether a layout is one that may own the key, by its own seal or by that of another, or that the request names as such. */
function isCounted({ layout, isVisited, next }: Elder, elders: readonly Elder[]): boolean {
  return !isVisited || next !== null || elders.some((other) => other.next === layout);
}

it("a request is never sent back to a layout that it has visited: that one is asked instead", () => {
  checkFacts(({ seal, elders }, home) => {
    if (seal !== null || home.kind !== "moved") return;
    expect(elders.map((one) => one.layout)).not.toContain(home.to);
  });
});

it("a layout that was only visited is asked if an elder is sealed for it, and otherwise counts for nothing", () => {
  checkFacts(({ elders, ...known }, home) => {
    if (home.kind === "ask") {
      const asked = elders.find(({ layout }) => layout === home.elder);
      expect(asked !== undefined && isCounted(asked, elders)).toBe(true);
    }
    expect(homeOf({ ...known, elders: elders.filter((one) => isCounted(one, elders)) })).toEqual(home);
  });
});

it("a new key begins here only if this object is open, and every elder is sealed for a layout known here and lacks the key", () => {
  checkFacts(({ layout, seal, elders }, home) => {
    const counted = elders.filter((one) => isCounted(one, elders));
    const heard = new Set([layout, ...counted.map((one) => one.layout)]);
    const isFree = counted.every(({ isAbsent, next }) => isAbsent && next !== null && heard.has(next));
    expect(home.kind === "own").toBe(seal === null && isFree);
  });
});

it("a sealed object sends every new key to the layout for which it is sealed, and asks nobody", () => {
  checkFacts(({ seal }, home) => {
    if (seal !== null) expect(home).toEqual({ kind: "moved", to: seal });
  });
});

it("only an elder that has not said that it lacks the key is asked, and only by a name that the request has given", () => {
  checkFacts(({ elders }, home) => {
    if (home.kind !== "ask") return;
    const asked = elders.find(({ layout }) => layout === home.elder);
    expect(asked).toMatchObject({ isNamed: true });
    expect(asked?.isAbsent === true && asked.next !== null).toBe(false);
  });
});

it("asking ends: once every elder has answered, the key begins here or in a layout that an elder named", () => {
  checkFacts((known) => {
    const answered = known.elders.map((one) => ({ ...one, isAbsent: true, next: one.next ?? known.layout }));
    const home = homeOf({ ...known, elders: answered });
    expect(["own", "moved"]).toContain(home.kind);
    if (home.kind === "moved") expect([known.seal, ...answered.map(({ next }) => next)]).toContain(home.to);
  });
});

const LATER = attemptId("later");

it("a request finds a record that exists, wherever new keys begin, and begins nothing where there is none", () => {
  fc.assert(
    fc.property(operatedHistory, elsewhere, fc.nat(400), (moments, home, later) => {
      const last = play(moments).at(-1);
      const record = last?.record ?? null;
      const now = epochMs((last?.now ?? 0) + later);
      const request = { type: "request", fingerprint: FINGERPRINT, attemptId: LATER } as const;
      const policy = policyFor("retry");
      const [here, there] = [OWN, home].map((each) => step(record, { ...request, home: each }, policy, now));
      const isNew = here?.reply.type === "start" && here.reply.record.attempt.number === 1;
      if (!isNew) expect(there).toEqual(here);
      else expect(there?.reply).toEqual({ type: "not-here", home });
      // Whoever is sent on leaves no expired record behind.
      if (isNew && home.kind === "moved") expect(there?.record).toBeNull();
      if (isNew && home.kind !== "moved") expect(there?.record).toBe(record);
    }),
    RUNS,
  );
});

it("an object that asks changes no record, and after 'absent' nothing is left of one", () => {
  fc.assert(
    fc.property(history, fc.nat(400), (moments, later) => {
      const last = play(moments).at(-1);
      const record = last?.record ?? null;
      const now = epochMs((last?.now ?? 0) + later);
      const policy = policyFor("retry");
      const { record: left, reply } = step(record, { type: "ask" }, policy, now);
      const lives = step(record, { type: "tick" }, policy, now).record !== null && record !== null;
      expect(reply.type).toBe(lives ? "here" : "absent");
      expect(left).toBe(lives ? record : null);
      // Stays absent, also if the clock goes back.
      if (!lives) expect(step(left, { type: "ask" }, policy, epochMs(0)).reply.type).toBe("absent");
    }),
    RUNS,
  );
});
