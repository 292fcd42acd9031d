// Does the simulation see what can go wrong while the number of shards changes? Each of these breaks one part of the protocol on purpose, or deploys what
// nobody may deploy, and a rule has to find it within so many interleavings. The numbers are those of the model that was checked before.

import { afterEach, describe, expect, it, vi } from "vitest";
import { expectViolation, MOST, original, SEED } from "../../../simulation/plant.ts";
import type * as Walks from "../../../../src/features/previous-shards/walk.ts";
import { ClosedBefore } from "../../../../src/features/previous-shards/object/closed-before.ts";
import { ClosedObject } from "../../../../src/features/previous-shards/object/closed-object.ts";
import type { Layout, Layouts } from "../../../../src/kernel/config/layout.ts";
import type { AskLayout, ObjectClosing, FindObject, GivenOrElsewhere } from "../../../../src/kernel/elsewhere.ts";
import { ExchangeRunner } from "../../../../src/kernel/object/exchanges.ts";
import { RecordSteps } from "../../../../src/kernel/object/record-steps.ts";
import type * as Tables from "../../../../src/kernel/store/tables.ts";
import type * as Summaries from "../../../../src/operator/layouts.ts";
import { cursor } from "../../../support/sqlite.ts";
import { Disk } from "../../../simulation/disk.ts";
import { findViolation } from "./interleaving.ts";
import { deployment, type Setting } from "./plan.ts";
import { World } from "./world.ts";

type Summarize = typeof Summaries.summarizeLayouts;

/** Asks in place of a Worker: `ask` is what it would ask, `layouts` its configuration. One for each isolate. */
type BrokenWalk = () => <T>(
  at: Layout,
  layouts: Layouts,
  placing: string,
  ask: (previous?: Parameters<AskLayout<T>>[1]) => Promise<GivenOrElsewhere<T>>,
) => Promise<GivenOrElsewhere<T>>;

interface Planted {
  walk: BrokenWalk | null;
  isNewFirst: boolean;
  summarize: ((told: ReturnType<Summarize>) => ReturnType<Summarize>) | null;
  holdsNothing: boolean;
}

const WHOLE: Planted = { walk: null, isNewFirst: false, summarize: null, holdsNothing: false };
const planted = vi.hoisted((): { now: Planted | null } => ({ now: null }));

vi.mock(import("../../../../src/features/previous-shards/walk.ts"), async (importOriginal) => {
  const actual: typeof Walks = await importOriginal();
  const objectFinder = (): FindObject => {
    const find = actual.objectFinder();
    const broken = planted.now?.walk?.() ?? null;
    return (placing, layouts, ask) => {
      const begins = planted.now?.isNewFirst === true ? { own: layouts.own, previous: [] } : layouts;
      return find(placing, begins, (at, previous) =>
        broken === null ? ask(at, previous) : broken(at, layouts, placing, (other) => ask(at, other ?? previous)),
      );
    };
  };
  return { ...actual, objectFinder };
});

vi.mock(import("../../../../src/operator/layouts.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const summarizeLayouts: Summarize = (...asked) => {
    const told = actual.summarizeLayouts(...asked);
    return planted.now?.summarize?.(told) ?? told;
  };
  return { ...actual, summarizeLayouts };
});

vi.mock(import("../../../../src/kernel/store/tables.ts"), async (importOriginal) => {
  const actual: typeof Tables = await importOriginal();
  const heldRows: typeof actual.heldRows = (sql) => (planted.now?.holdsNothing === true ? [] : actual.heldRows(sql));
  return { ...actual, heldRows };
});

afterEach(() => {
  planted.now = null;
});

function plant(change: Partial<Planted>): void {
  planted.now = { ...WHOLE, ...change };
}

/** What objects must not do while another has the key, or has had it. */
const TWO_OBJECTS = /G[12]: (two objects have a record|a\d+ starts after a\d+)/;
const UNANSWERED = /G8: no object answers/;

