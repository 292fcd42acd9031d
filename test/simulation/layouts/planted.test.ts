// Does the simulation see what can go wrong while the layout changes? Each of these breaks one part of the protocol on purpose, and
// a rule has to find it within so many interleavings.

import { afterEach, describe, it, vi } from "vitest";
import { expectViolation, MOST, original, plantAnyStep, SEED, type Steps } from "../plant.ts";
import type { Step } from "../../../src/kernel/record/events.ts";
import type * as Homes from "../../../src/kernel/record/home.ts";
import type * as Summaries from "../../../src/operator/layouts.ts";
import { Elders, type Homing, type Words } from "../../../src/kernel/previous-shards/elders.ts";
import { KeyLister } from "../../../src/kernel/previous-shards/key-lister.ts";
import { Seal } from "../../../src/kernel/previous-shards/seal.ts";
import { cursor } from "../../support/sqlite.ts";
import { Disk } from "../disk.ts";
import { findViolation } from "./interleaving.ts";

type HomeOf = typeof Homes.homeOf;
type Summarize = typeof Summaries.summarizeLayouts;

interface Planted {
  homeOf: ((actual: HomeOf, ...facts: Parameters<HomeOf>) => Homes.Home) | null;
  summarize: ((reported: ReturnType<Summarize>) => ReturnType<Summarize>) | null;
  holdsNothing: boolean;
}

const planted = vi.hoisted((): Planted => ({ homeOf: null, summarize: null, holdsNothing: false }));

vi.mock(import("../../../src/kernel/record/home.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const homeOf: HomeOf = (...facts) =>
    planted.homeOf === null ? actual.homeOf(...facts) : planted.homeOf(actual.homeOf, ...facts);
  return { ...actual, homeOf };
});

vi.mock(import("../../../src/operator/layouts.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const summarizeLayouts: Summarize = (...asked) => {
    const reported = actual.summarizeLayouts(...asked);
    return planted.summarize === null ? reported : planted.summarize(reported);
  };
  return { ...actual, summarizeLayouts };
});

vi.mock(import("../../../src/kernel/store/tables.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const heldRows: typeof actual.heldRows = (sql) => (planted.holdsNothing ? [] : actual.heldRows(sql));
  return { ...actual, heldRows };
});

afterEach(() => {
  planted.homeOf = null;
  planted.summarize = null;
  planted.holdsNothing = false;
});

async function expectFound(rule: RegExp, seed = SEED): Promise<void> {
  expectViolation(await findViolation(MOST, seed), rule);
}

/** An expired result stays, although its object says that it is absent. */
function leftInPlace(before: Parameters<Steps>[0], taken: Step): Step {
  const isGone = taken.reply.type === "absent" || taken.reply.type === "not-here";
  return isGone && before?.state === "completed" ? { ...taken, record: before } : taken;
}

/** What an object must not do while another has the key, or has had it. */
const TWO_OBJECTS = /G[12]: (two objects have a record|a\d+ starts after a\d+)/;

describe("an object that asks nobody", () => {
  it("breaks G1", async () => {
    const home: Homing = { home: { kind: "own" }, other: null, elders: [], absent: [] };
    vi.spyOn(Elders.prototype, "homing").mockReturnValue(home);
    await expectFound(TWO_OBJECTS);
  }, 120_000);
});

