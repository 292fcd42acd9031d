// How much memory requests hold of their bodies, and that a request that is stopped at any point releases it.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readHeld, SMALL_BYTES } from "../../../src/http/body.ts";
import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "../../../src/http/body-reader.ts";
import { ByteBudget } from "../../../src/http/byte-budget.ts";

const PIECE = 8 * 1024;
const LIMIT = 1 << 20;

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

const oneTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

describe("a body that is read into memory", () => {
  it("is counted beyond its first bytes until it is freed, once", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    const held = await readHeld(bodyOf(10), LIMIT, budget);
    expect(budget.heldBytes).toBe(10 * PIECE - SMALL_BYTES);
    if (held.kind !== "whole") throw new Error(held.kind);
    expect(held.body.bytes.byteLength).toBe(10 * PIECE);
    held.body.free();
    held.body.free();
    expect({ held: budget.heldBytes, bytes: held.body.bytes.byteLength }).toEqual({ held: 0, bytes: 0 });
  });

  it("that is small is not counted, and is read although there is no room", async () => {
    const held = await readHeld(bodyOf(2), LIMIT, new ByteBudget(0, 60_000));
    expect(held.kind).toBe("whole");
  });

  it("for which there is no room is streamed from its first byte, and returns the bytes that were read", async () => {
    const budget = new ByteBudget(5 * PIECE, 60_000);
    const held = await readHeld(bodyOf(20), LIMIT, budget);
    if (held.kind !== "over") throw new Error(held.kind);
    expect(budget.heldBytes).toBeGreaterThan(0);
    expect(await numbersIn(held.rest, 30)).toEqual(oneTo(20));
    expect(budget.heldBytes).toBe(0);
  });

  it("that comes too slowly is streamed, and nothing of it is lost", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    const reading = readHeld(bodyOf(5, "stands still"), LIMIT, budget);
    await vi.advanceTimersByTimeAsync(11_000);
    const held = await reading;
    if (held.kind !== "over") throw new Error(held.kind);
    expect(await numbersIn(held.rest, 5)).toEqual(oneTo(5));
    expect(budget.heldBytes).toBe(0);
  });

  it("that breaks off or is cancelled is no longer counted", async () => {
    const budget = new ByteBudget(LIMIT, 60_000);
    await expect(readHeld(bodyOf(5, "breaks"), LIMIT, budget)).rejects.toThrow("broke off");
    expect(budget.heldBytes).toBe(0);
    const held = await readHeld(bodyOf(20), 10 * PIECE, budget);
    if (held.kind !== "over") throw new Error(held.kind);
    expect(held.readBytes).toBeGreaterThan(10 * PIECE);
    held.rest.cancel();
    expect(budget.heldBytes).toBe(0);
  });

  it("of a stopped request is counted until it can no longer be held, and not a second time when it is returned", async () => {
    const budget = new ByteBudget(10 * PIECE, 60_000);
    const stopped = await readHeld(bodyOf(11), LIMIT, budget);
    expect((await readHeld(bodyOf(11), LIMIT, budget)).kind).toBe("over");
    await vi.advanceTimersByTimeAsync(60_001);
    const next = await readHeld(bodyOf(11), LIMIT, budget);
    expect(next.kind).toBe("whole");
    const { heldBytes } = budget;
    if (stopped.kind === "whole") stopped.body.free();
    expect(budget.heldBytes).toBe(heldBytes);
  });
});