async function expectFound(rule: RegExp, only: Setting | null = null, seed = SEED): Promise<void> {
  expectViolation(await findViolation(MOST, seed, only), rule);
}

const at = (shards: Layout["shards"]): Layout => ({ shards, jurisdiction: null, locationHint: null });
const [L64, L128, L192, L256] = [at(64), at(128), at(192), at(256)];
const A = deployment(L64);
const B = deployment(L128, L64);
const C = deployment(L256, L64, L128);
const side = (...deployments: Setting["deployments"]): Setting => ({ deployments, isContradiction: false });

function nextIn({ own, previous }: Layouts, layout: Layout): Layout | null {
  const index = previous.findIndex(({ shards }) => shards === layout.shards);
  return index === -1 ? null : (previous[index + 1] ?? own);
}

describe("a configuration", () => {
  it(
    "n01: without previous_shards beside the one of before breaks G1",
    () => expectFound(TWO_OBJECTS, side(A, deployment(L128))),
    120_000,
  );

  it(
    "n20: 128 [64] and 64 [128], before anything is closed, break G1",
    () => expectFound(TWO_OBJECTS, side(B, deployment(L64, L128))),
    120_000,
  );

  it("n19: two layouts closed for each other break G8 alone", async () => {
    const opposite = { ...side(A, B), rolledBack: deployment(L64, L128) };
    const { broken } = await findViolation(MOST, SEED, opposite);
    expect(broken.flatMap(({ violations }) => violations).join("\n")).toMatch(UNANSWERED);
    expect(broken.flatMap(({ violations }) => violations).join("\n")).not.toMatch(/G[1-7]:/);
  });

  it("n23: of three layouts, two closed for each other by two operators, break G8 alone", async () => {
    const opposite = { ...side(A, deployment(L192, L64, L128)), rolledBack: deployment(L128, L64, L192) };
    const { broken } = await findViolation(MOST, SEED, opposite);
    expect(broken.flatMap(({ violations }) => violations).join("\n")).toMatch(UNANSWERED);
    expect(broken.flatMap(({ violations }) => violations).join("\n")).not.toMatch(/G[1-7]:/);
  });
});

describe("a layout that is taken out", () => {
  /** As soon as the objects are closed. */
  function tooEarly(isBack: boolean): void {
    vi.spyOn(World.prototype, "mayBeginLater").mockImplementation(function closed(this: World, { previous }) {
      const [oldest] = previous;
      return oldest !== undefined && this.isClosed(oldest);
    });
    const begin = original(World.prototype, "beginLater");
    vi.spyOn(World.prototype, "beginLater").mockImplementation(function always(this: World, of) {
      return begin.call(this, of, isBack);
    });
  }
  function withoutRule(): void {
    vi.spyOn(ClosedBefore.prototype, "lackedBy").mockReturnValue(null);
  }

  it("n11: while it has records, where objects do not ask for its answer, breaks G1", async () => {
    tooEarly(false);
    withoutRule();
    await expectFound(TWO_OBJECTS, { ...side(A, B), isOutEarly: true });
  });

  it("n12: and entered again with a list that begins later, where objects do not ask for its answer, breaks G1", async () => {
    tooEarly(true);
    withoutRule();
    await expectFound(TWO_OBJECTS, { ...side(A, B), isOutEarly: true });
  });

  it("n15: for a third one that lists the second alone, where objects do not ask for its answer, breaks G1", async () => {
    tooEarly(false);
    withoutRule();
    await expectFound(TWO_OBJECTS, { ...side(A, C), isOutEarly: true });
  });

  it("before any object has begun a key with its answer breaks G1 all the same", async () => {
    tooEarly(false);
    await expectFound(TWO_OBJECTS, { ...side(A, B), isOutEarly: true });
  });

  it("although its objects still hold records breaks G1 or G2", async () => {
    plant({ holdsNothing: true });
    await expectFound(TWO_OBJECTS);
  });

  it("although its objects are open breaks G1 or G2", async () => {
    plant({
      summarize: (told) => told.map((one) => (one.next !== null && one.open > 0 ? { ...one, mayGo: true } : one)),
    });
    await expectFound(TWO_OBJECTS);
  });
});

