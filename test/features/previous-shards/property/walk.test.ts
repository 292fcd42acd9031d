// The walk of a Worker through the objects of a key. First among objects that answer anything, whatever they are closed for; then among objects
// that keep the rules of src/features/previous-shards/README.md, while layouts are closed, records expire and calls are lost, late and at once.

import fc from "fast-check";
import { expect, it } from "vitest";
import { MAX_STEPS, nextOf, objectFinder } from "../../../../src/features/previous-shards/walk.ts";
import { type Layout, type Layouts, layoutName, layoutTitle } from "../../../../src/kernel/config/layout.ts";
import {
  type AskLayout,
  type BeginsElsewhere,
  isSameLayout,
  type PreviousLayouts,
} from "../../../../src/kernel/elsewhere.ts";
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

/** An object that keeps the rules: what it has, for what it is closed, and after which closed objects it has begun keys. */
interface ModelObject {
  readonly records: Map<string, number>;
  next: Layout | null;
  readonly before: Map<string, Layout>;
}

/** What happens between any two turns. */
type Happening =
  | {
      readonly kind: "request";
      readonly key: string;
      readonly deployment: number;
      readonly isolate: number;
      readonly faults: readonly Fault[];
    }
  | { readonly kind: "close"; readonly deployment: number; readonly at: number }
  | { readonly kind: "expire"; readonly key: string };

/** Of a call: it is lost, or its answer is, or it arrives again long after its sender has given up. */
type Fault = "none" | "lost" | "answer lost" | "late";

/** One bit for each layout. */
const deployment = fc.nat(15);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("request" as const),
      key: fc.constantFrom(...KEYS),
      deployment,
      isolate: fc.nat(1),
      faults: fc.array(fc.constantFrom<Fault>("none", "none", "none", "none", "lost", "answer lost", "late"), {
        maxLength: 4,
      }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("close" as const), deployment, at: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("expire" as const), key: fc.constantFrom(...KEYS) }) },
);

/** Layouts in the order in which they were deployed, and the objects of all of them. */
class World {
  readonly #order: readonly Layout[];
  readonly #objects = new Map<string, ModelObject>();
  #attempts = 0;
  readonly wrong: string[] = [];

  constructor(order: readonly Layout[]) {
    this.#order = order;
  }

  /** What a deployment lists: the oldest layout (C1), and some of the later ones, all in one order (C7). */
  layoutsOf(bits: number): Layouts {
    return layoutsOf(this.#order.filter((_, at) => at === 0 || (bits & (1 << at)) !== 0));
  }

  /** One turn of an object: what it answers to a request. */
  turn(
    key: string,
    at: Layout,
    previous: PreviousLayouts | undefined,
  ): BeginsElsewhere | { readonly kind: "given"; readonly given: number } {
    const object = this.#object(key, at);
    const record = object.records.get(key);
    if (record !== undefined) return { kind: "given", given: record };
    const said = previous?.closed ?? [];
    for (const [name, before] of object.before) {
      if (name === objectOf(key, before) && !said.some((one) => isSameLayout(one.layout, before)))
        return { kind: "first", layout: before };
    }
    object.next ??= previous?.closesFor ?? null;
    if (object.next !== null) return { kind: "closed", next: object.next, isEmpty: object.records.size === 0 };
    for (const { layout: before, isEmpty } of said) {
      if (isEmpty) object.before.delete(objectOf(key, before));
      else if (before.shards !== "per-key") object.before.set(objectOf(key, before), before);
    }
    for (const [name, { records }] of this.#objects)
      if (records.has(key))
        this.wrong.push(`an attempt with ${key} begins in ${objectOf(key, at)}, and ${name} has its record`);
    this.#attempts += 1;
    object.records.set(key, this.#attempts);
    return { kind: "given", given: this.#attempts };
  }

  /** As an operator of a deployment does: none before an older one, and none whose next one is closed. Objects for each key close when they are asked. */
  close({ own, previous }: Layouts, at: number): void {
    const [one, next = own] = previous.slice(at, at + 2);
    const before = previous[at - 1];
    if (one === undefined || one.shards === "per-key") return;
    if (before !== undefined && before.shards !== "per-key" && this.#all(before).some((object) => object.next === null))
      return;
    if (next.shards !== "per-key" && this.#all(next).some((object) => object.next !== null)) return;
    for (const object of this.#all(one)) object.next ??= next;
  }

  expire(key: string): void {
    for (const { records } of this.#objects.values()) records.delete(key);
  }

  livingRecord(key: string): number | null {
    const [record = null] = [...this.#objects.values()].flatMap(({ records }) => records.get(key) ?? []);
    return record;
  }

  #all(one: Layout): readonly ModelObject[] {
    return KEYS.map((key) => this.#object(key, one));
  }

  #object(key: string, at: Layout): ModelObject {
    const name = objectOf(key, at);
    const object = this.#objects.get(name) ?? { records: new Map(), next: null, before: new Map() };
    this.#objects.set(name, object);
    return object;
  }
}

const worlds = fc.record({
  order: fc.shuffledSubarray(LAYOUTS, { minLength: 2 }),
  happenings: fc.array(happening, { minLength: 1, maxLength: 30 }),
});

it("no key begins while another object has its record, and every key gets an answer in the end, whatever is closed, lost or late between any two turns", async () => {
  let replays = 0;
  let closedAnswers = 0;
  await fc.assert(
    fc.asyncProperty(worlds, fc.scheduler(), async ({ order, happenings }, scheduler) => {
      const world = new World(order);
      const isolates = [objectFinder(), objectFinder()];
      const late: Promise<unknown>[] = [];
      const request = async ({
        key,
        deployment: by,
        isolate,
        faults,
      }: Happening & { readonly kind: "request" }): Promise<void> => {
        const find = isolates[isolate];
        if (find === undefined) throw new Error("there are two isolates");
        const rest = [...faults];
        await outcome(
          find(key, world.layoutsOf(by), async (to, previous) => {
            const fault = rest.shift() ?? "none";
            await scheduler.schedule(Promise.resolve());
            if (fault === "lost") throw new NoAnswer();
            if (fault === "late") {
              late.push(scheduler.schedule(Promise.resolve()).then(() => world.turn(key, to, previous)));
              throw new NoAnswer();
            }
            const record = world.livingRecord(key);
            const said = world.turn(key, to, previous);
            if (said.kind === "given" && record !== null) {
              replays += 1;
              if (said.given !== record)
                world.wrong.push(`${key} is answered with ${said.given}, and its record is ${record}`);
            }
            if (said.kind === "closed") closedAnswers += 1;
            await scheduler.schedule(Promise.resolve());
            if (fault === "answer lost") throw new NoAnswer();
            return said;
          }),
        );
      };
      const all = happenings.map(async (one) => {
        await scheduler.schedule(Promise.resolve());
        if (one.kind === "request") await request(one);
        else if (one.kind === "close") world.close(world.layoutsOf(one.deployment), one.at);
        else world.expire(one.key);
      });
      await scheduler.waitFor(Promise.all(all));
      await scheduler.waitFor(Promise.all(late));
      expect(world.wrong).toEqual([]);
      for (const key of KEYS) {
        for (let by = 0; by < 16; by += 1) {
          const found = await isolates[0]?.(key, world.layoutsOf(by), async (to, previous) =>
            world.turn(key, to, previous),
          );
          expect(found).toBe(world.livingRecord(key));
        }
      }
      expect(world.wrong).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(replays, closedAnswers)).toBeGreaterThan(1_000);
});
