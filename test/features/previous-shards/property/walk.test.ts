// The walk of a Worker through the objects of a key, among objects that answer anything, whatever they are closed for. Among those that keep the
// rules it is the simulation's (test/features/previous-shards/simulation).

import fc from "fast-check";
import { expect, it } from "vitest";
import { MAX_STEPS, nextOf, objectFinder } from "../../../../src/features/previous-shards/walk.ts";
import { type Layout, type Layouts, layoutName, layoutTitle } from "../../../../src/kernel/config/layout.ts";
import type { AskLayout, BeginsElsewhere, PreviousLayouts } from "../../../../src/kernel/elsewhere.ts";
import { shardAddressOf, shardTitle } from "../../../../src/kernel/object/shard-address.ts";

const KEYS = ["0123456789abcdef".repeat(2), "1123456789abcdef".repeat(2), "2123456789abcdef".repeat(2)];

const LAYOUTS = ([1, 2, "per-key", "1b"] as const).map((shards): Layout => ({
  shards,
  jurisdiction: null,
  locationHint: null,
}));

const objectOf = (key: string, layout: Layout): string => shardTitle(shardAddressOf(key, layout));

type Answer = BeginsElsewhere | { readonly kind: "given" } | { readonly kind: "fails" };

const layout = fc.constantFrom(...LAYOUTS);
const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("closed" as const), next: layout, isEmpty: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("first" as const), layout }) },
  { weight: 3, arbitrary: fc.constant({ kind: "given" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "fails" as const }) },
);

/** The layouts that a Worker lists, oldest first; the last is its own. */
const listed = fc.shuffledSubarray(LAYOUTS, { minLength: 1 }).map(layoutsOf);

function layoutsOf(all: readonly Layout[]): Layouts {
  const [own] = all.slice(-1);
  if (own === undefined) throw new Error("a Worker has a layout");
  return { own, previous: all.slice(0, -1) };
}

class NoAnswer extends Error {}

/** `"failed"`, if an object has not answered. */
async function outcome<T>(walk: Promise<T>): Promise<T | "failed"> {
  try {
    return await walk;
  } catch (error) {
    if (error instanceof NoAnswer) return "failed";
    throw error;
  }
}

/** Each key's walk, in one isolate, and what the objects answer to its calls, in turn. */
const walks = fc.array(
  fc.record({
    key: fc.constantFrom(...KEYS),
    layouts: listed,
    answers: fc.array(answer, { minLength: MAX_STEPS, maxLength: MAX_STEPS }),
  }),
  { minLength: 1, maxLength: 6 },
);

it("asks the oldest listed layout first, then only where an answer has sent it, and takes the first answer that is given", async () => {
  await fc.assert(
    fc.asyncProperty(walks, async (all) => {
      const find = objectFinder();
      /** What this isolate has been told of closed and empty objects, by their names. */
      const empty = new Map<string, BeginsElsewhere & { readonly kind: "closed" }>();
      for (const { key, layouts, answers } of all) {
        let expected: Layout | null = layouts.previous[0] ?? layouts.own;
        const closed = new Map<string, { readonly layout: Layout; readonly isEmpty: boolean }>();
        let steps = 0;
        const calls: Layout[] = [];
        /** Follows what is known to be empty, without a call. */
        const skip = (): void => {
          for (; expected !== null && steps < MAX_STEPS; steps += 1) {
            const known = empty.get(objectOf(key, expected));
            if (known === undefined) return;
            closed.set(layoutName(expected), { layout: expected, isEmpty: true });
            expected = known.next;
          }
        };
        const ask: AskLayout<number> = async (at: Layout, previous: PreviousLayouts | undefined) => {
          skip();
          expect(layoutTitle(at)).toBe(expected === null ? "nowhere" : layoutTitle(expected));
          expect(previous?.closed ?? []).toEqual([...closed.values()]);
          expect(previous?.closesFor ?? null).toEqual(at.shards === "per-key" ? nextOf(at, layouts) : null);
          const said = answers[calls.push(at) - 1] ?? { kind: "fails" };
          steps += 1;
          // Nobody is asked after an answer, or after a failure.
          expected = said.kind === "closed" ? said.next : said.kind === "first" ? said.layout : null;
          if (said.kind === "closed") {
            closed.set(layoutName(at), { layout: at, isEmpty: said.isEmpty });
            if (said.isEmpty && at.shards !== "per-key") empty.set(objectOf(key, at), said);
          }
          if (said.kind === "fails") throw new NoAnswer();
          return said.kind === "given" ? { kind: "given", given: calls.length } : said;
        };
        const found = await outcome(find(key, layouts, ask));
        const last = answers[calls.length - 1];
        if (last?.kind === "fails") expect(found).toBe("failed");
        else if (last?.kind === "given") expect(found).toBe(calls.length);
        else expect([found, calls.length <= MAX_STEPS]).toEqual([null, true]);
      }
    }),
    { numRuns: 2_000 },
  );
});

it("the next layout is that behind it in the list, and then that in force", () => {
  const at = (shards: Layout["shards"]): Layout => ({ shards, jurisdiction: null, locationHint: null });
  const layouts = { own: at(256), previous: [at(64), at(128)] };
  expect([64, 128, 256, 192].map((shards) => nextOf(at(shards), layouts))).toEqual([at(128), at(256), null, null]);
});