describe("a Worker", () => {
  it("n02: that takes the absence in an open object for an answer breaks G1", async () => {
    plant({
      walk: () => (one, layouts, _placing, ask) => {
        const closesFor = nextIn(layouts, one);
        return ask(closesFor === null ? undefined : { closed: [], closesFor });
      },
    });
    vi.spyOn(ClosedObject.prototype, "close").mockImplementation((next, now) => ({ next, at: now }));
    await expectFound(TWO_OBJECTS, side(A, B));
  });

  it("n04: that takes an object that does not answer for one without the record breaks G1", async () => {
    plant({
      walk: () => async (one, layouts, _placing, ask) => {
        const next = nextIn(layouts, one);
        try {
          return await ask();
        } catch (error) {
          if (next === null) throw error;
          return { kind: "closed", next, isEmpty: false };
        }
      },
    });
    // All three tries of a call have to fail.
    await expectFound(TWO_OBJECTS, { ...side(A, B), faults: 20, weights: { "message late": 16, "message lost": 16 } });
  });

  it("n05: that asks a closed object no more breaks G1", async () => {
    plant({
      walk: () => async (_one, _layouts, _placing, ask) => {
        const answer = await ask();
        return answer.kind === "closed" ? { ...answer, isEmpty: true } : answer;
      },
    });
    await expectFound(TWO_OBJECTS);
  });

  it("n06: that keeps a list of an object's keys from before its close breaks G1", async () => {
    plant({
      walk: () => {
        const listed = new Map<Layout, Set<string>>();
        return async (one, layouts, placing, ask) => {
          const next = nextIn(layouts, one);
          const list = listed.get(one);
          if (next !== null && list !== undefined && !list.has(placing))
            return { kind: "closed", next, isEmpty: false };
          const answer = await ask();
          if (answer.kind === "given") listed.set(one, new Set([...(list ?? []), placing]));
          return answer;
        };
      },
    });
    await expectFound(TWO_OBJECTS);
  });

  /** Goes on with the next entry of its own list. */
  const alongItsList: BrokenWalk = () => async (one, layouts, _placing, ask) => {
    const answer = await ask();
    if (answer.kind !== "closed") return answer;
    const next = nextIn(layouts, one);
    // It ends here: the closed object is asked again until the Worker gives up.
    return { ...answer, next: next ?? one };
  };

  it.each([
    ["n13: 256 [64] beside 128 [64]", side(A, B, deployment(L256, L64))],
    ["n14: 128 [64] and 256 [64] after one close", side(B, deployment(L256, L64))],
    ["n22: 192 [64] instead of 128 [64]", side(A, B, deployment(L192, L64))],
  ])(
    "that goes along its own list breaks G1: %s",
    async (_name, setting) => {
      plant({ walk: alongItsList });
      await expectFound(TWO_OBJECTS, setting);
    },
    120_000,
  );

  it("n18: that goes along its own list, rolled back to 64, gets no answer: G8", async () => {
    plant({ walk: alongItsList });
    await expectFound(UNANSWERED, side(A, B));
  });

  it("n21: that asks the new object first breaks G1", async () => {
    plant({ isNewFirst: true });
    await expectFound(TWO_OBJECTS);
  });
});

/** How an object is closed, as it is. */
function closingOf(): (object: ClosedObject) => ObjectClosing | null {
  const descriptor = Object.getOwnPropertyDescriptor(ClosedObject.prototype, "closing");
  return (object): ObjectClosing | null => {
    const closing: ObjectClosing | null = descriptor?.get?.call(object);
    return closing;
  };
}