describe("an elder", () => {
  it("that does not seal itself breaks G1", async () => {
    vi.spyOn(Seal.prototype, "close").mockImplementation((next) => next);
    vi.spyOn(KeyLister.prototype, "around").mockReturnValue(null);
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("that lists its keys and does not seal itself breaks G1", async () => {
    vi.spyOn(Seal.prototype, "close").mockImplementation((next) => next);
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("that seals itself only where it has a record breaks G1", async () => {
    const answer = original(Elders.prototype, "answer");
    const close = original(Seal.prototype, "close");
    vi.spyOn(Elders.prototype, "answer").mockImplementation(function half(this: Elders, question) {
      const closing = vi.spyOn(Seal.prototype, "close").mockImplementation((next) => next);
      const said = answer.call(this, question);
      closing.mockImplementation(function really(this: Seal, ...sealed) {
        return close.apply(this, sealed);
      });
      return said.here ? answer.call(this, question) : said;
    });
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("whose seal is only in memory breaks G1", async () => {
    const sealed = new WeakMap<Seal, string>();
    vi.spyOn(Seal.prototype, "next", "get").mockImplementation(function remembered(this: Seal) {
      return sealed.get(this) ?? null;
    });
    vi.spyOn(Seal.prototype, "close").mockImplementation(function forgetful(this: Seal, next) {
      sealed.set(this, sealed.get(this) ?? next);
      return sealed.get(this) ?? next;
    });
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("whose list of keys is too short breaks G1", async () => {
    vi.spyOn(KeyLister.prototype, "around").mockReturnValue({ begin: "", hashes: "" });
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("whose list of a part of its keys is too short breaks G1", async () => {
    vi.spyOn(KeyLister.prototype, "around").mockImplementation((keyHash) => ({
      begin: keyHash.slice(0, 1),
      hashes: "",
    }));
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("whose list is too short when it is read again breaks G1", async () => {
    const exec = original(Disk.prototype, "exec");
    vi.spyOn(Disk.prototype, "exec").mockImplementation(function forgetful(this: Disk, query, values) {
      const found = exec.call(this, query, values);
      if (!query.startsWith("SELECT elder, begin, hashes FROM listed")) return found;
      const rows = found.toArray();
      for (const row of rows) row["hashes"] = new ArrayBuffer(0);
      return cursor(rows, 0);
    });
    // Two objects seldom meet so: this seed finds it within the limit.
    await expectFound(TWO_OBJECTS, SEED + 1);
  }, 120_000);

  it("that leaves an expired record where it is breaks G1", async () => {
    plantAnyStep((actual, ...taken) => leftInPlace(taken[0], actual(...taken)));
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("that claims an expired record's key again, although it is sealed, breaks G1", async () => {
    plantAnyStep((actual, record, event, ...rest) =>
      event.type === "request" && event.home.kind === "moved" && record !== null
        ? actual(record, { ...event, home: { kind: "own" } }, ...rest)
        : leftInPlace(record, actual(record, event, ...rest)),
    );
    await expectFound(TWO_OBJECTS);
  }, 120_000);
});

describe("an older layout", () => {
  it("that may go although its objects still hold records breaks G1 or G2", async () => {
    planted.holdsNothing = true;
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("that may go although its objects are open breaks G1 or G2", async () => {
    planted.summarize = (reported) =>
      reported.map((one) => (one.left !== null && one.open > 0 ? { ...one, mayGo: true } : one));
    await expectFound(TWO_OBJECTS);
  }, 120_000);
});

describe("a newer object", () => {
  it("that looks at its own seal only before it asks breaks G1", async () => {
    const next = Object.getOwnPropertyDescriptor(Seal.prototype, "next");
    const wasOpen = new WeakSet<Words>();
    let isHidden = false;
    vi.spyOn(Seal.prototype, "next", "get").mockImplementation(function once(this: Seal) {
      const text: unknown = isHidden ? null : next?.get?.call(this);
      return typeof text === "string" ? text : null;
    });
    const homing = original(Elders.prototype, "homing");
    vi.spyOn(Elders.prototype, "homing").mockImplementation(function early(this: Elders, head, words) {
      isHidden = wasOpen.has(words);
      const found = homing.call(this, head, words);
      isHidden = false;
      if (found.home.kind !== "moved") wasOpen.add(words);
      return found;
    });
    await expectFound(TWO_OBJECTS);
  }, 120_000);

  it("that hears nothing of the object from which a request comes sends it back for ever: G8", async () => {
    planted.homeOf = (actual, { elders, ...facts }) =>
      actual({ ...facts, elders: elders.filter(({ isVisited }) => !isVisited) });
    await expectFound(/G8: no object answers/);
  }, 120_000);

  it("that claims although its elder is sealed for another layout breaks G1", async () => {
    planted.homeOf = (actual, { elders, ...facts }) =>
      actual({
        ...facts,
        elders: elders.map((elder) => (elder.next === null ? elder : { ...elder, next: facts.layout })),
      });
    await expectFound(TWO_OBJECTS);
  }, 120_000);
});
