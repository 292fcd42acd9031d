// A copy of a body, in the runtime whose streams it divides: what it takes for whole, and that the other half stays as it was.

import { describe, expect, it } from "vitest";
import { BodyCopier, type BodyCopy } from "../../../../src/features/observe/body-copy.ts";
import { ByteBudget } from "../../../../src/kernel/request/byte-budget.ts";

const CALLER = new Request("http://gateway/");

interface Divided {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly copy: Promise<BodyCopy>;
  readonly other: Promise<string | null>;
}

/** A response whose body is written by the test. `declares`: whether its length is declared. */
function divide(length: number, declares = true): Divided {
  const { readable, writable } = new FixedLengthStream(length);
  const response = new Response(readable);
  const copier = new BodyCopier(new ByteBudget(1 << 20, 60_000));
  const { copy } = copier.copy(response, declares ? length : null, CALLER);
  return { writer: writable.getWriter(), copy, other: response.text().catch(() => null) };
}

/** In pieces of 1,000 bytes. */
async function write({ writer }: Divided, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 1000) await writer.write(bytes.subarray(at, at + 1000));
}

async function textOf(copy: Promise<BodyCopy>): Promise<string> {
  const made = await copy;
  return made.kind === "whole" ? new TextDecoder().decode(made.bytes) : made.kind;
}

describe("a copy of a body", () => {
  it.each([1, 1000, 1001, 9500])("is whole, as is the other half, with %i bytes, declared or not", async (length) => {
    const text = "abcdefghij".repeat(length).slice(0, length);
    for (const declares of [true, false]) {
      const divided = divide(length, declares);
      await write(divided, text);
      await divided.writer.close();
      expect([await textOf(divided.copy), await divided.other]).toEqual([text, text]);
    }
  });

  it("is whole with the last byte that was declared, before the body's end is read", async () => {
    const divided = divide(2500);
    await write(divided, "x".repeat(2500));
    expect(await textOf(divided.copy)).toBe("x".repeat(2500));
    await divided.writer.close();
    expect(await divided.other).toHaveLength(2500);
  });

  it("is broken if the body ends one byte earlier", async () => {
    const divided = divide(2500);
    await write(divided, "x".repeat(2499));
    await divided.writer.abort(new Error("lost"));
    expect(await textOf(divided.copy)).toBe("broken");
    expect(await divided.other).toBeNull();
  });
});
