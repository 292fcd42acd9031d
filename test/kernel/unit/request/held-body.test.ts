// How much memory requests hold of their bodies, and that a request that is stopped at any point releases it.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BoundedBody, type HoldRules, readHeld, SMALL_BYTES } from "../../../../src/kernel/request/body.ts";
import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import { ByteBudget } from "../../../../src/kernel/request/byte-budget.ts";

const PIECE = 8 * 1024;
const LIMIT = 1 << 20;
const IDLE_MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A body of so many pieces, each filled with its number. Then it ends or stalls. */
function bodyOf(pieces: number, end: "ends" | "stands still" | "breaks" = "ends"): BodyReader {
  let number = 0;
  return {
    next(): Promise<NextPiece> {
      number += 1;
      if (number <= pieces) return Promise.resolve(lentPiece(new Uint8Array(PIECE).fill(number)));
      if (end === "breaks") return Promise.reject(new Error("it broke off"));
      return end === "ends" ? Promise.resolve(WHOLE) : new Promise(() => undefined);
    },
    cancel: () => undefined,
  };
}

async function numbersIn(rest: BodyReader, pieces: number): Promise<readonly (number | undefined)[]> {
  const numbers: (number | undefined)[] = [];
  for (let count = 0; count < pieces; count += 1) {
    const piece = await rest.next();
    if (piece.kind === "whole") break;
    numbers.push(piece.bytes[0]);
  }
  return numbers;
}

/** Reads as for a request that may flow on, unless told otherwise. */
function hold(
  body: BodyReader,
  limitBytes: number,
  budget: ByteBudget,
  rules: Partial<HoldRules> = {},
): Promise<BoundedBody> {
  return readHeld(body, { limitBytes, budget, idleMs: IDLE_MS, unlessHeld: "flow", caller: null, ...rules });
}

const oneTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