describe("a closed object", () => {
  /** What is stored of its close is read so when an instance begins. */
  function readAs(read: (disk: Disk, stored: Record<string, unknown>[]) => Record<string, unknown>[]): void {
    const exec = original(Disk.prototype, "exec");
    vi.spyOn(Disk.prototype, "exec").mockImplementation(function changed(this: Disk, query, values) {
      const found = exec.call(this, query, values);
      if (!query.startsWith("SELECT next, at FROM closed")) return found;
      const stored = found.toArray();
      const rows = read(this, stored);
      if (rows.length < stored.length) exec.call(this, "DELETE FROM closed", []);
      return cursor(rows, 0);
    });
  }

  it("n03: whose close is only in memory breaks G1", async () => {
    const exec = original(Disk.prototype, "exec");
    vi.spyOn(Disk.prototype, "exec").mockImplementation(function forgetful(this: Disk, query, values) {
      const isOfClose = /^INSERT INTO closed |^CREATE TRIGGER closed_to_keys/.test(query);
      return isOfClose ? cursor([], 0) : exec.call(this, query, values);
    });
    await expectFound(TWO_OBJECTS);
  });

  it("n07: that leaves an expired record in its place breaks G1 or G2 when the clock goes back", async () => {
    let isLooking = false;
    const holds = original(RecordSteps.prototype, "holds");
    const take = original(RecordSteps.prototype, "take");
    vi.spyOn(RecordSteps.prototype, "holds").mockImplementation(function looks(this: RecordSteps, ...about) {
      isLooking = true;
      const found = holds.apply(this, about);
      isLooking = false;
      return found;
    });
    vi.spyOn(RecordSteps.prototype, "take").mockImplementation(function leaves(this: RecordSteps, ...taken) {
      if (!isLooking) return take.apply(this, taken);
      return { record: null, reply: { type: "nothing-due" }, deadline: null, entry: null };
    });
    await expectFound(/G[12]: (two objects have a record|a\d+ starts after a\d+|.* is replayed, but)/);
  });

  it("n08: that looks only before an await whether it is closed breaks G1", async () => {
    const begun = new WeakSet<object>();
    const elsewhere = original(ExchangeRunner.prototype, "elsewhere");
    vi.spyOn(ExchangeRunner.prototype, "elsewhere").mockImplementation(function early(
      this: ExchangeRunner,
      placed,
      now,
    ) {
      if (begun.has(placed)) return null;
      begun.add(placed);
      return elsewhere.call(this, placed, now);
    });
    await expectFound(TWO_OBJECTS, { ...side(A, B), limitsKeys: true });
  });

  it("n09: that deletes its storage when it is empty breaks G1", async () => {
    readAs((disk, stored) => (disk.statement("SELECT 1 FROM records LIMIT 1").all().length === 0 ? [] : stored));
    await expectFound(TWO_OBJECTS);
  });

  it("n10: that an operator opens again breaks G1", async () => {
    readAs(() => []);
    await expectFound(TWO_OBJECTS);
  });

  it("n16: whose next layout a second close changes breaks G1", async () => {
    const changed = new WeakMap<ClosedObject, ObjectClosing>();
    const close = original(ClosedObject.prototype, "close");
    const closing = closingOf();
    vi.spyOn(ClosedObject.prototype, "closing", "get").mockImplementation(function latest(this: ClosedObject) {
      return changed.get(this) ?? closing(this);
    });
    vi.spyOn(ClosedObject.prototype, "close").mockImplementation(function again(this: ClosedObject, next, now) {
      close.call(this, next, now);
      changed.set(this, { next, at: now });
      return { next, at: now };
    });
    await expectFound(TWO_OBJECTS, side(B, deployment(L256, L64)));
  });

  it("n17: with code from before, and without its trigger, breaks G1", async () => {
    const isOld = new WeakMap<ClosedObject, boolean>();
    let instances = 0;
    const closing = closingOf();
    vi.spyOn(ClosedObject.prototype, "closing", "get").mockImplementation(function sometimes(this: ClosedObject) {
      if (!isOld.has(this)) isOld.set(this, (instances += 1) % 3 === 0);
      return isOld.get(this) === true ? null : closing(this);
    });
    await expectFound(TWO_OBJECTS);
  });
});