describe("a body that is read into memory", () => {
  it("is counted beyond its first bytes until it is freed, once", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    const held = await hold(bodyOf(10), LIMIT, budget);
    expect(budget.heldBytes).toBe(10 * PIECE - SMALL_BYTES);
    if (held.kind !== "whole") throw new Error(held.kind);
    expect(held.body.bytes.byteLength).toBe(10 * PIECE);
    held.body.free();
    held.body.free();
    expect({ held: budget.heldBytes, bytes: held.body.bytes.byteLength }).toEqual({ held: 0, bytes: 0 });
  });

  it("that is small is not counted, and is read although there is no room", async () => {
    const held = await hold(bodyOf(2), LIMIT, new ByteBudget(0, 60_000));
    expect(held.kind).toBe("whole");
  });

  it("for which there is no room is streamed from its first byte, and returns the bytes that were read", async () => {
    const budget = new ByteBudget(5 * PIECE, 60_000);
    const held = await hold(bodyOf(20), LIMIT, budget);
    if (held.kind !== "over") throw new Error(held.kind);
    expect(budget.heldBytes).toBeGreaterThan(0);
    expect(await numbersIn(held.rest, 30)).toEqual(oneTo(20));
    expect(budget.heldBytes).toBe(0);
  });

  it("that comes too slowly is streamed, and nothing of it is lost", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    const reading = hold(bodyOf(5, "stands still"), LIMIT, budget);
    await vi.advanceTimersByTimeAsync(11_000);
    const held = await reading;
    if (held.kind !== "over") throw new Error(held.kind);
    expect(await numbersIn(held.rest, 5)).toEqual(oneTo(5));
    expect(budget.heldBytes).toBe(0);
  });

  it("that breaks off or is cancelled is no longer counted", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    await expect(hold(bodyOf(5, "breaks"), LIMIT, budget)).rejects.toThrow("broke off");
    expect(budget.heldBytes).toBe(0);
    const held = await hold(bodyOf(20), 10 * PIECE, budget);
    if (held.kind !== "over") throw new Error(held.kind);
    expect(held.readBytes).toBeGreaterThan(10 * PIECE);
    held.rest.cancel();
    expect(budget.heldBytes).toBe(0);
  });

  it("of a stopped request is counted until it can no longer be held, and not a second time when it is returned", async () => {
    const budget = new ByteBudget(10 * PIECE, 60_000);
    const stopped = await hold(bodyOf(11), LIMIT, budget);
    expect((await hold(bodyOf(11), LIMIT, budget)).kind).toBe("over");
    await vi.advanceTimersByTimeAsync(60_001);
    const next = await hold(bodyOf(11), LIMIT, budget);
    expect(next.kind).toBe("whole");
    const { heldBytes } = budget;
    if (stopped.kind === "whole") stopped.body.free();
    expect(budget.heldBytes).toBe(heldBytes);
  });

  it("that stands still is late after the idle time, however small, and whether or not it could flow", async () => {
    for (const unlessHeld of ["flow", "refuse"] as const) {
      const reading = hold(bodyOf(2, "stands still"), LIMIT, new ByteBudget(LIMIT, 60_000), { unlessHeld });
      await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
      expect(await Promise.race([reading, Promise.resolve("still reading")])).toBe("still reading");
      await vi.advanceTimersByTimeAsync(1);
      expect((await reading).kind).toBe("late");
    }
  });

  it("that trickles is late, and one that brings 16 KiB in each idle time is not", async () => {
    const trickling = hold(every(1000, 10, 60), LIMIT, new ByteBudget(LIMIT, 60_000), { unlessHeld: "refuse" });
    await vi.advanceTimersByTimeAsync(IDLE_MS + 1000);
    expect((await trickling).kind).toBe("late");
    const slow = hold(every(IDLE_MS - 1, 2 * PIECE, 4), LIMIT, new ByteBudget(LIMIT, 60_000), { unlessHeld: "refuse" });
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS);
    expect((await slow).kind).toBe("whole");
  });

  it("that can flow is held for ten seconds while it brings something in each two", async () => {
    const kindOf = async (pieces: number): Promise<string> => {
      const reading = hold(every(1000, 2 * PIECE, pieces), LIMIT, new ByteBudget(LIMIT, 60_000));
      await vi.advanceTimersByTimeAsync(20_000);
      return (await reading).kind;
    };
    expect([await kindOf(8), await kindOf(12)]).toEqual(["whole", "over"]);
  });

  it("that has to be held takes the room of the one that has not moved on for the longest time, and of no other", async () => {
    const budget = new ByteBudget(20 * PIECE, 60_000);
    const held = { unlessHeld: "refuse" } as const;
    const oldest = hold(bodyOf(9, "stands still"), LIMIT, budget, held);
    await vi.advanceTimersByTimeAsync(500);
    const older = hold(bodyOf(9, "stands still"), LIMIT, budget, held);
    await vi.advanceTimersByTimeAsync(500);
    const quick = await hold(bodyOf(9), LIMIT, budget, held);
    expect([quick.kind, (await oldest).kind]).toEqual(["whole", "no-room"]);
    expect(await Promise.race([older, Promise.resolve("still reading")])).toBe("still reading");
    // What is whole is not given up: a body that does not fit beside it is refused itself.
    const large = await hold(bodyOf(30), LIMIT, budget, held);
    expect([large.kind, (await older).kind]).toEqual(["no-room", "no-room"]);
    if (quick.kind !== "whole") throw new Error(quick.kind);
    expect(quick.body.bytes.byteLength).toBe(9 * PIECE);
    quick.body.free();
    expect(budget.heldBytes).toBe(0);
  });

  it("of a client that has gone is not counted from then on, whole or not", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    const clients = [new AbortController(), new AbortController()] as const;
    const [one, other] = clients.map(({ signal }) => ({ caller: { signal } }));
    await hold(bodyOf(10), LIMIT, budget, one);
    void hold(bodyOf(10, "stands still"), LIMIT, budget, { ...other, unlessHeld: "refuse" });
    await vi.advanceTimersByTimeAsync(0);
    expect(budget.heldBytes).toBe(2 * (10 * PIECE - SMALL_BYTES));
    for (const client of clients) client.abort();
    expect(budget.heldBytes).toBe(0);
  });
});

/** A body that brings so many bytes each time, after a pause. */
function every(ms: number, bytes: number, times = Number.POSITIVE_INFINITY): BodyReader {
  let left = times;
  return {
    next: () =>
      new Promise((resolve) => {
        left -= 1;
        setTimeout(() => resolve(left < 0 ? WHOLE : lentPiece(new Uint8Array(bytes))), ms);
      }),
    cancel: () => undefined,
  };
}

it("a body that holds nothing any more is not asked to make room", () => {
  const budget = new ByteBudget(10, 60_000);
  const asked: string[] = [];
  const take = (name: string): { readonly taken: boolean; readonly free: () => void } => {
    const lease = budget.lease(Date.now());
    return { taken: lease.take(10, () => asked.push(name)), free: () => lease.shrinkTo(0) };
  };
  take("gone").free();
  expect([take("slow").taken, take("fast").taken]).toEqual([true, true]);
  expect(asked).toEqual(["slow"]);
});
